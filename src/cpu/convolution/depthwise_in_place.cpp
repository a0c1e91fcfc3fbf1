// Depthwise convolution of images that are read where they lie: lanes that a window finds beyond the ends of a row are masked, a row beyond the image is one of zeros. A tile
// of a few rows shares what it loads, and its sums are written from registers: rows that are no whole vectors are joined there. In three dimensions the planes of the window
// follow each other meanwhile.
#include "cpu/convolution/convolution.h"

namespace cresset::cpu {

using namespace mlir;
namespace {

// Rows and vectors that are computed at once.
struct Tile {
  int64_t rows = 1, vectors = 1;
  bool joined = false;  // a tile is whole rows, which are written as if they were one

  Tile(const Axis& y, const Axis& x, const Target& target, int64_t lanes, int64_t parts, bool any_size) {
    constexpr int64_t kManyRows = 1 << 16;
    const int64_t most = target.registers / 2 / parts, whole = ceil_div(x.out, lanes), all = any_size ? kManyRows : y.out;
    // All sums of a joined tile are held until it is written: of one vector a row, where registers are few or vectors have two parts.
    joined = !any_size && x.out % lanes && whole <= (target.registers == 32 && parts == 1 ? most / 2 : 1);
    vectors = joined ? whole : 1;
    // What a row costs: its multiply-adds, its share of what is loaded, and what is written.
    auto cost = [&](int64_t r) {
      auto of = [&](int64_t n) { return double(vectors * x.window * (y.extent(n) * x.step + n * y.window) + 4 * (joined ? ceil_div(n * x.out, lanes) : n)); };
      return double(all / r) * of(r) + (all % r ? of(all % r) : 0);
    };
    for (int64_t r = 2; r <= std::min(all, most / vectors); ++r)
      if (cost(r) < cost(rows)) rows = r;
  }
};

class InPlaceEmitter {
 public:
  InPlaceEmitter(KernelContext& c, const Geometry& g, IR input, IR kernel, const StorePositions& store)
      : c_(c), k_(c.k), b_(c.k.b), g_(g), depth_(g.planes()), y_(g.rows()), x_(g.columns()), input_(input), kernel_(kernel), store_(store), type_(k_.compute_type(g.out_type)),
        pairs_(multiplies_pairs(g, c.k.target)), parts_(pairs_ && x_.step == 1 ? 2 : 1), lanes_(vector_lanes(g, c.k.target) * parts_), tile_(y_, x_, c.k.target, lanes_, parts_, c.k.any_size) {}

  static int vector_lanes(const Geometry& g, const Target& target) { return g.out_type.isF64() ? target.lanes / 2 : target.lanes; }
  // Whether neighbours in a row of the window are multiplied at once, as pairs of bf16. Windows that move by one see those of every second column in one vector, and of the others in another: of short rows both would be half empty.
  static bool multiplies_pairs(const Geometry& g, const Target& target) {
    const Axis& x = g.columns();
    return g.in_type.isBF16() && target.bf16_dot != Target::None && target.lanes == 16 && x.dilation == 1 && x.window > 1 && (x.step == 2 || x.out > target.lanes);
  }

  void run() {
    constexpr int64_t kEnoughTasks = 16;
    int64_t planes = g_.images * g_.groups * depth_.out, tiles = y_.out / tile_.rows, rest = y_.out % tile_.rows;
    int64_t block = std::max<int64_t>(ceil_div(tiles, ceil_div(kEnoughTasks, planes)), 1), blocks = std::max<int64_t>(ceil_div(tiles, block), 1);
    c_.kernel.tasks = planes * blocks;
    double outputs = double(planes * g_.features * y_.out * x_.out);
    c_.kernel.cost = outputs * (1 + 0.5 * double(g_.window_size()));
    zeros_ = k_.scratch();
    int64_t bytes = x_.in * element_bytes(g_.in_type);
    c_.kernel.reserve(bytes);
    b_.CreateMemSet(zeros_, b_.getInt8(0), bytes, llvm::Align(64));
    k_.loop(k_.begin(), k_.end(), [&](IR task) {
      auto at = place_of_task(k_, {g_.images, g_.groups, depth_.out, blocks}, task);
      image_ = at[0].base, plane_ = at[2].base;
      channel_ = element(input_, k_.add(k_.mul(image_, g_.in_image), k_.mul(at[1].base, g_.in_feature)));
      k_.loop(k_.i64(0), k_.i64(g_.features), [&](IR f) {
        feature_ = k_.add(k_.mul(at[1].base, g_.features), f);
        if (depth_.window == 1) load_weights(k_.i64(0));
        IR first = k_.mul(at[3].base, block), end = k_.min(k_.add(first, k_.i64(block)), k_.i64(tiles));
        k_.loop(first, end, [&](IR tile) { rows(k_.mul(tile, tile_.rows), tile_.rows); });
        if (k_.divides(tile_.rows, y_.out)) return;
        k_.when(b_.CreateICmpEQ(end, k_.i64(tiles)), [&] {
          if (!k_.any_size) return rows(k_.i64(y_.out - rest), rest);
          k_.loop(k_.i64(y_.out - rest), k_.i64(y_.out), [&](IR row) { rows(row, 1); });
        });
      });
    });
  }

