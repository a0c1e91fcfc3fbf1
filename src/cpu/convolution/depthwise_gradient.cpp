// The gradient of a depthwise kernel: for each channel a few sums of products of the output's gradient, which is the window, with shifted inputs. Vectors lie
// along the rows of the window; a dozen of a row of results share what is loaded of it.
#include "cpu/convolution/convolution.h"

namespace cresset::cpu {

using namespace mlir;
namespace {

class DepthwiseGradientEmitter {
 public:
  DepthwiseGradientEmitter(KernelContext& c, const Geometry& g, IR input, IR kernel)
      : c_(c), k_(c.k), b_(c.k.b), g_(g), z_(g.planes()), y_(g.axes.size() > 1 ? g.rows() : Axis()), x_(g.columns()), input_(input), kernel_(kernel), lanes_(c.k.target.lanes) {}

  void run() {
    c_.kernel.tasks = g_.batch_groups;
    c_.kernel.cost = 0.5 * double(g_.batch_groups * g_.features * g_.in_features) * double(g_.window_size() * g_.image_size());
    k_.loop(k_.begin(), k_.end(), [&](IR group) {
      k_.loop(k_.i64(0), k_.i64(g_.features), [&](IR f) {
        IR feature = k_.add(k_.mul(group, g_.features), f);
        k_.loop(k_.i64(0), k_.i64(z_.out), [&](IR plane) {
          k_.loop(k_.i64(0), k_.i64(y_.out), [&](IR row) {
            for (int64_t first = 0; first < x_.out; first += kSums) {
              IR column = k_.add(k_.mul(k_.add(k_.mul(plane, y_.out), row), x_.out), k_.i64(first));
              for (auto [x, sum] : llvm::enumerate(sums_of(group, feature, plane, row, first))) {
                IR whole = k_.fold(sum, lanes_, [&](IR a, IR b) { return b_.CreateFAdd(a, b); });
                emit_epilogue(c_, feature, k_.add(column, k_.i64(int64_t(x))), whole, 1);
              }
            }
          });
        });
      });
    });
  }

  static constexpr int64_t kSums = 12;  // of a row, that are in registers together

 private:
  // Stripe by stripe of the window: which lanes lie in it and in the input is the same in all of its rows and planes, in all images.
  IRs sums_of(IR group, IR feature, IR plane, IR row, int64_t first) {
    const int64_t count = std::min(kSums, x_.out - first);
    auto* vector = k_.vector(b_.getFloatTy(), lanes_);
    IRs zeros(count, llvm::Constant::getNullValue(vector));
    PlacesInInput planes(k_, z_, plane), rows(k_, y_, row);
    return k_.loop(k_.i64(0), k_.i64(x_.window), lanes_, zeros, [&](IR column, ArrayRef<IR> stripe) {
      IR in_window = lanes_within_line(k_, column, x_.window, lanes_), mask = k_.mask(in_window, g_.kernel_type);
      std::vector<IRs> masks(count);
      IRs starts;
      for (int64_t x = 0; x < count; ++x) {
        starts.push_back(k_.add(k_.mul(column, x_.dilation), k_.i64((first + x) * x_.step - x_.low)));
        for (int64_t half = 0; half < x_.dilation; ++half) {  // lanes of each vector read
          IR inside = lanes_within_line(k_, k_.add(starts[x], k_.i64(half * lanes_)), x_.in, lanes_), wanted = x_.dilation == 2 ? k_.spread(in_window, 2, half) : in_window;
          masks[x].push_back(k_.mask(b_.CreateAnd(inside, wanted), g_.in_type));
        }
      }
      auto add_line = [&](IR line, IR window, ArrayRef<IR> sums) {
        IR factor = k_.load_masked(g_.kernel_type, kernel_, k_.add(window, column), mask);
        IRs next;
        for (int64_t x = 0; x < count; ++x) {
          IR at = k_.add(line, starts[x]), v = k_.load_masked(g_.in_type, input_, at, masks[x][0]);
          if (x_.dilation == 2) v = k_.every_second(v, k_.load_masked(g_.in_type, input_, k_.add(at, k_.i64(lanes_)), masks[x][1]), 0);
          next.push_back(b_.CreateIntrinsic(llvm::Intrinsic::fmuladd, {vector}, {v, factor, sums[x]}));
        }
        return next;
      };
      return k_.loop(k_.i64(0), k_.i64(g_.in_features), 1, stripe, [&](IR image, ArrayRef<IR> sums) {
        IR channel = k_.add(k_.mul(image, g_.in_feature), k_.mul(group, g_.images * g_.in_image));
        IR window = k_.add(k_.add(k_.i64(g_.kernel_first), k_.mul(feature, g_.kernel_out)), k_.mul(image, g_.kernel_in));
        return each_place(planes, sums, [&](IR k, ArrayRef<IR> sums) {
          IR above = k_.add(channel, k_.mul(planes.element(k), z_.in_stride)), in_plane = k_.add(window, k_.mul(k, z_.window_stride));
          return each_place(rows, sums, [&](IR i, ArrayRef<IR> sums) { return add_line(k_.add(above, k_.mul(rows.element(i), y_.in_stride)), k_.add(in_plane, k_.mul(i, y_.window_stride)), sums); });
        });
      });
    });
  }
  IRs each_place(const PlacesInInput& places, ArrayRef<IR> sums, const std::function<IRs(IR place, ArrayRef<IR> sums)>& add) {
    const Axis& a = places.a;
    const bool is_no_dimension = a.in == 1 && a.window == 1 && a.out == 1 && a.low == 0;
    return is_no_dimension ? add(k_.i64(0), sums) : k_.loop(places.first, places.end, 1, IRs(sums), add);
  }

  KernelContext& c_;
  KernelEmitter& k_;
  llvm::IRBuilder<>& b_;
  const Geometry& g_;
  const Axis z_, y_, x_;
  IR input_, kernel_;
  int lanes_;
};

}  // namespace

bool is_depthwise_gradient(const Geometry& g, const Target& target) {
  constexpr int64_t kMostSums = 4 * DepthwiseGradientEmitter::kSums;  // of a row: each dozen is code of its own
  if (target.lanes < 8 || g.batch_groups == 1 || g.groups != 1 || g.images != 1 || g.axes.empty() || g.axes.size() > 3) return false;
  for (Type t : {g.in_type, g.kernel_type, g.out_type})
    if (!isa<FloatType>(t) || element_bytes(t) > 4) return false;
  if (!target.can_mask(element_bytes(g.in_type)) || !target.can_mask(element_bytes(g.kernel_type))) return false;
  for (const Axis& a : g.axes)
    if (a.base_dilation != 1 || a.reversed) return false;
  const Axis& x = g.columns();
  return x.in_stride == 1 && x.window_stride == 1 && x.dilation <= 2 && x.out <= kMostSums;
}

void emit_depthwise_gradient(KernelContext& c, const Geometry& g, IR input, IR kernel) { DepthwiseGradientEmitter(c, g, input, kernel).run(); }

}  // namespace cresset::cpu
