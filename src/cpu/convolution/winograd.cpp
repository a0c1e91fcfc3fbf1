// 3 x 3 windows that move by one, after Winograd: F(2 x 2, 3 x 3) computes a tile of 2 x 2 outputs from 4 x 4 inputs with 16 multiplications instead of 36
// (Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", 2015). Input tiles and kernels are transformed; at each of the 16 places the product
// over the channels is a matrix product of kernels by tiles; its results are transformed back. All of it stays in a task's scratch memory.
// A third dimension is summed directly: its places of the window are to the products what channels are, and a plane's tiles are transformed once for all of them.
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

// How the work is shared out: a task takes some features and some tiles. Where the window has one plane these are some rows of tiles of all planes of all images, one
// after the other; otherwise the same rows of neighbouring planes of an image, whose windows share planes of the input.
struct Shares {
  int64_t tile_rows, tile_columns;  // of a plane
  int64_t planes = 1, rows, features;  // of a task
  int64_t blocks;                      // of tiles
  bool ends;          // whether the last tiles of a task get a narrower panel
  double cycles = 0;  // of the slowest thread, for vectors of 8

  Shares(const Geometry& g, const Panels& panels, int lanes) : ends(panels.ends) {
    const Axis depth = g.planes();
    tile_rows = ceil_div(g.rows().out, 2), tile_columns = ceil_div(g.columns().out, 2);
    if (depth.window == 1) {
      const int64_t all = g.images * depth.out * tile_rows;
      for (int64_t count = 1; count <= all; ++count)
        if (ceil_div(all, ceil_div(all, count)) == count) consider(g, panels, lanes, 1, ceil_div(all, count), count);
      return;
    }
    for (int64_t chunks = 1; chunks <= depth.out; ++chunks)
      for (int64_t bands = 1; bands <= tile_rows; ++bands) {
        int64_t p = ceil_div(depth.out, chunks), r = ceil_div(tile_rows, bands);
        if (ceil_div(depth.out, p) == chunks && ceil_div(tile_rows, r) == bands) consider(g, panels, lanes, p, r, g.images * chunks * bands);
      }
  }

 private:
  // Transforming costs about as much as so many multiply-adds of vectors.
  void consider(const Geometry& g, const Panels& panels, int lanes, int64_t p, int64_t r, int64_t count) {
    constexpr double kInput = 8, kOutput = 14, kFromMemory = 10;
    constexpr int64_t kLargestScratch = 4 << 20;
    const Axis depth = g.planes();
    const bool are_in_memory = 36 * depth.window * g.groups * g.features * g.in_features >= kBytesBeyondL2;  // as large weights are, of which a model has many
    const double kernel = (lanes > 8 ? 4 : 8) + (are_in_memory ? kFromMemory : 0);
    // Each of few last tiles costs one, and all of them the loads of one more.
    auto computed = [&](int64_t n) {
      int64_t rest = n % panels.nr;
      return rest <= lanes && panels.ends && lanes_are_features(panels, lanes) ? n + (rest > 0) : panels.computed(n);
    };
    const int64_t n = p * r * tile_columns, transformed = depth.extent(p) * r * tile_columns * g.in_features;
    if (kPlaces * transformed * 4 > kLargestScratch && p * r > 1) return;
    const double k = double(g.in_features * depth.window), near = kPlaces * transformed * 4 <= 600e3 ? 1 : 1.05;  // what doesn't stay in L2
    for (int64_t parts = 1; parts <= std::min<int64_t>(8, ceil_div(g.features, 24)); ++parts) {
      int64_t f = round_up(ceil_div(g.features, parts), kTiles * panels.mr);
      double task = near * double(computed(n)) * k * double(f) + kernel * double(f) * k + kInput * double(transformed) + kOutput * double(f * n);
      double time = double(ceil_div(g.groups * count * ceil_div(g.features, f), num_threads())) * task;
      if (cycles == 0 || time < cycles) cycles = time, planes = p, rows = r, features = f, blocks = count;
    }
  }
};

MatmulSpec product_of(const Geometry& g, bool any_size) {
  const Axis depth = g.planes();
  MatmulSpec spec;
  spec.m = g.features, spec.n = g.images * depth.out * ceil_div(g.rows().out, 2) * ceil_div(g.columns().out, 2), spec.k = g.in_features * depth.window;
  spec.a_type = g.kernel_type, spec.b_type = g.in_type, spec.type = g.out_type;
  spec.any_n = any_size;
  return spec;
}

