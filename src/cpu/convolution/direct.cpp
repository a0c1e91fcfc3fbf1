// Convolutions of small groups, depthwise ones above all. A task pads its group's planes (or a block of their rows) into scratch memory, each phase of the stride by itself:
// then all vectors are contiguous, whatever the stride, the dilation and the padding. A tile of a few features and rows shares what it loads. As a product, each element would be packed for each place
// of the window, and used by few rows.
#include "cpu/convolution/convolution.h"

namespace cresset::cpu {

using namespace mlir;
namespace {

constexpr int64_t kScratch = 128 * 1024, kLargestScratch = 1024 * 1024;
constexpr int64_t kMostUnrolled = 128;  // places of a window that are code each; of larger ones a column is

// Sizes in scratch memory, in elements of the compute type.
struct Layout {
  SmallVector<Axis> outer;  // all but the last two
  Axis row, column;
  int lanes;
  int64_t tile_rows, tile_features, block_rows, blocks;
  int64_t width, pitch;     // of a phase, of a padded row
  int64_t padded_rows, plane, padded;  // of one feature of the input, of all
  int64_t result, all_results;         // of one feature of the output, of a tile's

  Layout(const Geometry& g, const Target& target) {
    ArrayRef<Axis> axes = g.axes;
    column = axes.back();
    if (axes.size() > 1) row = axes[axes.size() - 2], outer.assign(axes.begin(), axes.end() - 2);
    int bytes = g.out_type.getIntOrFloatBitWidth() == 64 ? 8 : 4;
    lanes = std::max(2, target.lanes * 4 / bytes);
    if (g.in_features > 1 && column.out * 2 <= lanes && lanes > 8) lanes /= 2;
    int64_t needed = round_up(column.out, lanes) + (column.window - 1) * column.dilation / column.step + 1;
    width = round_up(needed, lanes);
    pitch = width * column.step;
    choose_tile(g, target);
    int64_t planes = 1, results = 1;
    for (const Axis& a : outer) planes *= a.extent(a.out), results *= a.out;
    block_rows = row.out, blocks = 1;
    auto measure = [&] {
      padded_rows = row.extent(block_rows);
      plane = planes * padded_rows * pitch, padded = g.in_features * plane;
      result = results * block_rows * column.out + lanes, all_results = tile_features * result;
    };
    measure();
    // The last block must have room for a tile too.
    for (int64_t rows = block_rows; outer.empty() && (padded + all_results) * bytes > kScratch && rows > 4 * tile_rows;) {
      rows = block_rows = round_up(rows / 2, tile_rows);
      while (row.out % block_rows && row.out % block_rows < tile_rows) block_rows += tile_rows;
      measure();
    }
    blocks = ceil_div(row.out, block_rows);
  }
  /// What part of the sums that are computed somebody wants.
  double used() const { return double(row.out * column.out) / double(round_up(row.out, tile_rows) * round_up(column.out, lanes)); }

 private:
  // Three rows or two, whichever leaves fewer over, of as many features as registers hold sums. The columns of large windows are high enough to share what they load among eight rows.
  void choose_tile(const Geometry& g, const Target& target) {
    tile_features = 1, tile_rows = g.window_size() > kMostUnrolled ? 8 : 4;
    if (g.in_features > 1) {
      tile_rows = round_up(row.out, 3) <= round_up(row.out, 2) ? 3 : 2;
      tile_features = equal_part(g.features, (target.registers == 32 ? 24 : 12) / tile_rows, 1);
    }
    tile_rows = std::min(tile_rows, row.out);
  }
};

class DirectEmitter {
 public:
  DirectEmitter(KernelContext& c, const Geometry& g, IR input, IR kernel, const StorePositions& store)
      : c_(c), k_(c.k), b_(c.k.b), g_(g), l_(g, c.k.target), input_(input), kernel_(kernel), store_(store) {}

