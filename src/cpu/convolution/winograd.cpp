// 3 x 3 windows that move by one, after Winograd: F(2 x 2, 3 x 3) computes a tile of 2 x 2 outputs from 4 x 4 inputs with 16 multiplications instead of 36
// (Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", 2015). Input tiles and kernels are transformed; at each of the 16 places the product
// over the channels is a matrix product of kernels by tiles; its results are transformed back. All of it stays in a task's scratch memory.
#include "cpu/convolution/convolution.h"
#include "cpu/matmul/panels.h"
#include "runtime/thread_pool.h"

namespace cresset::cpu {

using namespace mlir;
namespace {

constexpr int64_t kPlaces = 16, kSide = 4;
constexpr int64_t kTiles = 2;  // register tiles whose features are transformed together
constexpr int64_t kLine = 16;  // floats

// Whether vectors of kernels are features by which few tiles can be multiplied.
bool lanes_are_features(const Panels& panels, int lanes) { return kTiles * panels.mr == lanes; }

// How the work is shared out: a task takes some rows of tiles (of all images, one after the other) and some features.
struct Shares {
  int64_t tile_rows, tile_columns, rows, features;
  bool ends;          // whether the last tiles of a task get a narrower panel
  double cycles = 0;  // of the slowest thread, for vectors of 8

  // Transforming costs about as much as so many multiply-adds of vectors.
  Shares(const Geometry& g, const Panels& panels, int lanes) : ends(panels.ends) {
    constexpr double kInput = 8, kOutput = 14, kFromMemory = 10;
    const bool are_in_memory = 36 * g.groups * g.features * g.in_features >= kBytesBeyondL2;  // as large weights are, of which a model has many
    const double kernel = (lanes > 8 ? 4 : 8) + (are_in_memory ? kFromMemory : 0);
    // Each of few last tiles costs one, and all of them the loads of one more.
    auto computed = [&](int64_t n) {
      int64_t rest = n % panels.nr;
      return rest <= lanes && panels.ends && lanes_are_features(panels, lanes) ? n + (rest > 0) : panels.computed(n);
    };
    constexpr int64_t kLargestScratch = 4 << 20;
    tile_rows = g.images * ceil_div(g.axes[0].out, 2), tile_columns = ceil_div(g.axes[1].out, 2);
    double k = double(g.in_features);
    for (int64_t parts = 1; parts <= std::min<int64_t>(8, ceil_div(g.features, 24)); ++parts)
      for (int64_t blocks = 1; blocks <= tile_rows; ++blocks) {
        int64_t r = ceil_div(tile_rows, blocks), n = r * tile_columns, f = round_up(ceil_div(g.features, parts), kTiles * panels.mr);
        if (ceil_div(tile_rows, r) != blocks || (kPlaces * g.in_features * n * 4 > kLargestScratch && blocks < tile_rows)) continue;
        double near = kPlaces * k * double(n) * 4 <= 600e3 ? 1 : 1.05;  // what doesn't stay in L2
        double task = near * double(computed(n)) * k * double(f) + kernel * double(f) * k + kInput * k * double(n) + kOutput * double(f * n);
        double time = double(ceil_div(g.groups * blocks * ceil_div(g.features, f), num_threads())) * task;
        if (cycles == 0 || time < cycles) cycles = time, rows = r, features = f;
      }
  }
};

MatmulSpec product_of(const Geometry& g) {
  MatmulSpec spec;
  spec.m = g.features, spec.n = g.images * ceil_div(g.axes[0].out, 2) * ceil_div(g.axes[1].out, 2), spec.k = g.in_features;
  spec.a_type = g.kernel_type, spec.b_type = g.in_type, spec.type = g.out_type;
  return spec;
}

// A narrower panel is more code.
Shares best_shares(const Geometry& g, KernelEmitter& k, const MatmulSpec& spec) {
  Shares whole(g, Panels(k, spec), k.target.lanes), ends(g, Panels(k, spec, 0, true), k.target.lanes);
  return ends.cycles < 0.96 * whole.cycles ? ends : whole;
}

class WinogradEmitter {
 public:
  WinogradEmitter(KernelContext& c, const Geometry& g, IR input, IR kernel, const StorePositions& store)
      : c_(c), k_(c.k), b_(c.k.b), g_(g), input_(input), kernel_(kernel), store_(store), spec_(product_of(g)), shares_(best_shares(g, c.k, spec_)), p_(c.k, spec_, 0, shares_.ends), lanes_(p_.narrowed(shares_.tile_columns).lanes) {
    rest_ = shares_.rows * shares_.tile_columns % p_.nr;
    if (rest_ && p_.ends) end_.emplace(p_.narrowed(rest_));
  }

