// Products of transformed kernels by transformed tiles as multiply-adds of vectors: tiles are lanes or, where few are left, features.
#include <limits>

#include "cpu/convolution/winograd.h"
#include "llvm/IR/Intrinsics.h"

namespace cresset::cpu {

using namespace mlir;
namespace {

constexpr int64_t kRegisterTiles = 2;  // whose features are transformed together

// Whether vectors of kernels are features by which few tiles can be multiplied.
bool lanes_are_features(const Panels& panels, int lanes) { return kRegisterTiles * panels.mr == lanes; }

// Transforming costs about as much as so many multiply-adds of vectors at each place.
struct Transforming {
  double input, output, kernel, kernel_from_memory;
};
Transforming transforming(int64_t size, int lanes) {
  if (size == 2) return {8, 14, lanes > 8 ? 4. : 8., 10};
  return {7, 10, lanes > 8 ? 3.5 : 7, 2};
}

WinogradShares shares_of(const Geometry& g, int64_t size, const Panels& panels, int lanes) {
  constexpr int64_t kLargestScratch = 4 << 20, kInL2 = 600'000;
  const Axis depth = g.planes();
  const int64_t places = winograd_places(size);
  const Transforming cost = transforming(size, lanes);
  const double kernel = winograd_kernel_cost(g, cost.kernel, cost.kernel_from_memory), k = double(g.in_features * depth.window);
  // Each of few last tiles costs one, and all of them the loads of one more.
  auto computed = [&](int64_t n) {
    int64_t rest = n % panels.nr;
    return rest <= lanes && panels.ends && lanes_are_features(panels, lanes) ? n + (rest > 0) : panels.computed(n);
  };
  return WinogradShares(g, size, kRegisterTiles * panels.mr, [&](const WinogradTask& t) {
    const int64_t n = t.planes * t.tiles, transformed = depth.extent(t.planes) * t.tiles * g.in_features, bytes = places * transformed * 4;
    if (bytes > kLargestScratch && n > ceil_div(g.columns().out, size)) return std::numeric_limits<double>::infinity();
    return (bytes <= kInL2 ? 1 : 1.05) * double(computed(n)) * k * double(t.features) + kernel * double(t.features) + cost.input * double(transformed) + cost.output * double(t.features * n);
  });
}
struct Choice {
  WinogradShares shares;
  bool ends;  // whether the last tiles of a task get a narrower panel
};
// A narrower panel is more code.
Choice best_shares(const Geometry& g, KernelEmitter& k, int64_t size) {
  MatmulSpec spec = winograd_product(g, size, k.any_size);
  Panels panels(k, spec), narrower(k, spec, 0, true);
  WinogradShares whole = shares_of(g, size, panels, k.target.lanes), ends = shares_of(g, size, narrower, k.target.lanes);
  if (k.any_size || ends.cycles < 0.96 * whole.cycles) return {ends, true};
  return {whole, false};
}
Choice best_shares(const Geometry& g, KernelEmitter& k) {
  Choice small = best_shares(g, k, 2);
  if (g.in_type.isF32()) return small;
  Choice large = best_shares(g, k, 4);
  return large.shares.multiply_adds() < small.shares.multiply_adds() ? large : small;
}

class VectorWinograd : public WinogradEmitter {
 public:
  VectorWinograd(const Arguments& a, const Choice& choice, const Panels& panels)
      : WinogradEmitter(a, choice.shares, panels.narrowed(choice.shares.tile_columns).lanes, kRegisterTiles * panels.mr), p_(panels) {
    rest_ = tiles() % p_.nr;
    if (k_.any_size) ends_ = p_.parts();
    else if (rest_ && p_.ends)
      ends_.push_back(p_.narrowed(rest_));
  }

 private:
  // Of a task with all rows: of its outputs, and of the planes of the input besides.
  int64_t tiles() const { return shares_.planes * shares_.rows * shares_.tile_columns; }
  int64_t tiles_of_halo() const { return (depth_.extent(shares_.planes) - shares_.planes) * shares_.rows * shares_.tile_columns; }
  void begin() override {
    const int64_t most = std::max(p_.computed(tiles()), with_last_row(tiles()));
    tiles_pitch_ = pitch(most), inputs_pitch_ = pitch(tiles_of_halo() + most);
    kernels_pitch_ = depth_.window * g_.in_features * features_ + kLine;
    places_pitch_ = g_.in_features * inputs_pitch_ + kLine;
    inputs_ = reserve(places_ * places_pitch_);
    kernels_ = reserve(places_ * kernels_pitch_);
    products_ = reserve(places_ * features_ * p_.nr);
    outputs_ = reserve(features_ * size_ * size_ * tiles_pitch_);
  }

  // inputs[place][channel][plane][tile]
  void take_tiles(IR group) override {
    k_.loop(k_.i64(0), k_.i64(g_.in_features), [&](IR channel) {
      transform_channel(group, channel, [&](IR place, IR tile) { return input_panel(place, channel, tile); });
    });
  }
  IR input_panel(IR place, IR channel, IR tile) {
    return scratch(inputs_, k_.add(k_.mul(place, places_pitch_), k_.add(k_.mul(channel, inputs_pitch_), tile)));
  }

