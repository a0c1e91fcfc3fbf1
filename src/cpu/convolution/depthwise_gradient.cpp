// The gradient of a depthwise kernel: for each channel a few sums of products of the output's gradient, which is the window, with shifted inputs. Vectors lie
// along the rows of the window; a row of results shares what is loaded of it.
#include "cpu/convolution/convolution.h"

namespace cresset::cpu {

using namespace mlir;
namespace {

class DepthwiseGradientEmitter {
 public:
  DepthwiseGradientEmitter(KernelContext& c, const Geometry& g, IR input, IR kernel)
      : c_(c), k_(c.k), b_(c.k.b), g_(g), y_(g.axes[0]), x_(g.axes[1]), input_(input), kernel_(kernel), lanes_(c.k.target.lanes) {}

  void run() {
    c_.kernel.tasks = g_.batch_groups;
    c_.kernel.cost = 0.5 * double(g_.batch_groups * g_.features * g_.in_features) * double(g_.window_size() * g_.image_size());
    k_.loop(k_.begin(), k_.end(), [&](IR group) {
      k_.loop(k_.i64(0), k_.i64(g_.features), [&](IR f) {
        IR feature = k_.add(k_.mul(group, g_.features), f);
        k_.loop(k_.i64(0), k_.i64(y_.out), [&](IR row) {
          IRs sums = row_of_sums(group, feature, row);
          for (auto [x, sum] : llvm::enumerate(sums)) {
            IR whole = k_.fold(sum, lanes_, [&](IR a, IR b) { return b_.CreateFAdd(a, b); });
            emit_epilogue(c_, feature, k_.add(k_.mul(row, x_.out), k_.i64(int64_t(x))), whole, 1);
          }
        });
      });
    });
  }

 private:
  // Stripe by stripe of the window: which lanes lie in it and in the input is the same in all of its rows, in all images.
  IRs row_of_sums(IR group, IR feature, IR row) {
    auto* vector = k_.vector(b_.getFloatTy(), lanes_);
    IRs zeros(x_.out, llvm::Constant::getNullValue(vector));
    PlacesInInput seen(k_, y_, row);
    return k_.loop(k_.i64(0), k_.i64(x_.window), lanes_, zeros, [&](IR column, ArrayRef<IR> stripe) {
      auto* ints = k_.vector(b_.getInt32Ty(), lanes_);
      auto splat = [&](int64_t v) { return llvm::ConstantInt::get(ints, uint64_t(v), true); };
      auto counted = [&](IR from) { return k_.sequence(b_.CreateTrunc(from, b_.getInt32Ty()), lanes_); };
      IR in_window = b_.CreateICmpSLT(counted(column), splat(x_.window)), mask = k_.mask(in_window, g_.kernel_type);
      std::vector<IRs> masks(x_.out);
      IRs starts;
      for (int64_t x = 0; x < x_.out; ++x) {
        starts.push_back(k_.add(k_.mul(column, x_.dilation), k_.i64(x * x_.step - x_.low)));
        for (int64_t half = 0; half < x_.dilation; ++half) {  // lanes of each vector read
          IR inside = b_.CreateICmpULT(counted(k_.add(starts[x], k_.i64(half * lanes_))), splat(x_.in)), wanted = x_.dilation == 2 ? k_.spread(in_window, 2, half) : in_window;
          masks[x].push_back(k_.mask(b_.CreateAnd(inside, wanted), g_.in_type));
        }
      }
      return k_.loop(k_.i64(0), k_.i64(g_.in_features), 1, stripe, [&](IR image, ArrayRef<IR> sums) {
        IR plane = k_.add(k_.mul(image, g_.in_feature), k_.mul(group, g_.images * g_.in_image));
        IR window = k_.add(k_.add(k_.i64(g_.kernel_first), k_.mul(feature, g_.kernel_out)), k_.add(k_.mul(image, g_.kernel_in), column));
        return k_.loop(seen.first, seen.end, 1, sums, [&](IR i, ArrayRef<IR> sums) {
          IR factor = k_.load_masked(g_.kernel_type, kernel_, k_.add(window, k_.mul(i, y_.window_stride)), mask);
          IR line = k_.add(plane, k_.mul(seen.element(i), y_.in_stride));
          IRs next;
          for (int64_t x = 0; x < x_.out; ++x) {
            IR at = k_.add(line, starts[x]), v = k_.load_masked(g_.in_type, input_, at, masks[x][0]);
            if (x_.dilation == 2) v = k_.every_second(v, k_.load_masked(g_.in_type, input_, k_.add(at, k_.i64(lanes_)), masks[x][1]), 0);
            next.push_back(b_.CreateIntrinsic(llvm::Intrinsic::fmuladd, {vector}, {v, factor, sums[x]}));
          }
          return next;
        });
      });
    });
  }

  KernelContext& c_;
  KernelEmitter& k_;
  llvm::IRBuilder<>& b_;
  const Geometry& g_;
  const Axis &y_, &x_;
  IR input_, kernel_;
  int lanes_;
};

}  // namespace

bool is_depthwise_gradient(const Geometry& g, const Target& target) {
  if (target.lanes < 8 || g.batch_groups == 1 || g.groups != 1 || g.images != 1 || g.axes.size() != 2) return false;
  for (Type t : {g.in_type, g.kernel_type, g.out_type})
    if (!isa<FloatType>(t) || element_bytes(t) > 4) return false;
  if (!target.can_mask(element_bytes(g.in_type)) || !target.can_mask(element_bytes(g.kernel_type))) return false;
  for (const Axis& a : g.axes)
    if (a.base_dilation != 1 || a.reversed) return false;
  const Axis& x = g.axes[1];
  return x.in_stride == 1 && x.window_stride == 1 && x.dilation <= 2 && x.out <= 12;
}

void emit_depthwise_gradient(KernelContext& c, const Geometry& g, IR input, IR kernel) { DepthwiseGradientEmitter(c, g, input, kernel).run(); }

}  // namespace cresset::cpu