  void run() {
    auto reserve = [&](int64_t elements) { return c_.kernel.reserve(elements * 4); };
    int64_t columns = shares_.tile_columns, tiles = shares_.rows * columns;
    int64_t lines = ceil_div(std::max(p_.computed(tiles), tiles - columns + round_up(columns, lanes_)), kLine);
    // Rows of a panel spread over all sets of the L1 cache, and so do the places, which are written together.
    tiles_pitch_ = kLine * (lines | 1);
    kernels_pitch_ = g_.in_features * feature_block() + kLine;
    places_pitch_ = g_.in_features * tiles_pitch_ + kLine;
    inputs_ = reserve(kPlaces * places_pitch_);
    kernels_ = reserve(kPlaces * kernels_pitch_);
    products_ = reserve(kPlaces * feature_block() * p_.nr);
    quarters_ = reserve(feature_block() * kSide * tiles_pitch_);
    results_ = reserve(2 * shares_.rows * width() + 2 * p_.lanes);
    zeros_ = reserve(g_.axes[1].in);
    b_.CreateMemSet(scratch(zeros_, k_.i64(0)), b_.getInt8(0), g_.axes[1].in * 4, llvm::Align(64));
    int64_t parts = ceil_div(g_.features, shares_.features), blocks = ceil_div(shares_.tile_rows, shares_.rows);
    c_.kernel.tasks = g_.groups * parts * blocks;
    c_.kernel.cost = 0.25 * double(g_.groups * g_.images * g_.features * g_.in_features) * double(g_.image_size() * kSide);
    k_.loop(k_.begin(), k_.end(), [&](IR task) {
      auto at = delinearise(k_, {g_.groups, blocks, parts}, task);
      first_row_ = k_.mul(at[1].base, shares_.rows), rows_ = k_.part(shares_.tile_rows, shares_.rows, first_row_);
      transform_input(at[0].base);
      IR from = k_.mul(at[2].base, shares_.features), count = k_.part(g_.features, shares_.features, from);
      k_.loop(k_.i64(0), count, feature_block(), [&](IR f) {
        IR feature = k_.add(from, f);
        transform_kernels(at[0].base, feature);
        IR tiles = k_.mul(rows_, shares_.tile_columns);
        k_.loop(k_.i64(0), tiles, p_.nr, [&](IR tile) {
          if (!end_) return multiply(p_, tile);
          IR is_end = b_.CreateICmpSLE(b_.CreateSub(tiles, tile), k_.i64(rest_));
          k_.either(is_end, [&] { multiply(*end_, tile); }, [&] { multiply(p_, tile); });
        });
        k_.loop(k_.i64(0), k_.min(k_.i64(feature_block()), b_.CreateSub(count, f)), [&](IR i) { finish(k_.add(k_.mul(at[0].base, g_.features), k_.add(feature, i)), i); });
      });
    });
  }

 private:
  static constexpr int64_t kWindow = 9;
  int64_t feature_block() const { return kTiles * p_.mr; }
  int64_t height() const { return g_.axes[0].out; }
  int64_t width() const { return g_.axes[1].out; }
  IR scratch(int64_t at, IR index) { return k_.in_scratch(b_.getFloatTy(), at, index); }
  IR read(IR address, int64_t lanes) { return b_.CreateAlignedLoad(k_.vector(b_.getFloatTy(), int(lanes)), address, llvm::Align(4)); }
  void write(IR v, IR address) { b_.CreateAlignedStore(v, address, llvm::Align(4)); }
  IR plus(IR x, IR y) { return b_.CreateFAdd(x, y); }
  IR minus(IR x, IR y) { return b_.CreateFSub(x, y); }