 private:
  IR element(IR base, IR index) { return b_.CreateGEP(k_.memory_type(g_.in_type), base, index); }

  // Of a plane of the window.
  void load_weights(IR plane) {
    weights_.clear();
    IR first = k_.add(k_.mul(feature_, g_.kernel_out), k_.mul(depth_.reversed ? b_.CreateSub(k_.i64(depth_.window - 1), plane) : plane, depth_.window_stride));
    auto at = [&](int64_t i, int64_t j) { return k_.add(first, k_.i64(y_.weight(i) + x_.weight(j))); };
    auto bits = [&](int64_t i, int64_t j) { return b_.CreateZExt(b_.CreateAlignedLoad(b_.getInt16Ty(), b_.CreateInBoundsGEP(b_.getInt16Ty(), kernel_, at(i, j)), llvm::Align(2)), b_.getInt32Ty()); };
    for (int64_t i = 0; i < y_.window; ++i)
      for (int64_t j = 0; j < steps(); ++j) {
        if (!pairs_) {
          weights_.push_back(k_.splat(k_.load(g_.kernel_type, kernel_, at(i, j), 1), lanes_));
          continue;
        }
        IR pair = bits(i, 2 * j);
        if (!is_half(j)) pair = b_.CreateOr(pair, b_.CreateShl(bits(i, 2 * j + 1), 16));
        weights_.push_back(k_.splat(pair, lanes_ / parts_));
      }
  }
  // What a row of the window is walked in: its elements, or pairs, of which the last one may be half.
  int64_t steps() const { return pairs_ ? ceil_div(x_.window, 2) : x_.window; }
  bool is_half(int64_t step) const { return pairs_ && 2 * step + 1 == x_.window; }

  // So many rows of the result.
  void rows(IR row, int64_t count) {
    if (tile_.joined) return write(sums(row, k_.i64(0), count), count * x_.out, k_.mul(row, x_.out));
    auto stripe = [&](IR column, int64_t columns, bool inside = false) {
      sums(row, column, count, inside, [&](int64_t r, IR sum) { write({sum}, columns, k_.add(k_.mul(k_.add(row, k_.i64(r)), x_.out), column)); });
    };
    int64_t whole = x_.out / lanes_, first = 0;
    while (first < whole && !lies_inside(first * lanes_)) ++first;
    int64_t last = first;
    while (last < whole && lies_inside(last * lanes_)) ++last;
    if (first < last) k_.loop(k_.i64(first), k_.i64(last), [&](IR v) { stripe(k_.mul(v, lanes_), lanes_, true); });
    k_.loop(k_.i64(0), k_.i64(whole - (last - first)), [&](IR i) {
      IR v = first < last ? b_.CreateSelect(b_.CreateICmpSLT(i, k_.i64(first)), i, k_.add(i, k_.i64(last - first))) : i;
      stripe(k_.mul(v, lanes_), lanes_);
    });
    if (k_.any_size) return k_.when(b_.CreateICmpNE(k_.size(x_.out % lanes_), k_.i64(0)), [&] { ends_of_rows(row, count); });
    if (x_.out % lanes_) stripe(k_.i64(whole * lanes_), x_.out % lanes_);
  }
  // The columns beyond the whole vectors, by way of memory.
  void ends_of_rows(IR row, int64_t count) {
    IR column = k_.i64(x_.out / lanes_ * lanes_), memory = k_.alloca_in_entry(type_, lanes_);
    sums(row, column, count, false, [&](int64_t r, IR sum) {
      b_.CreateAlignedStore(sum, memory, llvm::Align(4));
      IR position = k_.add(k_.mul(plane_, y_.out * x_.out), k_.add(k_.mul(k_.add(row, k_.i64(r)), x_.out), column));
      k_.rest_along(k_.size(x_.out % lanes_), lanes_, [&](IR at, int lanes) {
        store_(image_, feature_, k_.add(position, at), b_.CreateAlignedLoad(k_.vector(type_, lanes), b_.CreateInBoundsGEP(type_, memory, at), llvm::Align(4)), lanes);
      });
    });
  }
  // `count` positions from this one on, which rows of the tile's vectors begin with; in vectors, halves, quarters and so on, each from the vectors that have a part in it.
  void write(ArrayRef<IR> vectors, int64_t count, IR position) {
    auto lane_of = [&](int64_t i) { return tile_.joined ? i / x_.out * tile_.vectors * lanes_ + i % x_.out : i; };
    int64_t done = 0;
    for (int64_t width = lanes_; width > 0; width /= 2)
      for (; done + width <= count; done += width) {
        int64_t from = lane_of(done) / lanes_, to = lane_of(done + width - 1) / lanes_;
        IRs near(vectors.begin() + from, vectors.begin() + to + 1);
        near.resize(llvm::PowerOf2Ceil(near.size()), llvm::PoisonValue::get(near[0]->getType()));
        IR all = k_.concatenate(near);
        SmallVector<int> picked;
        for (int64_t i = 0; i < width; ++i) picked.push_back(int(lane_of(done + i) - from * lanes_));
        IR piece = width == 1 ? b_.CreateExtractElement(all, uint64_t(picked[0])) : b_.CreateShuffleVector(all, picked);
        store_(image_, feature_, k_.add(k_.mul(plane_, y_.out * x_.out), k_.add(position, k_.i64(done))), piece, int(width));
      }
  }