// A narrower panel is more code.
Shares best_shares(const Geometry& g, KernelEmitter& k, const MatmulSpec& spec) {
  Shares whole(g, Panels(k, spec), k.target.lanes), ends(g, Panels(k, spec, 0, true), k.target.lanes);
  return k.any_size || ends.cycles < 0.96 * whole.cycles ? ends : whole;
}

class WinogradEmitter {
 public:
  WinogradEmitter(KernelContext& c, const Geometry& g, IR input, IR kernel, const StorePositions& store)
      : c_(c), k_(c.k), b_(c.k.b), g_(g), depth_(g.planes()), y_(g.rows()), x_(g.columns()), input_(input), kernel_(kernel), store_(store), spec_(product_of(g, c.k.any_size)), shares_(best_shares(g, c.k, spec_)), p_(c.k, spec_, 0, shares_.ends), lanes_(p_.narrowed(shares_.tile_columns).lanes) {
    rest_ = shares_.planes * shares_.rows * shares_.tile_columns % p_.nr;
    if (k_.any_size) ends_ = p_.parts();
    else if (rest_ && p_.ends)
      ends_.push_back(p_.narrowed(rest_));
  }

  void run() {
    auto reserve = [&](int64_t elements) { return c_.kernel.reserve(elements * 4); };
    const int64_t columns = shares_.tile_columns, plane = shares_.rows * columns, tiles = shares_.planes * plane;
    auto pitch = [&](int64_t tiles) { return kLine * (ceil_div(tiles, kLine) | 1); };  // rows of a panel spread over all sets of the L1 cache, and so do the places, which are written together
    const int64_t last_row = round_up(columns, lanes_) - columns, halo = (depth_.extent(shares_.planes) - shares_.planes) * plane;
    tiles_pitch_ = pitch(std::max(p_.computed(tiles), tiles + last_row)), inputs_pitch_ = pitch(halo + std::max(p_.computed(tiles), tiles + last_row));
    kernels_pitch_ = depth_.window * g_.in_features * feature_block() + kLine;
    places_pitch_ = g_.in_features * inputs_pitch_ + kLine;
    inputs_ = reserve(kPlaces * places_pitch_);
    kernels_ = reserve(kPlaces * kernels_pitch_);
    products_ = reserve(kPlaces * feature_block() * p_.nr);
    quarters_ = reserve(feature_block() * kSide * tiles_pitch_);
    results_ = reserve(2 * shares_.planes * shares_.rows * width() + 2 * p_.lanes);
    zeros_ = reserve(x_.in);
    b_.CreateMemSet(scratch(zeros_, k_.i64(0)), b_.getInt8(0), x_.in * 4, llvm::Align(64));
    const int64_t parts = ceil_div(g_.features, shares_.features);
    c_.kernel.tasks = g_.groups * parts * shares_.blocks;
    c_.kernel.cost = 0.25 * double(g_.groups * g_.images * g_.features * g_.in_features * depth_.window) * double(g_.image_size() * kSide);
    k_.loop(k_.begin(), k_.end(), [&](IR task) {
      auto at = place_of_task(k_, {g_.groups, shares_.blocks, parts}, task);
      choose_tiles(at[1].base);
      transform_input(at[0].base);
      IR from = k_.mul(at[2].base, shares_.features), count = k_.part(g_.features, shares_.features, from);
      k_.loop(k_.i64(0), count, feature_block(), [&](IR f) {
        IR feature = k_.add(from, f);
        transform_kernels(at[0].base, feature);
        IR tiles = b_.CreateMul(planes_, plane_tiles_);
        k_.loop(k_.i64(0), tiles, p_.nr, [&](IR tile) {
          multiply_panel(tile, b_.CreateSub(tiles, tile), 0);
        });
        k_.loop(k_.i64(0), k_.min(k_.i64(feature_block()), b_.CreateSub(count, f)), [&](IR i) { finish(k_.add(k_.mul(at[0].base, g_.features), k_.add(feature, i)), i); });
      });
    });
  }

 private:
  static constexpr int64_t kWindow = 9;
  int64_t feature_block() const { return kTiles * p_.mr; }
  int64_t height() const { return y_.out; }
  int64_t width() const { return x_.out; }
  int64_t down() const { return shares_.tile_rows; }
  bool shares_planes() const { return depth_.window > 1; }
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