  // A square of vectors, of which `apply` transforms the columns, then the rows.
  using Line = std::function<IRs(ArrayRef<IR>)>;
  static std::vector<IRs> both_ways(const std::vector<IRs>& square, const Line& apply) {
    std::vector<IRs> columns, result;
    for (size_t x = 0; x < square[0].size(); ++x) {
      IRs column;
      for (const IRs& row : square) column.push_back(row[x]);
      columns.push_back(apply(column));
    }
    for (size_t y = 0; y < columns[0].size(); ++y) {
      IRs row;
      for (const IRs& column : columns) row.push_back(column[y]);
      result.push_back(apply(row));
    }
    return result;
  }

  //===-- Input -----------------------------------------------------------------------------------------------------===//

  // inputs[place][channel][tile]. Vectors are neighbours in a row of tiles; what lies beyond its end is overwritten by the next row. Channel by channel, whose lines stay in L1 meanwhile:
  // most belong to several rows.
  void transform_input(IR group) {
    const Axis &y = g_.axes[0], &x = g_.axes[1];
    int64_t down = ceil_div(y.out, 2);
    auto at = [&](IR base, IR index) { return b_.CreateGEP(b_.getFloatTy(), base, index); };
    const int64_t shifts[] = {0, lanes_, 2, lanes_ + 2};
    k_.loop(k_.i64(0), k_.i64(g_.in_features), [&](IR channel) {
      IR plane = at(input_, k_.mul(k_.add(k_.mul(group, g_.in_features), channel), g_.in_feature));
      k_.loop(k_.i64(0), rows_, [&](IR row) {
        IR t = k_.add(first_row_, row), image = b_.CreateUDiv(t, k_.i64(down)), top = b_.CreateSub(k_.mul(b_.CreateURem(t, k_.i64(down)), 2), k_.i64(y.low));
        IRs lines;
        for (int64_t i = 0; i < kSide; ++i) {
          IR line = k_.add(top, k_.i64(i)), inside = b_.CreateICmpULT(line, k_.i64(y.in));
          lines.push_back(b_.CreateSelect(inside, at(plane, k_.add(k_.mul(image, g_.in_image), k_.mul(line, y.in_stride))), scratch(zeros_, k_.i64(0))));
        }
        k_.loop(k_.i64(0), k_.i64(shares_.tile_columns), lanes_, [&](IR column) {
          IR left = b_.CreateSub(k_.mul(column, 2), k_.i64(x.low));
          IRs masks;
          for (int64_t shift : shifts) masks.push_back(k_.mask(b_.CreateICmpULT(k_.sequence(k_.add(left, k_.i64(shift)), lanes_), k_.splat(k_.i64(x.in), lanes_)), g_.in_type));
          std::vector<IRs> square;
          for (IR line : lines) {
            IRs wide;
            for (int64_t s = 0; s < 4; ++s) wide.push_back(k_.load_masked(g_.in_type, line, k_.add(left, k_.i64(shifts[s])), masks[s]));
            square.push_back({k_.every_second(wide[0], wide[1], 0), k_.every_second(wide[0], wide[1], 1), k_.every_second(wide[2], wide[3], 0), k_.every_second(wide[2], wide[3], 1)});
          }
          square = both_ways(square, [&](ArrayRef<IR> d) { return IRs{minus(d[0], d[2]), plus(d[1], d[2]), minus(d[2], d[1]), minus(d[1], d[3])}; });
          IR to = k_.add(k_.mul(row, shares_.tile_columns), column);
          for (int64_t place = 0; place < kPlaces; ++place) write(square[place / kSide][place % kSide], input_panel(place, channel, to));
        });
      });
    });
  }
  IR input_panel(int64_t place, IR channel, IR tile) {
    return scratch(inputs_, k_.add(k_.i64(place * places_pitch_), k_.add(k_.mul(channel, tiles_pitch_), tile)));
  }

