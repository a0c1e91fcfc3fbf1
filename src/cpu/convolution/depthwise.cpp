// Depthwise convolution. A task pads its plane (or a block of its rows) into scratch memory, each phase of the stride by itself:
// then all vectors are contiguous, whatever the stride, the dilation and the padding. A tile of a few rows shares what it loads.
#include "cpu/convolution/convolution.h"

namespace cresset::cpu {

using namespace mlir;
namespace {

constexpr int64_t kScratch = 128 * 1024, kLargestScratch = 1024 * 1024;

// Sizes in scratch memory, in elements of the compute type.
struct Layout {
  SmallVector<Axis> outer;  // all but the last two
  Axis row, column;
  int lanes;
  int64_t tile_rows, block_rows, blocks;
  int64_t width, pitch;     // of a phase, of a padded row
  int64_t padded_rows, padded, result;

  Layout(const Geometry& g, const Target& target) {
    ArrayRef<Axis> axes = g.axes;
    column = axes.back();
    if (axes.size() > 1) row = axes[axes.size() - 2], outer.assign(axes.begin(), axes.end() - 2);
    int bytes = g.out_type.getIntOrFloatBitWidth() == 64 ? 8 : 4;
    lanes = std::max(2, target.lanes * 4 / bytes);
    int64_t needed = round_up(column.out, lanes) + (column.window - 1) * column.dilation / column.step + 1;
    int64_t copied = ceil_div(std::max<int64_t>(column.low, 0), column.step) + round_up(ceil_div(column.in, column.step), lanes) + lanes;
    width = round_up(std::max(needed, column.base_dilation == 1 ? copied : needed), lanes);
    pitch = width * column.step;
    tile_rows = std::min<int64_t>(row.out, 4);
    int64_t planes = 1, results = 1;
    for (const Axis& a : outer) planes *= a.extent(a.out), results *= a.out;
    block_rows = row.out, blocks = 1;
    auto measure = [&] {
      padded_rows = row.extent(block_rows);
      padded = planes * padded_rows * pitch;
      result = results * block_rows * column.out + lanes;
    };
    measure();
    // The last block must have room for a tile too.
    for (int64_t rows = block_rows; outer.empty() && (padded + result) * bytes > kScratch && rows > 4 * tile_rows;) {
      rows = block_rows = round_up(rows / 2, tile_rows);
      while (row.out % block_rows && row.out % block_rows < tile_rows) block_rows += tile_rows;
      measure();
    }
    blocks = ceil_div(row.out, block_rows);
  }
};

class DepthwiseEmitter {
 public:
  DepthwiseEmitter(KernelContext& c, const Geometry& g, IR input, IR kernel, const StorePositions& store)
      : c_(c), k_(c.k), b_(c.k.b), g_(g), l_(g, c.k.target), input_(input), kernel_(kernel), store_(store) {}

  void run() {
    type_ = k_.compute_type(g_.out_type);
    bytes_ = type_->getScalarSizeInBits() / 8;
    vector_ = k_.vector(type_, l_.lanes);
    results_at_ = round_up(l_.padded * bytes_, 64);
    int64_t outputs = g_.images * g_.groups * g_.features * g_.image_size();
    c_.kernel.tasks = g_.images * g_.groups * l_.blocks;
    c_.kernel.cost = 0.5 * outputs * g_.window_size() + outputs;
    c_.kernel.scratch_bytes = results_at_ + round_up(l_.result * bytes_, 64);
    k_.loop(k_.begin(), k_.end(), [&](IR task) {
      auto at = delinearise(k_, {g_.images, g_.groups, l_.blocks}, task);
      IR image = at[0].base, group = at[1].base, first = k_.mul(at[2].base, l_.block_rows);
      IR rows = l_.row.out % l_.block_rows == 0 ? k_.i64(l_.block_rows) : k_.min(k_.i64(l_.block_rows), b_.CreateSub(k_.i64(l_.row.out), first));
      pad(k_.add(k_.mul(image, g_.in_image), k_.mul(group, g_.in_feature)), first);
      k_.loop(k_.i64(0), k_.i64(g_.features), [&](IR f) {
        IR feature = k_.add(k_.mul(group, g_.features), f);
        convolve(feature, rows);
        flush(image, feature, k_.mul(first, l_.column.out), rows);
      });
    });
  }

 private:
  IR padded_address(IR index) { return b_.CreateInBoundsGEP(type_, k_.scratch(), index); }
  IR result_address(IR index) {
    return k_.in_scratch(type_, results_at_, index);
  }
  void put(IR v, IR address) { b_.CreateAlignedStore(v, address, llvm::Align(bytes_)); }