  void run() {
    type_ = k_.compute_type(g_.out_type);
    bytes_ = type_->getScalarSizeInBits() / 8;
    vector_ = k_.vector(type_, l_.lanes);
    results_at_ = round_up(l_.padded * bytes_, 64);
    int64_t outputs = g_.images * g_.groups * g_.features * g_.image_size();
    c_.kernel.tasks = g_.images * g_.groups * l_.blocks;
    c_.kernel.cost = 0.5 * outputs * g_.window_size() * g_.in_features + outputs;
    c_.kernel.scratch_bytes = results_at_ + round_up(l_.all_results * bytes_, 64);
    k_.loop(k_.begin(), k_.end(), [&](IR task) {
      auto at = place_of_task(k_, {g_.images, g_.groups, l_.blocks}, task);
      IR image = at[0].base, group = at[1].base, first = k_.mul(at[2].base, l_.block_rows);
      IR rows = k_.part(l_.row.out, l_.block_rows, first);
      IR plane = k_.add(k_.mul(image, g_.in_image), k_.mul(group, g_.in_features * g_.in_feature));
      k_.loop(k_.i64(0), k_.i64(g_.in_features), [&](IR channel) { pad(k_.add(plane, k_.mul(channel, g_.in_feature)), first, k_.mul(channel, l_.plane)); });
      k_.loop(k_.i64(0), k_.i64(g_.features), l_.tile_features, [&](IR f) {
        // The last ones begin with some that are there already, and are not written again: what is written may lie where the epilogue reads.
        IR feature = k_.add(k_.mul(group, g_.features), g_.features % l_.tile_features ? k_.min(f, k_.i64(g_.features - l_.tile_features)) : f);
        convolve(feature, rows);
        for (int64_t i = 0; i < l_.tile_features; ++i) {
          IR own = k_.add(feature, k_.i64(i)), is_new = b_.CreateICmpSGE(own, k_.add(k_.mul(group, g_.features), f));
          auto write = [&] { flush(image, own, i, k_.mul(first, l_.column.out), rows); };
          g_.features % l_.tile_features ? k_.when(is_new, write) : write();
        }
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

  void pad(IR plane, IR first_row, IR target) {
    SmallVector<int64_t> sizes;
    for (const Axis& a : l_.outer) sizes.push_back(a.extent(a.out));
    sizes.push_back(l_.padded_rows);
    k_.loop(k_.i64(0), k_.i64(product(sizes)), [&](IR row) {
      IR to = k_.add(target, k_.mul(row, l_.pitch)), from = plane, inside = b_.getTrue();
      for (auto [d, at] : llvm::enumerate(delinearise(k_, sizes, row))) {
        bool last = d + 1 == sizes.size();
        auto [offset, ok] = source(last ? l_.row : l_.outer[d], last ? k_.add(k_.mul(first_row, l_.row.step), at.base) : at.base);
        from = k_.add(from, offset);
        inside = b_.CreateAnd(inside, ok);
      }
      auto zero = [&] { k_.loop(k_.i64(0), k_.i64(l_.pitch), l_.lanes, [&](IR i) { put(llvm::Constant::getNullValue(vector_), padded_address(k_.add(to, i))); }); };
      const Axis& a = l_.column;
      if (a.base_dilation == 1 && a.step <= kMostStep && a.in_stride == 1) return k_.either(inside, [&] { copy_row(from, to); }, zero);
      zero();
      k_.when(inside, [&] { copy_singly(from, to); });
    });
  }
  void copy_singly(IR from, IR to) {
    const Axis& a = l_.column;
    int64_t begin = std::max<int64_t>(0, ceil_div(-a.low, a.base_dilation)), end = std::min(a.in, ceil_div(l_.pitch - a.low, a.base_dilation));
    k_.loop(k_.i64(begin), k_.i64(end), [&](IR x) {
      IR padded = k_.add(k_.mul(x, a.base_dilation), k_.i64(a.low));
      IR place = k_.add(k_.mul(b_.CreateURem(padded, k_.i64(a.step)), l_.width), b_.CreateUDiv(padded, k_.i64(a.step)));
      put(k_.widened(g_.in_type, k_.load(g_.in_type, input_, k_.add(from, k_.mul(x, a.in_stride)), 1), type_), padded_address(k_.add(to, place)));
    });
  }
  // A vector of each phase at a time, of which lanes beyond the row are zeros.
  void copy_row(IR from, IR to) {
    const Axis& a = l_.column;
    const int64_t wide = l_.lanes * a.step;
    auto vectors = [&](IR at, int64_t below, int64_t above) {  // of the elements that these lanes have before the row begins, and after it has ended
      auto* type = k_.vector(k_.memory_type(g_.in_type), int(wide));
      IR address = b_.CreateGEP(k_.memory_type(g_.in_type), input_, k_.add(from, k_.add(k_.mul(at, a.step), k_.i64(-a.low))));
      SmallVector<llvm::Constant*> mask;
      for (int64_t lane = 0; lane < wide; ++lane) mask.push_back(b_.getInt1(lane >= below && lane < wide - above));
      auto align = llvm::Align(element_bytes(g_.in_type));
      IR v = below + above == 0 ? IR(b_.CreateAlignedLoad(type, address, align))
                                : b_.CreateMaskedLoad(type, address, align, llvm::ConstantVector::get(mask), llvm::Constant::getNullValue(type));
      v = k_.widened(g_.in_type, k_.from_memory(g_.in_type, v), type_);
      for (int64_t phase = 0; phase < a.step; ++phase) {
        SmallVector<int> picked;
        for (int lane = 0; lane < l_.lanes; ++lane) picked.push_back(int(phase + lane * a.step));
        put(a.step == 1 ? v : b_.CreateShuffleVector(v, picked), padded_address(k_.add(to, k_.add(at, k_.i64(phase * l_.width)))));
      }
    };
    int64_t first = std::min(l_.width, round_up(std::max<int64_t>(ceil_div(a.low, a.step), 0), l_.lanes));
    int64_t last = std::clamp(((a.in + a.low) / a.step) / l_.lanes * l_.lanes, first, l_.width);
    auto at_end = [&](int64_t begin, int64_t end) {
      for (int64_t at = begin; at < end; at += l_.lanes) {
        int64_t x = at * a.step - a.low;
        vectors(k_.i64(at), std::clamp<int64_t>(-x, 0, wide), std::clamp<int64_t>(x + wide - a.in, 0, wide));
      }
    };
    at_end(0, first);
    k_.loop(k_.i64(first), k_.i64(last), l_.lanes, [&](IR at) { vectors(at, 0, 0); });
    at_end(last, l_.width);
  }

  IR weight(IR feature, IR channel, ArrayRef<int64_t> outer, int64_t row, IR column) {
    IR offset = k_.add(k_.mul(feature, g_.kernel_out), k_.mul(channel, g_.kernel_in));
    auto add = [&](const Axis& a, int64_t i) { offset = k_.add(offset, k_.i64(a.weight(i))); };
    for (auto [a, i] : llvm::zip(l_.outer, outer)) add(a, i);
    add(l_.row, row);
    const Axis& x = l_.column;
    offset = k_.add(offset, k_.mul(x.reversed ? b_.CreateSub(k_.i64(x.window - 1), column) : column, x.window_stride));
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
          IRs zeros(l_.tile_features * l_.tile_rows, llvm::Constant::getNullValue(vector_));
          IRs sums = g_.in_features == 1 ? tile(feature, k_.i64(0), at, row, column, zeros)
                                         : k_.loop(k_.i64(0), k_.i64(g_.in_features), 1, zeros, [&](IR channel, ArrayRef<IR> sums) { return tile(feature, channel, at, row, column, sums); });
          for (auto [i, sum] : llvm::enumerate(sums)) {
            IR line = k_.add(k_.add(k_.mul(outer, l_.block_rows), row), k_.i64(i % l_.tile_rows));
            put(sum, result_address(k_.add(k_.mul(line, l_.column.out), k_.add(column, k_.i64(i / l_.tile_rows * l_.result)))));
          }
        });
      });
    });
  }