  //===-- Kernels ---------------------------------------------------------------------------------------------------===//

  // kernels[place][channel][feature of the block]. Lanes are features, the last ones first: lanes beyond the block are overwritten by the first ones of the next channel.
  void transform_kernels(IR group, IR first) {
    const int lanes = k_.target.lanes;
    IR window_mask = lanes > kWindow ? k_.mask(b_.CreateICmpULT(k_.sequence(b_.getInt32(0), lanes), k_.splat(b_.getInt32(kWindow), lanes)), g_.kernel_type) : nullptr;
    for (int64_t begin = round_up(feature_block(), lanes) - lanes; begin >= 0; begin -= lanes) {
      IRs rows;
      for (int64_t i = begin; i < std::min(begin + lanes, feature_block()); ++i) rows.push_back(kernel_row(group, k_.add(first, k_.i64(i))));
      k_.loop(k_.i64(0), k_.i64(g_.in_features), [&](IR channel) {
        // A window is a vector, of which eight lanes leave the last place over.
        IRs places;
        IR last = llvm::Constant::getNullValue(k_.vector(b_.getFloatTy(), lanes));
        for (auto [i, row] : llvm::enumerate(rows)) {
          IR at = k_.add(row, k_.mul(channel, g_.kernel_in));
          if (window_mask) {
            places.push_back(k_.load_masked(g_.kernel_type, kernel_, at, window_mask));
            continue;
          }
          places.push_back(k_.load(g_.kernel_type, kernel_, at, lanes));
          last = b_.CreateInsertElement(last, k_.load(g_.kernel_type, kernel_, k_.add(at, k_.i64(kWindow - 1)), 1), i);
        }
        places.resize(lanes, llvm::PoisonValue::get(last->getType()));
        k_.transpose(places);
        if (!window_mask) places.push_back(last);
        std::vector<IRs> square(3);
        for (int64_t y = 0; y < 3; ++y)
          for (int64_t x = 0; x < 3; ++x) square[y].push_back(places[(g_.axes[0].reversed ? 2 - y : y) * 3 + (g_.axes[1].reversed ? 2 - x : x)]);
        auto half = llvm::ConstantFP::get(last->getType(), 0.5);
        square = both_ways(square, [&](ArrayRef<IR> g) {
          IR outer = b_.CreateFMul(plus(g[0], g[2]), half), inner = b_.CreateFMul(g[1], half);
          return IRs{g[0], plus(outer, inner), minus(outer, inner), g[2]};
        });
        for (int64_t place = 0; place < kPlaces; ++place) write(square[place / kSide][place % kSide], kernel_panel(k_.i64(place), channel, begin));
      });
    }
  }
  // Where the windows of a feature begin; those beyond the last one repeat it.
  IR kernel_row(IR group, IR feature) {
    return k_.add(k_.i64(g_.kernel_first), k_.mul(k_.add(k_.mul(group, g_.features), k_.min(feature, k_.i64(g_.features - 1))), g_.kernel_out));
  }
  IR kernel_panel(IR place, IR channel, int64_t feature) { return scratch(kernels_, k_.add(k_.mul(place, kernels_pitch_), k_.add(k_.mul(channel, feature_block()), k_.i64(feature)))); }

  //===-- Products, and back ----------------------------------------------------------------------------------------===//