  using Completed = llvm::function_ref<void(int64_t row, IR sum)>;
  // Whether windows of the vector of these columns see nothing beyond the ends of a row.
  bool lies_inside(int64_t column) const {
    int64_t first = column * x_.step - x_.low, last = first + begin_of((x_.window - 1) * x_.dilation) + x_.step * lanes_ - 1;
    return !k_.any_size && first >= 0 && last < x_.in;
  }
  // The sums of `count` rows by the tile's vectors from `column` on, one vector's `inside` or not. If each is written as soon as it is complete, few are held, and what the next lines bring is not loaded, and spilled, before.
  IRs sums(IR row, IR column, int64_t count, bool inside = false, Completed completed = {}) {
    IRs zeros(count * tile_.vectors * parts_, llvm::Constant::getNullValue(k_.vector(type_, lanes_ / parts_)));
    auto in_order = [&](ArrayRef<IR> sums) { return llvm::map_to_vector(llvm::seq<int64_t>(count * tile_.vectors), [&](int64_t i) { return vector_of(sums, i); }); };
    if (depth_.window == 1) return in_order(add_plane(row, column, count, inside, k_.i64(0), zeros, completed));
    IRs all = k_.loop(k_.i64(0), k_.i64(depth_.window), 1, zeros, [&](IR plane, ArrayRef<IR> sums) {
      load_weights(plane);
      return add_plane(row, column, count, inside, plane, IRs(sums));
    });
    all = in_order(all);
    if (completed)
      for (auto [r, sum] : llvm::enumerate(all)) completed(int64_t(r), sum);
    return all;
  }
  // In the order of columns.
  IR vector_of(ArrayRef<IR> sums, int64_t i) {
    if (parts_ == 1) return sums[i];
    SmallVector<int> order;
    for (int lane = 0; lane < lanes_; ++lane) order.push_back(lane / 2 + lane % 2 * (lanes_ / 2));
    return b_.CreateShuffleVector(sums[2 * i], sums[2 * i + 1], order);
  }
  // What they are with a plane of the window.
  IRs add_plane(IR row, IR column, int64_t count, bool inside, IR window_plane, IRs sums, Completed completed = {}) {
    IR plane = k_.add(k_.mul(plane_, depth_.step), k_.add(k_.mul(window_plane, depth_.dilation), k_.i64(-depth_.low)));
    IR exists = b_.CreateICmpULT(plane, k_.i64(depth_.in)), base = element(channel_, k_.mul(plane, depth_.in_stride));
    for (int64_t v = 0; v < tile_.vectors; ++v) {
      Vectors masks;
      if (!(tile_.joined ? lies_inside(v * lanes_) : inside)) masks = masks_of(k_.add(column, k_.i64(v * lanes_)));
      for (int64_t line = 0; line < y_.extent(count); ++line) {
        auto meets = [&](int64_t i) {  // the row of the tile that sees this line through row i of the window
          int64_t r = line - i * y_.dilation;
          return r >= 0 && r % y_.step == 0 && r / y_.step < count ? r / y_.step : -1;
        };
        if (llvm::all_of(llvm::seq<int64_t>(y_.window), [&](int64_t i) { return meets(i) < 0; })) continue;
        IR y = k_.add(k_.mul(row, y_.step), k_.i64(line - y_.low));
        IR from = b_.CreateSelect(b_.CreateAnd(exists, b_.CreateICmpULT(y, k_.i64(y_.in))), element(base, k_.mul(y, y_.in_stride)), zeros_);
        Vectors loaded;
        for (int64_t j = 0; j < steps(); ++j)
          for (int64_t part = 0; part < parts_; ++part) {
            IR first = k_.add(column, k_.i64(v * lanes_)), seen = pairs_ ? see_pairs(from, first, 2 * j + part, is_half(j), masks) : see(from, first, j * x_.dilation, masks, loaded);
            for (int64_t i = 0; i < y_.window; ++i)
              if (int64_t r = meets(i); r >= 0) {
                IR &sum = sums[(r * tile_.vectors + v) * parts_ + part], weight = weights_[i * steps() + j];
                sum = pairs_ ? k_.product_of_pairs(seen, weight, sum) : b_.CreateIntrinsic(llvm::Intrinsic::fmuladd, {sum->getType()}, {seen, weight, sum});
              }
          }
        if (int64_t r = meets(y_.window - 1); completed && r >= 0) completed(r, vector_of(sums, r));
      }
    }
    return sums;
  }