  // The tiles of a task, from its number.
  void choose_tiles(IR block) {
    if (!shares_planes()) {
      first_row_ = k_.mul(block, shares_.rows), rows_ = k_.part(g_.images * depth_.out * down(), shares_.rows, first_row_);
      planes_ = k_.i64(1);
    } else {
      auto at = place_of_task(k_, {g_.images, ceil_div(depth_.out, shares_.planes), ceil_div(down(), shares_.rows)}, block);
      image_ = at[0].base;
      first_plane_ = k_.mul(at[1].base, shares_.planes), planes_ = k_.part(depth_.out, shares_.planes, first_plane_);
      first_row_ = k_.mul(at[2].base, shares_.rows), rows_ = k_.part(down(), shares_.rows, first_row_);
    }
    plane_tiles_ = k_.mul(rows_, shares_.tile_columns);
  }

  //===-- Input -----------------------------------------------------------------------------------------------------===//

  // inputs[place][channel][plane][tile]. Vectors are neighbours in a row of tiles; what lies beyond its end is overwritten by the next row. Channel by channel, whose lines stay in L1 meanwhile:
  // most belong to several rows.
  void transform_input(IR group) {
    IR extent = k_.add(planes_, k_.i64(depth_.extent(1) - 1));
    k_.loop(k_.i64(0), k_.i64(g_.in_features), [&](IR channel) {
      IR feature = k_.mul(k_.add(k_.mul(group, g_.in_features), channel), g_.in_feature);
      if (shares_planes())
        return k_.loop(k_.i64(0), extent, [&](IR plane) {
          k_.loop(k_.i64(0), rows_, [&](IR row) {
            transform_row({image_, k_.add(first_plane_, plane), k_.add(first_row_, row)}, feature, channel, k_.add(b_.CreateMul(plane, plane_tiles_), k_.mul(row, shares_.tile_columns)));
          });
        });
      k_.loop(k_.i64(0), rows_, [&](IR row) {
        auto at = place_of_task(k_, {g_.images, depth_.out, down()}, k_.add(first_row_, row));
        transform_row({at[0].base, k_.mul(at[1].base, depth_.step), at[2].base}, feature, channel, k_.mul(row, shares_.tile_columns));
      });
    });
  }
  struct Row {
    IR image, plane, row;  // the padded input's plane, the row of tiles in it
  };
  void transform_row(Row at, IR feature, IR channel, IR to) {
    const int64_t shifts[] = {0, lanes_, 2, lanes_ + 2};
    IR plane = b_.CreateSub(at.plane, k_.i64(depth_.low)), top = b_.CreateSub(k_.mul(at.row, 2), k_.i64(y_.low));
    IR plane_at = k_.add(k_.add(feature, k_.mul(at.image, g_.in_image)), k_.mul(plane, depth_.in_stride)), exists = b_.CreateICmpULT(plane, k_.i64(depth_.in));
    IRs lines;
    for (int64_t i = 0; i < kSide; ++i) {
      IR line = k_.add(top, k_.i64(i)), inside = b_.CreateAnd(exists, b_.CreateICmpULT(line, k_.i64(y_.in)));
      lines.push_back(b_.CreateSelect(inside, b_.CreateGEP(b_.getFloatTy(), input_, k_.add(plane_at, k_.mul(line, y_.in_stride))), scratch(zeros_, k_.i64(0))));
    }
    k_.loop(k_.i64(0), k_.i64(shares_.tile_columns), lanes_, [&](IR column) {
      IR left = b_.CreateSub(k_.mul(column, 2), k_.i64(x_.low));
      IRs masks;
      for (int64_t shift : shifts) masks.push_back(k_.mask(b_.CreateICmpULT(k_.sequence(k_.add(left, k_.i64(shift)), lanes_), k_.splat(k_.i64(x_.in), lanes_)), g_.in_type));
      std::vector<IRs> square;
      for (IR line : lines) {
        IRs wide;
        for (int64_t s = 0; s < 4; ++s) wide.push_back(k_.load_masked(g_.in_type, line, k_.add(left, k_.i64(shifts[s])), masks[s]));
        square.push_back({k_.every_second(wide[0], wide[1], 0), k_.every_second(wide[0], wide[1], 1), k_.every_second(wide[2], wide[3], 0), k_.every_second(wide[2], wide[3], 1)});
      }
      square = both_ways(square, [&](ArrayRef<IR> d) { return IRs{minus(d[0], d[2]), plus(d[1], d[2]), minus(d[2], d[1]), minus(d[1], d[3])}; });
      for (int64_t place = 0; place < kPlaces; ++place) write(square[place / kSide][place % kSide], input_panel(k_.i64(place), channel, k_.add(to, column)));
    });
  }
  IR input_panel(IR place, IR channel, IR tile) {
    return scratch(inputs_, k_.add(k_.mul(place, places_pitch_), k_.add(k_.mul(channel, inputs_pitch_), tile)));
  }