  // A panel of tiles by the features of the block: the products of each place, then quarters[feature][place in the tile of outputs][tile].
  void multiply(Panels& p, IR tile) {
    k_.loop(k_.i64(0), k_.i64(kPlaces), [&](IR place) {
      IR panel = scratch(inputs_, k_.add(k_.mul(place, places_pitch_), tile));
      if (p.vectors == 1 && lanes_are_features(p, k_.target.lanes)) return multiply_few(p, place, panel);
      for (int64_t half = 0; half < kTiles; ++half) {
        IRs sums = p.multiply([&](int64_t i, IR channel) { return kernel_panel(place, channel, half * p.mr + i); }, panel, k_.i64(g_.in_features), p.zeros(), tiles_pitch_);
        IR to = scratch(products_, k_.mul(k_.add(k_.mul(place, kTiles), k_.i64(half)), p.mr * p.nr));
        for (auto [i, sum] : llvm::enumerate(sums)) write(sum, p.vector_at(to, k_.i64(0), int64_t(i)));
      }
    });
    k_.loop(k_.i64(0), k_.i64(feature_block()), [&](IR i) {
      for (int64_t column = 0; column < p.nr; column += p.lanes) {
        std::vector<IRs> square(kSide);
        for (int64_t place = 0; place < kPlaces; ++place)
          square[place / kSide].push_back(read(scratch(products_, k_.add(k_.mul(i, p.nr), k_.i64(place * feature_block() * p.nr + column))), p.lanes));
        square = both_ways(square, [&](ArrayRef<IR> m) { return IRs{plus(plus(m[0], m[1]), m[2]), minus(minus(m[1], m[2]), m[3])}; });
        for (int64_t quarter = 0; quarter < 4; ++quarter) write(square[quarter / 2][quarter % 2], quarters(i, quarter, k_.add(tile, k_.i64(column))));
      }
    });
  }
  // Few tiles: vectors of features by each of them, turned into rows of tiles.
  void multiply_few(Panels& p, IR place, IR panel) {
    const int lanes = k_.target.lanes;
    auto* vector = k_.vector(b_.getFloatTy(), lanes);
    const int64_t columns = std::min<int64_t>(p.is_end ? rest_ : p.nr, lanes);
    // As many sums as don't wait for themselves, of every so many-th channel each.
    const int64_t chains = std::max<int64_t>(8 / columns, 1), whole = g_.in_features / chains * chains;
    auto add = [&](IR first, int64_t channels, ArrayRef<IR> sums) {
      IRs next(sums.begin(), sums.end());
      for (int64_t c = 0; c < channels; ++c) {
        IR channel = k_.add(first, k_.i64(c)), features = read(kernel_panel(place, channel, 0), lanes);
        for (int64_t j = 0; j < columns; ++j) {
          IR x = k_.splat(read(p.vector_at(panel, k_.add(k_.mul(channel, tiles_pitch_), k_.i64(j)), 0), 1), lanes);
          next[c * columns + j] = b_.CreateIntrinsic(llvm::Intrinsic::fma, {vector}, {features, x, next[c * columns + j]});
        }
      }
      return next;
    };
    IRs sums = k_.loop(k_.i64(0), k_.i64(whole), chains, IRs(chains * columns, llvm::Constant::getNullValue(vector)), [&](IR c, ArrayRef<IR> sums) { return add(c, chains, sums); });
    for (int64_t c = whole; c < g_.in_features; ++c) sums = add(k_.i64(c), 1, sums);
    for (int64_t c = 1; c < chains; ++c)
      for (int64_t j = 0; j < columns; ++j) sums[j] = plus(sums[j], sums[c * columns + j]);
    sums.resize(columns);
    sums.resize(lanes, llvm::PoisonValue::get(vector));
    k_.transpose(sums);
    // What a row holds beyond the panel's width is overwritten by the next one.
    for (int64_t i = 0; i < lanes; ++i) write(sums[i], scratch(products_, k_.add(k_.mul(place, feature_block() * p.nr), k_.i64(i * p.nr))));
  }
  IR quarters(IR i, int64_t quarter, IR tile) { return scratch(quarters_, k_.add(k_.mul(i, 4 * tiles_pitch_), k_.add(k_.i64(quarter * tiles_pitch_), tile))); }