  // Adds what one channel of the input gives to the sums of some features, row after row of each.
  IRs tile(IR feature, IR channel, const Indices& outer, IR row, IR column, ArrayRef<IR> before) {
    IRs sums(before.begin(), before.end());
    SmallVector<int64_t> window = llvm::map_to_vector(l_.outer, [](const Axis& a) { return a.window; });
    for (int64_t w = 0; w < product(window); ++w) {
      SmallVector<int64_t> in_window(window.size());
      IR plane = k_.i64(0);
      int64_t rest = w;
      for (size_t d = window.size(); d-- > 0; rest /= window[d]) in_window[d] = rest % window[d];
      for (auto [d, a] : llvm::enumerate(l_.outer))
        plane = k_.add(k_.mul(plane, a.extent(a.out)), k_.add(k_.mul(outer[d].base, a.step), k_.i64(in_window[d] * a.dilation)));
      IR top = k_.add(k_.mul(plane, l_.padded_rows), k_.mul(row, l_.row.step));
      auto add_column = [&](IR x, ArrayRef<IR> before) {
        IRs next(before.begin(), before.end()), lines(l_.row.extent(l_.tile_rows));
        IR shift = k_.mul(x, l_.column.dilation), step = k_.i64(l_.column.step), place = k_.add(k_.mul(b_.CreateURem(shift, step), l_.width), b_.CreateUDiv(shift, step));
        IR first = k_.add(k_.add(k_.mul(channel, l_.plane), k_.mul(top, l_.pitch)), k_.add(column, place));
        for (int64_t f = 0; f < l_.tile_features; ++f)
          for (int64_t y = 0; y < l_.row.window; ++y) {
            IR factor = weight(k_.add(feature, k_.i64(f)), channel, in_window, y, x);
            for (int64_t r = 0; r < l_.tile_rows; ++r) {
              int64_t line = r * l_.row.step + y * l_.row.dilation;
              if (!lines[line]) lines[line] = b_.CreateAlignedLoad(vector_, padded_address(k_.add(first, k_.i64(line * l_.pitch))), llvm::Align(bytes_));
              IR& sum = next[f * l_.tile_rows + r];
              sum = type_->isFloatingPointTy() ? IR(b_.CreateIntrinsic(llvm::Intrinsic::fmuladd, {vector_}, {lines[line], factor, sum})) : b_.CreateAdd(b_.CreateMul(lines[line], factor), sum);
            }
          }
        return next;
      };
      if (g_.window_size() > kMostUnrolled) sums = k_.loop(k_.i64(0), k_.i64(l_.column.window), 1, sums, add_column);
      else
        for (int64_t x = 0; x < l_.column.window; ++x) sums = add_column(k_.i64(x), sums);
    }
    return sums;
  }