  //===-- Kernels ---------------------------------------------------------------------------------------------------===//

  // kernels[place][plane of the window][channel][feature of the block]. Lanes are features, the last ones first: lanes beyond the block are overwritten by the first ones of the next channel.
  void transform_kernels(IR group, IR first) {
    const int lanes = k_.target.lanes;
    IR window_mask = lanes > kWindow ? k_.mask(b_.CreateICmpULT(k_.sequence(b_.getInt32(0), lanes), k_.splat(b_.getInt32(kWindow), lanes)), g_.kernel_type) : nullptr;
    for (int64_t begin = round_up(feature_block(), lanes) - lanes; begin >= 0; begin -= lanes) {
      IRs rows;
      for (int64_t i = begin; i < std::min(begin + lanes, feature_block()); ++i) rows.push_back(kernel_row(group, k_.add(first, k_.i64(i))));
      k_.loop(k_.i64(0), k_.i64(depth_.window * g_.in_features), [&](IR u) {
        auto [plane, channel] = plane_and_channel(u);
        // A window is a vector, of which eight lanes leave the last place over.
        IRs places;
        IR last = llvm::Constant::getNullValue(k_.vector(b_.getFloatTy(), lanes));
        for (auto [i, row] : llvm::enumerate(rows)) {
          IR at = k_.add(row, k_.add(k_.mul(channel, g_.kernel_in), k_.mul(plane, depth_.window_stride)));
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
          for (int64_t x = 0; x < 3; ++x) square[y].push_back(places[(y_.reversed ? 2 - y : y) * 3 + (x_.reversed ? 2 - x : x)]);
        auto half = llvm::ConstantFP::get(last->getType(), 0.5);
        square = both_ways(square, [&](ArrayRef<IR> g) {
          IR outer = b_.CreateFMul(plus(g[0], g[2]), half), inner = b_.CreateFMul(g[1], half);
          return IRs{g[0], plus(outer, inner), minus(outer, inner), g[2]};
        });
        for (int64_t place = 0; place < kPlaces; ++place) write(square[place / kSide][place % kSide], kernel_panel(k_.i64(place), u, begin));
      });
    }
  }
  // Of a row of the products' operands; the kernel's plane.
  std::pair<IR, IR> plane_and_channel(IR u) {
    if (!shares_planes()) return {k_.i64(0), u};
    IR plane = b_.CreateUDiv(u, k_.i64(g_.in_features)), channel = b_.CreateURem(u, k_.i64(g_.in_features));
    return {depth_.reversed ? b_.CreateSub(k_.i64(depth_.window - 1), plane) : plane, channel};
  }
  // Where the windows of a feature begin; those beyond the last one repeat it.
  IR kernel_row(IR group, IR feature) {
    return k_.add(k_.i64(g_.kernel_first), k_.mul(k_.add(k_.mul(group, g_.features), k_.min(feature, k_.i64(g_.features - 1))), g_.kernel_out));
  }
  IR kernel_panel(IR place, IR u, int64_t feature) { return scratch(kernels_, k_.add(k_.mul(place, kernels_pitch_), k_.add(k_.mul(u, feature_block()), k_.i64(feature)))); }

  //===-- Products, and back ----------------------------------------------------------------------------------------===//

  // By the first one of the narrower panels, from that one on, that holds all tiles that are left.
  void multiply_panel(IR tile, IR left, size_t end) {
    if (end == ends_.size()) return multiply(p_, tile);
    IR fits = b_.CreateICmpSLE(left, k_.i64(k_.any_size ? ends_[end].nr : rest_));
    k_.either(fits, [&] { multiply(ends_[end], tile); }, [&] { multiply_panel(tile, left, end + 1); });
  }
  // A panel of tiles by the features of the block: the products of each place, then quarters[feature][place in the tile of outputs][tile].
  void multiply(Panels& p, IR tile) {
    k_.loop(k_.i64(0), k_.i64(kPlaces), [&](IR place) {
      if (p.vectors == 1 && !k_.any_size && lanes_are_features(p, k_.target.lanes)) return multiply_few(p, place, tile);
      for (int64_t half = 0; half < kTiles; ++half) {
        IRs sums = each_plane(p.zeros(), [&](IR plane, ArrayRef<IR> sums) {
          auto kernels = [&](int64_t i, IR channel) { return kernel_panel(place, k_.add(k_.mul(plane, g_.in_features), channel), half * p.mr + i); };
          return p.multiply(kernels, input_panel(place, k_.i64(0), seen_from(tile, plane)), k_.i64(g_.in_features), IRs(sums), inputs_pitch_);
        });
        IR to = scratch(products_, k_.mul(k_.add(k_.mul(place, kTiles), k_.i64(half)), p.mr * p.nr));
        for (auto [i, sum] : llvm::enumerate(sums)) write(sum, p.vector_at(to, k_.i64(0), int64_t(i)));
      }
    });
    k_.loop(k_.i64(0), k_.i64(feature_block()), [&](IR i) {
      k_.repeat(p.vectors, [&](IR v) {
        IR column = k_.mul(v, p.lanes);
        std::vector<IRs> square(kSide);
        for (int64_t place = 0; place < kPlaces; ++place)
          square[place / kSide].push_back(read(scratch(products_, k_.add(k_.add(k_.mul(i, p.nr), k_.i64(place * feature_block() * p.nr)), column)), p.lanes));
        square = both_ways(square, [&](ArrayRef<IR> m) { return IRs{plus(plus(m[0], m[1]), m[2]), minus(minus(m[1], m[2]), m[3])}; });
        for (int64_t quarter = 0; quarter < 4; ++quarter) write(square[quarter / 2][quarter % 2], quarters(i, quarter, k_.add(tile, column)));
      });
    });
  }
  IRs each_plane(const IRs& sums, const std::function<IRs(IR plane, ArrayRef<IR> sums)>& add) {
    return shares_planes() ? k_.loop(k_.i64(0), k_.i64(depth_.window), 1, sums, add) : add(k_.i64(0), sums);
  }
  // The tile of the input that a plane of the window meets.
  IR seen_from(IR tile, IR plane) { return k_.add(tile, b_.CreateMul(k_.mul(plane, depth_.dilation), plane_tiles_)); }
  // Few tiles: vectors of features by each of them, turned into rows of tiles.
  void multiply_few(Panels& p, IR place, IR tile) {
    const int lanes = k_.target.lanes;
    auto* vector = k_.vector(b_.getFloatTy(), lanes);
    const int64_t columns = std::min<int64_t>(p.is_end ? rest_ : p.nr, lanes);
    // As many sums as don't wait for themselves, of every so many-th channel each.
    const int64_t chains = std::max<int64_t>(8 / columns, 1), whole = g_.in_features / chains * chains;
    auto add = [&](IR plane, IR first, int64_t channels, ArrayRef<IR> sums) {
      IRs next(sums.begin(), sums.end());
      IR panel = input_panel(place, k_.i64(0), seen_from(tile, plane));
      for (int64_t c = 0; c < channels; ++c) {
        IR channel = k_.add(first, k_.i64(c)), features = read(kernel_panel(place, k_.add(k_.mul(plane, g_.in_features), channel), 0), lanes);
        for (int64_t j = 0; j < columns; ++j) {
          IR x = k_.splat(read(p.vector_at(panel, k_.add(k_.mul(channel, inputs_pitch_), k_.i64(j)), 0), 1), lanes);
          next[c * columns + j] = b_.CreateIntrinsic(llvm::Intrinsic::fmuladd, {vector}, {features, x, next[c * columns + j]});
        }
      }
      return next;
    };
    IRs sums = each_plane(IRs(chains * columns, llvm::Constant::getNullValue(vector)), [&](IR plane, ArrayRef<IR> sums) {
      IRs next = k_.loop(k_.i64(0), k_.i64(whole), chains, IRs(sums), [&](IR c, ArrayRef<IR> sums) { return add(plane, c, chains, sums); });
      for (int64_t c = whole; c < g_.in_features; ++c) next = add(plane, k_.i64(c), 1, next);
      return next;
    });
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
    k_.loop(k_.i64(0), b_.CreateMul(planes_, rows_), [&](IR row) {
      for (int64_t below = 0; below < 2; ++below)
        k_.loop(k_.i64(0), k_.i64(shares_.tile_columns), lanes_, [&](IR column) {
          IR tile = k_.add(k_.mul(row, shares_.tile_columns), column);
          IR even = read(quarters(i, 2 * below, tile), lanes_), odd = read(quarters(i, 2 * below + 1, tile), lanes_);
          IR to = k_.add(k_.mul(k_.add(k_.mul(row, 2), k_.i64(below)), width()), k_.mul(column, 2));
          write(b_.CreateShuffleVector(even, odd, low), scratch(results_, to));
          write(b_.CreateShuffleVector(even, odd, high), scratch(results_, k_.add(to, k_.i64(lanes_))));
        });
    });
    if (shares_planes())
      return k_.loop(k_.i64(0), planes_, [&](IR plane) {
        store_rows(image_, k_.add(first_plane_, plane), feature, first_row_, k_.add(first_row_, rows_), k_.mul(b_.CreateMul(plane, rows_), 2 * width()));
      });
    IR end = k_.add(first_row_, rows_), planes = b_.CreateUDiv(k_.add(end, k_.i64(down() - 1)), k_.i64(down()));
    k_.loop(b_.CreateUDiv(first_row_, k_.i64(down())), planes, [&](IR plane) {
      IR top = k_.mul(plane, down()), from = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, first_row_, top), to = k_.min(end, k_.add(top, k_.i64(down())));
      IR image = b_.CreateUDiv(plane, k_.i64(depth_.out));
      store_rows(image, b_.CreateURem(plane, k_.i64(depth_.out)), feature, b_.CreateSub(from, top), b_.CreateSub(to, top), k_.mul(b_.CreateSub(from, first_row_), 2 * width()));
    });
  }
  // Some rows of tiles of a plane, which begin there in the results.
  void store_rows(IR image, IR plane, IR feature, IR from, IR to, IR skipped) {
    auto outputs = [&](IR row) { return k_.mul(k_.min(k_.mul(row, 2), k_.i64(height())), width()); };
    IR first = outputs(from), position = k_.add(k_.mul(plane, height() * width()), first);
    k_.along(b_.CreateSub(outputs(to), first), p_.lanes, [&](IR at, int lanes) {
      store_(image, feature, k_.add(position, at), read(scratch(results_, k_.add(skipped, at)), lanes), lanes);
    });
  }