  // Of the elements from where the window begins on, numbered by the first one.
  using Vectors = std::map<int64_t, IR>;
  IR first_of(IR column, int64_t shift) { return k_.add(k_.mul(column, x_.step), k_.i64(shift - x_.low)); }
  // A window that moves by two sees every second element of two vectors, the even or the odd ones.
  int64_t begin_of(int64_t shift) const { return x_.step == 2 ? shift / 2 * 2 : shift; }
  Vectors masks_of(IR column) {
    Vectors masks;
    auto add = [&](int64_t begin, int lanes) {
      if (!masks.count(begin)) masks[begin] = mask_within_line(k_, first_of(column, begin), x_.in, lanes, g_.in_type);
    };
    for (int64_t j = 0; j < steps(); ++j)
      for (int64_t part = 0; part < (pairs_ ? parts_ : x_.step); ++part) pairs_ ? add(2 * j + part, 2 * k_.target.lanes) : add(begin_of(j * x_.dilation) + part * lanes_, lanes_);
    return masks;
  }
  // Pairs of neighbours, for every second column where windows move by one. What half a pair would be multiplied by 0 is not read: it may be infinite.
  IR see_pairs(IR line, IR column, int64_t shift, bool half, const Vectors& masks) {
    const int lanes = 2 * k_.target.lanes;
    Type bits = IntegerType::get(g_.in_type.getContext(), 16);
    IR mask = masks.empty() ? nullptr : masks.at(shift);
    if (half) {
      SmallVector<llvm::Constant*> firsts;
      for (int lane = 0; lane < lanes; ++lane) firsts.push_back(b_.getInt1(lane % 2 == 0));
      IR first = k_.mask(llvm::ConstantVector::get(firsts), bits);
      mask = mask ? b_.CreateAnd(mask, first) : first;
    }
    return mask ? k_.load_masked(bits, line, first_of(column, shift), mask) : k_.load(bits, line, first_of(column, shift), lanes);
  }
  IR see(IR line, IR column, int64_t shift, const Vectors& masks, Vectors& loaded) {
    auto load = [&](int64_t begin) {
      IR& v = loaded[begin];
      if (!v) v = masks.empty() ? k_.load(g_.in_type, line, first_of(column, begin), lanes_) : k_.load_masked(g_.in_type, line, first_of(column, begin), masks.at(begin));
      return v;
    };
    int64_t begin = begin_of(shift);
    if (x_.step == 1) return load(begin);
    IR low = load(begin), high = load(begin + lanes_);
    return k_.every_second(low, high, int(shift - begin));
  }

  KernelContext& c_;
  KernelEmitter& k_;
  llvm::IRBuilder<>& b_;
  const Geometry& g_;
  const Axis depth_, y_, x_;
  IR input_, kernel_;
  const StorePositions& store_;
  llvm::Type* type_;
  bool pairs_;
  int parts_, lanes_;  // vectors that a vector of the result is made of, and its lanes
  Tile tile_;
  IR zeros_ = nullptr, channel_ = nullptr, plane_ = nullptr, image_ = nullptr, feature_ = nullptr;
  IRs weights_;  // of one feature and plane of the window, in every lane
};

}  // namespace

bool is_depthwise_in_place(const Geometry& g, const Target& target) {
  constexpr int64_t kLargestWindow = 49;  // each place is code
  const size_t rank = g.axes.size();
  if (g.in_features != 1 || (rank != 2 && rank != 3) || g.in_type != g.out_type || g.kernel_type != g.out_type || !isa<FloatType>(g.out_type) || !target.can_mask(element_bytes(g.out_type))) return false;
  const Axis &y = g.rows(), &x = g.columns();
  bool plain = llvm::all_of(g.axes, [](const Axis& a) { return a.base_dilation == 1 && a.out_step == 1; });
  return plain && x.in_stride == 1 && x.step <= 2 && y.window * x.window <= kLargestWindow && x.in < INT32_MAX / 4;
}

void emit_depthwise_in_place(KernelContext& c, const Geometry& g, IR input, IR kernel, const StorePositions& store) { InPlaceEmitter(c, g, input, kernel, store).run(); }

}  // namespace cresset::cpu