  void flush(IR image, IR feature, int64_t of_tile, IR first, IR rows) {
    int64_t outer = 1;
    for (const Axis& a : l_.outer) outer *= a.out;
    IR count = k_.mul(rows, outer * l_.column.out);
    k_.along(count, l_.lanes, [&](IR i, int lanes) {
      IR sum = b_.CreateAlignedLoad(k_.vector(type_, lanes), result_address(k_.add(i, k_.i64(of_tile * l_.result))), llvm::Align(bytes_));
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

// Groups that, as products, would take more time for packing than for multiplying. Not those of bf16 that the machine multiplies by pairs, twice as fast.
bool is_small_group(const Geometry& g, const Target& target) {
  constexpr int64_t kMostFeatures = 16, kMostPlaces = 25;
  constexpr double kLeastUsed = 0.7;
  if (g.features > kMostFeatures || g.window_size() == 1 || g.window_size() > kMostPlaces || g.axes.size() != 2) return false;
  return !(target.bf16_dot != Target::None && g.in_type.isBF16()) && Layout(g, target).used() >= kLeastUsed;
}

}  // namespace

bool is_direct(const Geometry& g, const Target& target) {
  if (g.groups == 1 || g.batch_groups != 1 || g.axes.empty() || !g.is_dense(&Axis::out, &Axis::out_stride)) return false;
  constexpr int64_t kLeastColumn = 8;  // places, of which rows share what they load
  const int64_t column = g.window_size() / g.columns().window;
  const bool too_large = g.window_size() > kMostUnrolled && (column < kLeastColumn || column > kMostUnrolled);
  if (g.in_features > 1 ? !is_small_group(g, target) : g.features > 4 || too_large) return false;
  if (is_depthwise_in_place(g, target)) return true;
  Layout l(g, target);
  return (l.padded + l.all_results) * 8 <= kLargestScratch;
}

void emit_direct(KernelContext& c, const Geometry& g, IR input, IR kernel, const StorePositions& store) {
  DirectEmitter(c, g, input, kernel, store).run();
}

}  // namespace cresset::cpu