  // kernels[place][plane of the window][channel][feature of the block]. Lanes are features, the last ones first: lanes beyond the block are overwritten by the first ones of the next channel.
  void take_kernels(IR group, IR first, IR) override {
    const int lanes = k_.target.lanes;
    for (int64_t begin = round_up(features_, lanes) - lanes; begin >= 0; begin -= lanes) {
      IRs rows;
      for (int64_t i = begin; i < std::min(begin + lanes, features_); ++i) rows.push_back(kernel_row(group, k_.add(first, k_.i64(i))));
      k_.loop(k_.i64(0), k_.i64(depth_.window * g_.in_features), [&](IR u) {
        IR plane = shares_planes() ? b_.CreateUDiv(u, k_.i64(g_.in_features)) : k_.i64(0), channel = shares_planes() ? b_.CreateURem(u, k_.i64(g_.in_features)) : u;
        IR at = window(channel, plane);
        IRs windows;
        for (IR row : rows) windows.push_back(k_.add(row, at));
        for (auto [place, features] : llvm::enumerate(transformed_kernels(windows))) write(features, kernel_panel(k_.i64(int64_t(place)), u, begin));
      });
    }
  }
  IR kernel_panel(IR place, IR u, int64_t feature) { return scratch(kernels_, k_.add(k_.mul(place, kernels_pitch_), k_.add(k_.mul(u, features_), k_.i64(feature)))); }

  void multiply(IR) override {
    IR tiles = task_tiles();
    k_.loop(k_.i64(0), tiles, p_.nr, [&](IR tile) { multiply_panel(tile, b_.CreateSub(tiles, tile), 0); });
  }
  // By the first one of the narrower panels, from that one on, that holds all tiles that are left.
  void multiply_panel(IR tile, IR left, size_t end) {
    if (end == ends_.size()) return multiply(p_, tile);
    IR fits = b_.CreateICmpSLE(left, k_.i64(k_.any_size ? ends_[end].nr : rest_));
    k_.either(fits, [&] { multiply(ends_[end], tile); }, [&] { multiply_panel(tile, left, end + 1); });
  }
  // A panel of tiles by the features of the block: the products of each place, then outputs[feature][place in the tile of outputs][tile].
  void multiply(Panels& p, IR tile) {
    k_.loop(k_.i64(0), k_.i64(places_), [&](IR place) {
      if (p.vectors == 1 && !k_.any_size && lanes_are_features(p, k_.target.lanes)) return multiply_few(p, place, tile);
      for (int64_t half = 0; half < kRegisterTiles; ++half) {
        IRs sums = each_plane(p.zeros(), [&](IR plane, ArrayRef<IR> sums) {
          auto kernels = [&](int64_t i, IR channel) { return kernel_panel(place, k_.add(k_.mul(plane, g_.in_features), channel), half * p.mr + i); };
          return p.multiply(kernels, input_panel(place, k_.i64(0), seen_from(tile, plane)), k_.i64(g_.in_features), IRs(sums), inputs_pitch_);
        });
        IR to = scratch(products_, k_.mul(k_.add(k_.mul(place, kRegisterTiles), k_.i64(half)), p.mr * p.nr));
        for (auto [i, sum] : llvm::enumerate(sums)) write(sum, p.vector_at(to, k_.i64(0), int64_t(i)));
      }
    });
    k_.loop(k_.i64(0), k_.i64(features_), [&](IR i) {
      k_.repeat(p.vectors, [&](IR v) {
        IR column = k_.mul(v, p.lanes);
        std::vector<IRs> square(side_);
        for (int64_t place = 0; place < places_; ++place)
          square[place / side_].push_back(read(scratch(products_, k_.add(k_.add(k_.mul(i, p.nr), k_.i64(place * features_ * p.nr)), column)), p.lanes));
        square = both_ways(square, &VectorWinograd::output_line);
        for (int64_t place = 0; place < size_ * size_; ++place) write(square[place / size_][place % size_], output(i, place, k_.add(tile, column)));
      });
    });
  }
  IRs each_plane(const IRs& sums, const std::function<IRs(IR plane, ArrayRef<IR> sums)>& add) {
    return shares_planes() ? k_.loop(k_.i64(0), k_.i64(depth_.window), 1, sums, add) : add(k_.i64(0), sums);
  }
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
    for (int64_t i = 0; i < lanes; ++i) write(sums[i], scratch(products_, k_.add(k_.mul(place, features_ * p.nr), k_.i64(i * p.nr))));
  }
  IR output(IR i, int64_t place, IR tile) { return scratch(outputs_, k_.add(k_.mul(i, size_ * size_ * tiles_pitch_), k_.add(k_.i64(place * tiles_pitch_), tile))); }
  IRs outputs(IR i, int64_t row, IR tile) override {
    IRs result;
    for (int64_t x = 0; x < size_; ++x) result.push_back(read(output(i, row * size_ + x, tile), lanes_));
    return result;
  }

  Panels p_;
  std::vector<Panels> ends_;  // of the last tiles,
  int64_t rest_ = 0;          // which are so many
  int64_t tiles_pitch_ = 0, inputs_pitch_ = 0, places_pitch_ = 0, kernels_pitch_ = 0;
  int64_t inputs_ = 0, kernels_ = 0, products_ = 0, outputs_ = 0;  // places in scratch
};

}  // namespace

double winograd_time_by_vectors(const Geometry& g, KernelEmitter& k) { return best_shares(g, k).shares.multiply_adds(); }

void emit_winograd_by_vectors(const WinogradEmitter::Arguments& a) {
  Choice choice = best_shares(a.g, a.c.k);
  MatmulSpec spec = winograd_product(a.g, choice.shares.size, a.c.k.any_size);
  VectorWinograd(a, choice, Panels(a.c.k, spec, 0, choice.ends)).run();
}

}  // namespace cresset::cpu