  // The input's element (in the dilated input's numbering) along an axis, and whether there is one.
  std::pair<IR, IR> source(const Axis& a, IR padded) {
    IR x = b_.CreateSub(padded, k_.i64(a.low));
    IR inside = b_.CreateICmpULT(x, k_.i64(a.reach()));
    if (a.base_dilation > 1) {
      inside = b_.CreateAnd(inside, b_.CreateICmpEQ(b_.CreateURem(x, k_.i64(a.base_dilation)), k_.i64(0)));
      x = b_.CreateUDiv(x, k_.i64(a.base_dilation));
    }
    return {k_.mul(x, a.in_stride), inside};
  }

  void pad(IR plane, IR first_row) {
    SmallVector<int64_t> sizes;
    for (const Axis& a : l_.outer) sizes.push_back(a.extent(a.out));
    sizes.push_back(l_.padded_rows);
    k_.loop(k_.i64(0), k_.i64(product(sizes)), [&](IR row) {
      IR to = k_.mul(row, l_.pitch), from = plane, inside = b_.getTrue();
      for (auto [d, at] : llvm::enumerate(delinearise(k_, sizes, row))) {
        bool last = d + 1 == sizes.size();
        auto [offset, ok] = source(last ? l_.row : l_.outer[d], last ? k_.add(k_.mul(first_row, l_.row.step), at.base) : at.base);
        from = k_.add(from, offset);
        inside = b_.CreateAnd(inside, ok);
      }
      k_.loop(k_.i64(0), k_.i64(l_.pitch), l_.lanes, [&](IR i) { put(llvm::Constant::getNullValue(vector_), padded_address(k_.add(to, i))); });
      k_.when(inside, [&] { copy_row(from, to); });
    });
  }
  void copy_row(IR from, IR to) {
    const Axis& a = l_.column;
    int64_t begin = std::max<int64_t>(0, ceil_div(-a.low, a.base_dilation)), end = std::min(a.in, ceil_div(l_.pitch - a.low, a.base_dilation));
    auto singly = [&](int64_t lo, int64_t hi) {
      k_.loop(k_.i64(lo), k_.i64(hi), [&](IR x) {
        IR padded = k_.add(k_.mul(x, a.base_dilation), k_.i64(a.low));
        IR place = k_.add(k_.mul(b_.CreateURem(padded, k_.i64(a.step)), l_.width), b_.CreateUDiv(padded, k_.i64(a.step)));
        put(k_.widened(g_.in_type, k_.load(g_.in_type, input_, k_.add(from, k_.mul(x, a.in_stride)), 1), type_), padded_address(k_.add(to, place)));
      });
    };
    if (a.base_dilation > 1 || a.step > 4 || a.in_stride != 1) return singly(begin, end);
    // From the first element that is of phase 0 on, `step` vectors at a time.
    int64_t q = ceil_div(begin + a.low, a.step), aligned = std::min(q * a.step - a.low, end);
    singly(begin, aligned);
    auto vectors = [&](IR x, IR at, int64_t count) {
      int wide = int(l_.lanes * a.step);
      auto* type = k_.vector(k_.memory_type(g_.in_type), wide);
      IR address = b_.CreateInBoundsGEP(k_.memory_type(g_.in_type), input_, k_.add(from, x));
      SmallVector<llvm::Constant*> mask;
      for (int i = 0; i < wide; ++i) mask.push_back(b_.getInt1(i < count));
      auto align = llvm::Align(element_bytes(g_.in_type));
      IR v = count == wide ? IR(b_.CreateAlignedLoad(type, address, align))
                           : b_.CreateMaskedLoad(type, address, align, llvm::ConstantVector::get(mask), llvm::Constant::getNullValue(type));
      v = k_.widened(g_.in_type, k_.from_memory(g_.in_type, v), type_);
      for (int64_t phase = 0; phase < a.step; ++phase) {
        SmallVector<int> picked;
        for (int i = 0; i < l_.lanes; ++i) picked.push_back(int(phase + i * a.step));
        put(a.step == 1 ? v : b_.CreateShuffleVector(v, picked), padded_address(k_.add(to, k_.add(at, k_.i64(phase * l_.width + q)))));
      }
    };
    int64_t wide = l_.lanes * a.step, count = end - aligned, whole = count / wide;
    k_.loop(k_.i64(0), k_.i64(whole), [&](IR i) { vectors(k_.add(k_.i64(aligned), k_.mul(i, wide)), k_.mul(i, l_.lanes), wide); });
    if (count % wide) vectors(k_.i64(aligned + whole * wide), k_.i64(whole * l_.lanes), count % wide);
  }

  IR weight(IR feature, ArrayRef<int64_t> outer, int64_t row, int64_t column) {
    IR offset = k_.mul(feature, g_.kernel_out);
    auto add = [&](const Axis& a, int64_t i) { offset = k_.add(offset, k_.i64(a.weight(i))); };
    for (auto [a, i] : llvm::zip(l_.outer, outer)) add(a, i);
    add(l_.row, row), add(l_.column, column);
    return k_.splat(k_.widened(g_.kernel_type, k_.load(g_.kernel_type, kernel_, offset, 1), type_), l_.lanes);
  }