  // The outputs of a feature: rows in their order, each written over what the one before holds beyond its end. Then the positions of each image.
  void finish(IR feature, IR i) {
    SmallVector<int> low, high;
    for (int at = 0; at < lanes_; ++at) low.push_back(at / 2 + at % 2 * lanes_), high.push_back(at / 2 + lanes_ / 2 + at % 2 * lanes_);
    k_.loop(k_.i64(0), rows_, [&](IR row) {
      for (int64_t below = 0; below < 2; ++below)
        k_.loop(k_.i64(0), k_.i64(shares_.tile_columns), lanes_, [&](IR column) {
          IR tile = k_.add(k_.mul(row, shares_.tile_columns), column);
          IR even = read(quarters(i, 2 * below, tile), lanes_), odd = read(quarters(i, 2 * below + 1, tile), lanes_);
          IR to = k_.add(k_.mul(k_.add(k_.mul(row, 2), k_.i64(below)), width()), k_.mul(column, 2));
          write(b_.CreateShuffleVector(even, odd, low), scratch(results_, to));
          write(b_.CreateShuffleVector(even, odd, high), scratch(results_, k_.add(to, k_.i64(lanes_))));
        });
    });
    int64_t down = ceil_div(height(), 2);
    IR end = k_.add(first_row_, rows_), images = b_.CreateUDiv(b_.CreateAdd(end, k_.i64(down - 1)), k_.i64(down));
    k_.loop(b_.CreateUDiv(first_row_, k_.i64(down)), images, [&](IR image) {
      IR top = k_.mul(image, down), from = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, first_row_, top), to = k_.min(end, k_.add(top, k_.i64(down)));
      auto outputs = [&](IR row) { return k_.mul(k_.min(k_.mul(b_.CreateSub(row, top), 2), k_.i64(height())), width()); };
      IR first = outputs(from), skipped = k_.mul(b_.CreateSub(from, first_row_), 2 * width());
      k_.along(b_.CreateSub(outputs(to), first), p_.lanes, [&](IR at, int lanes) {
        store_(image, feature, k_.add(first, at), read(scratch(results_, k_.add(skipped, at)), lanes), lanes);
      });
    });
  }

  KernelContext& c_;
  KernelEmitter& k_;
  llvm::IRBuilder<>& b_;
  const Geometry& g_;
  IR input_, kernel_;
  const StorePositions& store_;
  MatmulSpec spec_;
  Shares shares_;
  Panels p_;
  std::optional<Panels> end_;  // of the last tiles,
  int64_t rest_ = 0;           // which are so many
  int lanes_;                  // of vectors along a row of tiles
  int64_t tiles_pitch_ = 0, places_pitch_ = 0, kernels_pitch_ = 0;
  int64_t inputs_ = 0, kernels_ = 0, products_ = 0, quarters_ = 0, results_ = 0, zeros_ = 0;  // places in scratch
  IR first_row_ = nullptr, rows_ = nullptr;                                       // of the task's tiles
};

}  // namespace

bool is_winograd(const Geometry& g, KernelEmitter& k) {
  if (k.target.lanes < 8 || g.axes.size() != 2 || g.batch_groups != 1 || !g.in_type.isF32() || !g.kernel_type.isF32() || !g.out_type.isF32()) return false;
  for (const Axis& a : g.axes)
    if (a.window != 3 || a.step != 1 || a.dilation != 1 || a.base_dilation != 1 || a.out_step != 1) return false;
  if (!g.is_dense(&Axis::window, &Axis::window_stride) || !g.is_dense(&Axis::out, &Axis::out_stride) || g.axes[1].in_stride != 1) return false;
  MatmulSpec tiles = product_of(g), positions = tiles;
  positions.n = g.images * g.image_size();
  double direct = double(g.groups * g.in_features * g.features * Panels(k, positions, 0, true).computed(positions.n)) * 9 / 16 / num_threads();
  return best_shares(g, k, tiles).cycles < 0.9 * direct;
}

void emit_winograd(KernelContext& c, const Geometry& g, IR input, IR kernel, const StorePositions& store) {
  WinogradEmitter(c, g, input, kernel, store).run();
}

}  // namespace cresset::cpu