  KernelContext& c_;
  KernelEmitter& k_;
  llvm::IRBuilder<>& b_;
  const Geometry& g_;
  const Axis depth_, y_, x_;
  IR input_, kernel_;
  const StorePositions& store_;
  MatmulSpec spec_;
  Shares shares_;
  Panels p_;
  std::vector<Panels> ends_;  // of the last tiles,
  int64_t rest_ = 0;          // which are so many
  int lanes_;                  // of vectors along a row of tiles
  int64_t tiles_pitch_ = 0, inputs_pitch_ = 0, places_pitch_ = 0, kernels_pitch_ = 0;
  int64_t inputs_ = 0, kernels_ = 0, products_ = 0, quarters_ = 0, results_ = 0, zeros_ = 0;  // places in scratch
  IR first_row_ = nullptr, rows_ = nullptr, plane_tiles_ = nullptr;  // of the task's tiles: rows of all planes, or of each one;
  IR image_ = nullptr, first_plane_ = nullptr, planes_ = nullptr;    // planes, of the output
};

}  // namespace

bool is_winograd(const Geometry& g, KernelEmitter& k) {
  const size_t rank = g.axes.size();
  if (k.target.lanes < 8 || (rank != 2 && rank != 3) || g.batch_groups != 1 || !g.in_type.isF32() || !g.kernel_type.isF32() || !g.out_type.isF32()) return false;
  for (const Axis& a : {g.rows(), g.columns()})
    if (a.window != 3 || a.step != 1 || a.dilation != 1 || a.base_dilation != 1 || a.out_step != 1) return false;
  const Axis depth = g.planes(), rows = g.rows(), columns = g.columns();
  if (depth.base_dilation != 1 || depth.out_step != 1 || (depth.step != 1 && depth.window != 1)) return false;
  if (columns.window_stride != 1 || rows.window_stride != 3 || !g.is_dense(&Axis::out, &Axis::out_stride) || columns.in_stride != 1) return false;
  MatmulSpec tiles = product_of(g, k.any_size), positions = tiles;
  positions.n = g.images * g.image_size();
  double direct = double(g.groups * g.in_features * depth.window * g.features * Panels(k, positions, 0, true).computed(positions.n)) * 9 / 16 / num_threads();
  return best_shares(g, k, tiles).cycles < 0.9 * direct;
}

void emit_winograd(KernelContext& c, const Geometry& g, IR input, IR kernel, const StorePositions& store) {
  WinogradEmitter(c, g, input, kernel, store).run();
}

}  // namespace cresset::cpu