  // Rows in ascending order, vectors in descending order: what a vector holds beyond its row is overwritten by the next row.
  void convolve(IR feature, IR rows) {
    SmallVector<int64_t> sizes = llvm::map_to_vector(l_.outer, [](const Axis& a) { return a.out; });
    k_.loop(k_.i64(0), k_.i64(product(sizes)), [&](IR outer) {
      Indices at = delinearise(k_, sizes, outer);
      k_.loop(k_.i64(0), rows, l_.tile_rows, [&](IR from) {
        IR row = k_.min(from, b_.CreateSub(rows, k_.i64(l_.tile_rows)));
        int64_t vectors = ceil_div(l_.column.out, l_.lanes);
        k_.loop(k_.i64(0), k_.i64(vectors), [&](IR i) {
          IR column = k_.mul(b_.CreateSub(k_.i64(vectors - 1), i), l_.lanes);
          IRs sums = tile(feature, at, row, column);
          for (auto [r, sum] : llvm::enumerate(sums)) {
            IR line = k_.add(k_.add(k_.mul(outer, l_.block_rows), row), k_.i64(r));
            put(sum, result_address(k_.add(k_.mul(line, l_.column.out), column)));
          }
        });
      });
    });
  }

  IRs tile(IR feature, const Indices& outer, IR row, IR column) {
    IRs sums(l_.tile_rows, llvm::Constant::getNullValue(vector_));
    SmallVector<int64_t> window = llvm::map_to_vector(l_.outer, [](const Axis& a) { return a.window; });
    for (int64_t w = 0; w < product(window); ++w) {
      SmallVector<int64_t> in_window(window.size());
      IR plane = k_.i64(0);
      int64_t rest = w;
      for (size_t d = window.size(); d-- > 0; rest /= window[d]) in_window[d] = rest % window[d];
      for (auto [d, a] : llvm::enumerate(l_.outer))
        plane = k_.add(k_.mul(plane, a.extent(a.out)), k_.add(k_.mul(outer[d].base, a.step), k_.i64(in_window[d] * a.dilation)));
      IR top = k_.add(k_.mul(plane, l_.padded_rows), k_.mul(row, l_.row.step));
      for (int64_t x = 0; x < l_.column.window; ++x) {
        int64_t shift = x * l_.column.dilation, place = shift % l_.column.step * l_.width + shift / l_.column.step;
        IRs weights;
        for (int64_t y = 0; y < l_.row.window; ++y) weights.push_back(weight(feature, in_window, y, x));
        for (int64_t line = 0; line < l_.row.extent(l_.tile_rows); ++line) {
          IR loaded = nullptr;
          for (int64_t y = 0; y < l_.row.window; ++y) {
            int64_t r = line - y * l_.row.dilation;
            if (r < 0 || r % l_.row.step || r / l_.row.step >= l_.tile_rows) continue;
            if (!loaded) loaded = b_.CreateAlignedLoad(vector_, padded_address(k_.add(k_.mul(k_.add(top, k_.i64(line)), l_.pitch), k_.add(column, k_.i64(place)))), llvm::Align(bytes_));
            IR& sum = sums[r / l_.row.step];
            sum = type_->isFloatingPointTy() ? IR(b_.CreateIntrinsic(llvm::Intrinsic::fma, {vector_}, {loaded, weights[y], sum})) : b_.CreateAdd(b_.CreateMul(loaded, weights[y]), sum);
          }
        }
      }
    }
    return sums;
  }

  void flush(IR image, IR feature, IR first, IR rows) {
    int64_t outer = 1;
    for (const Axis& a : l_.outer) outer *= a.out;
    IR count = k_.mul(rows, outer * l_.column.out);
    k_.along(count, l_.lanes, [&](IR i, int lanes) {
      IR sum = b_.CreateAlignedLoad(k_.vector(type_, lanes), result_address(i), llvm::Align(bytes_));
      store_(image, feature, k_.add(first, i), sum, lanes);
    });
  }

  KernelContext& c_;
  KernelEmitter& k_;
  llvm::IRBuilder<>& b_;
  const Geometry& g_;
  Layout l_;
  IR input_, kernel_;
  const StorePositions& store_;
  llvm::Type *type_ = nullptr, *vector_ = nullptr;
  int64_t bytes_ = 4, results_at_ = 0;
};

}  // namespace

bool is_depthwise(const Geometry& g, const Target& target) {
  if (g.in_features != 1 || g.groups == 1 || g.batch_groups != 1 || g.features > 4 || g.axes.empty()) return false;
  if (g.window_size() > 128 || !g.is_dense(&Axis::out, &Axis::out_stride)) return false;
  if (is_depthwise_in_place(g, target)) return true;
  Layout l(g, target);
  return (l.padded + l.result) * 8 <= kLargestScratch;
}

void emit_depthwise(KernelContext& c, const Geometry& g, IR input, IR kernel, const StorePositions& store) {
  DepthwiseEmitter(c, g, input, kernel, store).run();
}

}  // namespace cresset::cpu
