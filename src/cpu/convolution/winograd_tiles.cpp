// Products of transformed kernels by transformed tiles as AMX multiplies them: both are split into bf16s (matmul/split_panels.cpp), kernels are rows of A and tiles, of the transformation, columns of B.
// A place is multiplied for all tiles of a task before the next one is, so that its kernels stay in L1.
#include <limits>

#include "cpu/convolution/winograd.h"

namespace cresset::cpu {

using namespace mlir;
namespace {

constexpr int kLanes = 16;     // floats, or units of tiles, of a vector
constexpr int64_t kSize = 2;   // outputs of a row of a tile

MatmulSpec product_of(const Geometry& g, bool any_size) {
  MatmulSpec spec = winograd_product(g, kSize, any_size);
  spec.float_parts = 3, spec.splits_few = true;
  return spec;
}

constexpr int64_t kInL2 = 900'000;  // bytes of transformed tiles that stay there, beside kernels and products
constexpr int64_t kPanels = 4;      // of kernels, that meet tiles together if these don't

int64_t round_plane(const Geometry& g, int64_t tiles) { return g.planes().window > 1 ? round_up(tiles, kLanes) : tiles; }
// Tiles and channels of the input, and the bytes of all that these become.
int64_t inputs_of(const Geometry& g, const Panels& panels, int64_t planes, int64_t tiles) { return g.planes().extent(planes) * round_plane(g, tiles) * round_up(g.in_features, panels.tile_depth()); }
int64_t bytes_of(int64_t inputs, const Panels& panels) { return 16 * inputs * 2 * panels.parts_of_element; }

// Measured on an Emerald Rapids, relative to vectors there.
WinogradShares shares_of(const Geometry& g, const Panels& panels) {
  constexpr double kProduct = 0.48, kInput = 18, kOutput = 21, kKernel = 12, kFromMemory = 12;
  constexpr double kKernelBeyondL2 = 10, kInputBeyondL2 = 33, kStream = 11;  // besides: of each; the latter each time that tiles meet kernels
  constexpr int64_t kLargestScratch = 16 << 20;
  const Axis depth = g.planes();
  const int64_t channels = round_up(g.in_features, panels.tile_depth());
  return WinogradShares(g, kSize, panels.mr, [&](const WinogradTask& t) {
    const int64_t n = t.planes * round_plane(g, t.tiles), inputs = inputs_of(g, panels, t.planes, t.tiles), bytes = bytes_of(inputs, panels);
    if (bytes > kLargestScratch && t.planes * t.tiles > ceil_div(g.columns().out, 2)) return std::numeric_limits<double>::infinity();
    const bool is_large = bytes > kInL2;
    const double times = is_large ? double(ceil_div(t.features, kPanels * panels.mr)) : 0, kernel = winograd_kernel_cost(g, kKernel + (is_large ? kKernelBeyondL2 : 0), kFromMemory);
    return kProduct * double(round_up(n, TileRegisters::kRows) * channels * depth.window * t.features) + kernel * double(t.features) + (kInput + (is_large ? kInputBeyondL2 : 0) + kStream * times) * double(inputs) +
           kOutput * double(t.features * n);
  });
}

class TileWinograd : public WinogradEmitter {
 public:
  TileWinograd(const Arguments& a, const WinogradShares& shares, const Panels& panels)
      : WinogradEmitter(a, shares, 2 * shares.tile_columns <= kLanes ? kLanes / 2 : kLanes, panels.mr * (bytes_of(inputs_of(a.g, panels, shares.planes, shares.rows * shares.tile_columns), panels) > kInL2 ? kPanels : 1)), p_(panels), steps_(ceil_div(g_.in_features, p_.tile_depth())) {}

 private:
  void begin() override {
    const int64_t overhang = with_last_row(plane()) - plane(), inputs = depth_.extent(shares_.planes) * plane(), sums = shares_.planes * plane();
    tiles_pitch_ = pitch(sums + overhang), pair_pitch_ = pitch(inputs + overhang);
    products_pitch_ = features_ * tiles_pitch_ + kLine;
    inputs_place_ = inputs * steps_ * p_.units_of_step() + kLine;
    kernels_place_ = depth_.window * steps_ * p_.units_of_step() * features_ + kLine;
    inputs_ = reserve(places_ * inputs_place_);
    kernels_ = reserve(places_ * kernels_place_);
    pair_ = reserve(2 * places_ * pair_pitch_);
    products_ = reserve(places_ * products_pitch_);
    // What lies beyond the last tile is split with others of its vector.
    b_.CreateMemSet(in_pair(0, k_.i64(0), k_.i64(0)), b_.getInt8(0), 2 * places_ * pair_pitch_ * 4, llvm::Align(64));
    for (IR& scale : scales_) scale = k_.alloca_in_entry(b_.getFloatTy(), 1);
    p_.registers->configure();
  }
  void end() override { p_.registers->release(); }

  // Numbers of which all are so small that AMX takes parts of them for 0 are split again, as multiples that it doesn't. Both operands' are so if the result is 0. An infinite one, which is not the sum
  // of parts, makes the outputs of its tiles nan, as it does by vectors.
  void scaled(int operand, const std::function<void(IR scale)>& split) {
    const float large = 0x1p100f;
    IR place = scales_[operand], one = llvm::ConstantFP::get(b_.getFloatTy(), 1);
    b_.CreateStore(one, place);
    operand ? p_.watch_b() : p_.watch_a();
    k_.loop(k_.i64(0), k_.i64(2), [&](IR turn) {
      IR is_first = b_.CreateICmpEQ(turn, k_.i64(0)), is_tiny = operand ? p_.b_is_tiny() : p_.a_is_tiny();
      k_.when(b_.CreateOr(is_first, is_tiny), [&] {
        IR scale = b_.CreateSelect(is_first, one, llvm::ConstantFP::get(b_.getFloatTy(), large));
        b_.CreateStore(b_.CreateSelect(is_first, one, llvm::ConstantFP::get(b_.getFloatTy(), 1 / large)), place);
        split(k_.splat(scale, kLanes));
      });
    });
  }
  IR times(IR x, IR y) { return b_.CreateFMul(x, y); }

  // Whole tiles of B, that planes may be seen from other ones.
  int64_t plane() const { return round_up(shares_.rows * shares_.tile_columns, kLanes); }
  IR plane_pitch() override { return k_.i64(plane()); }

  // inputs[place][plane][tile / 16][step][part][unit][tile % 16]: each tile of B is a piece of memory. The two channels of a unit are transformed as f32s, which lie in pair[half][place][plane][tile], and split.
  void take_tiles(IR group) override {
    scaled(1, [&](IR scale) { transform_tiles(group, scale); });
  }
  void transform_tiles(IR group, IR scale) {
    IR count = b_.CreateMul(k_.add(planes_, k_.i64(depth_.extent(1) - 1)), plane_pitch());
    k_.loop(k_.i64(0), k_.i64(steps_), [&](IR step) {
      k_.loop(k_.i64(0), k_.i64(kLanes), [&](IR u) {
        for (int64_t half = 0; half < 2; ++half) {
          IR channel = k_.add(k_.mul(step, p_.tile_depth()), k_.add(u, k_.i64(half * kLanes)));
          auto target = [&](IR place, IR tile) { return in_pair(half, place, tile); };
          if (g_.in_features % p_.tile_depth() == 0) {
            transform_channel(group, channel, target);
            continue;
          }
          auto zero = [&] { b_.CreateMemSet(in_pair(half, k_.i64(0), k_.i64(0)), b_.getInt8(0), places_ * pair_pitch_ * 4, llvm::Align(64)); };
          k_.either(b_.CreateICmpSLT(channel, k_.i64(g_.in_features)), [&] { transform_channel(group, channel, target); }, zero);
        }
        k_.loop(k_.i64(0), k_.i64(places_), [&](IR place) {
          k_.loop(k_.i64(0), count, kLanes, [&](IR tile) {
            IRs units = p_.split_of_b(times(read(in_pair(0, place, tile), kLanes), scale), times(read(in_pair(1, place, tile), kLanes), scale));
            for (auto [part, unit] : llvm::enumerate(units)) write(unit, place_in_inputs(place, tile, step, int64_t(part), u));
          });
        });
      });
    });
  }
  IR in_pair(int64_t half, IR place, IR tile) { return scratch(pair_, k_.add(k_.mul(k_.add(place, k_.i64(half * places_)), pair_pitch_), tile)); }
  // `tile` is the first of 16.
  IR place_in_inputs(IR place, IR tile, IR step, int64_t part, IR u) {
    IR row = k_.add(k_.mul(k_.add(k_.mul(step, p_.parts_of_element), k_.i64(part)), TileRegisters::kRows), u);
    return scratch(inputs_, k_.add(k_.mul(place, inputs_place_), k_.add(k_.mul(tile, steps_ * p_.units_of_step()), k_.mul(row, kLanes))));
  }
  Panels::Tiles input_tiles(const Panels& p, IR place, IR tile) {
    constexpr int64_t kTile = TileRegisters::kRows * TileRegisters::kBytes;
    const int64_t step = kTile * p.parts_of_element;
    return p.tiles_of(place_in_inputs(place, tile, k_.i64(0), 0, k_.i64(0)), p.grid->across, steps_ * step, TileRegisters::kBytes, kTile, step);
  }

  // kernels[place][plane of the window] are panels of A. Lanes are channels; those beyond the last one repeat it, as they meet zeros.
  void take_kernels(IR group, IR first, IR count) override {
    scaled(0, [&](IR scale) { transform_kernels(group, first, count, scale); });
  }
  void transform_kernels(IR group, IR first, IR count, IR scale) {
    k_.loop(k_.i64(0), whole_panels(count), [&](IR i) {
      IR row = kernel_row(group, k_.add(first, i));
      k_.loop(k_.i64(0), k_.i64(depth_.window), [&](IR plane) {
        k_.loop(k_.i64(0), k_.i64(steps_), [&](IR step) {
          IRs halves[2];
          for (int64_t half = 0; half < 2; ++half) {
            IRs windows;
            for (int64_t u = half * kLanes; u < (half + 1) * kLanes; ++u) {
              IR channel = k_.add(k_.mul(step, p_.tile_depth()), k_.i64(u));
              if (g_.in_features % p_.tile_depth()) channel = k_.min(channel, k_.i64(g_.in_features - 1));
              windows.push_back(k_.add(row, window(channel, plane)));
            }
            halves[half] = transformed_kernels(windows);
          }
          for (int64_t place = 0; place < places_; ++place)
            for (auto [part, units] : llvm::enumerate(p_.split_of_a(times(halves[0][place], scale), times(halves[1][place], scale)))) write(units, place_in_kernels(k_.i64(place), plane, step, int64_t(part), i));
        });
      });
    });
  }
  IR place_in_kernels(IR place, IR plane, IR step, int64_t part, IR i) {
    IR panel = b_.CreateUDiv(i, k_.i64(p_.mr)), row_of_panel = b_.CreateURem(i, k_.i64(p_.mr));
    IR steps = k_.add(k_.mul(k_.add(k_.mul(panel, depth_.window), plane), steps_), step);
    IR row = k_.add(k_.mul(k_.add(k_.mul(steps, p_.parts_of_element), k_.i64(part)), p_.mr), row_of_panel);
    return scratch(kernels_, k_.add(k_.mul(place, kernels_place_), k_.mul(row, kLanes)));
  }

  // products[place][feature][tile]
  void multiply(IR count) override {
    IR tiles = task_tiles();
    std::optional<Panels> half;
    if (p_.grid->across == 2) half.emplace(p_.one_tile_across());
    k_.loop(k_.i64(0), k_.i64(places_), [&](IR place) {
      k_.loop(k_.i64(0), tiles, p_.nr, [&](IR tile) {
        auto each_panel = [&](Panels& p) { k_.loop(k_.i64(0), whole_panels(count), p.mr, [&](IR i) { multiply_panels(p, place, i, tile); }); };
        if (!half) return each_panel(p_);
        k_.either(b_.CreateICmpSLE(b_.CreateSub(tiles, tile), k_.i64(half->nr)), [&] { each_panel(*half); }, [&] { each_panel(p_); });
      });
    });
  }
  IR whole_panels(IR count) { return k_.mul(b_.CreateUDiv(b_.CreateAdd(count, k_.i64(p_.mr - 1)), k_.i64(p_.mr)), p_.mr); }
  void multiply_panels(Panels& p, IR place, IR i, IR tile) {
    IR sums = product(place, i, tile);
    p.begin_tiles(sums, 0, b_.getFalse());
    k_.loop(k_.i64(0), k_.i64(depth_.window), [&](IR plane) {
      auto kernels = p.packed_tiles_of_a(place_in_kernels(place, plane, k_.i64(0), 0, i)), inputs = input_tiles(p, place, seen_from(tile, plane));
      k_.loop(k_.i64(0), k_.i64(steps_), [&](IR step) { p.multiply_step(kernels, inputs, step, [](int) {}); });
    });
    p.end_tiles(sums, tiles_pitch_ * 4);
  }
  IR product(IR place, IR i, IR tile) { return scratch(products_, k_.add(k_.mul(place, products_pitch_), k_.add(k_.mul(i, tiles_pitch_), tile))); }

  IRs outputs(IR i, int64_t row, IR tile) override {
    IRs m;  // what is not needed of a column is dropped as dead code
    for (int64_t x = 0; x < side_; ++x) {
      IRs column;
      for (int64_t y = 0; y < side_; ++y) column.push_back(read(product(k_.i64(y * side_ + x), i, tile), lanes_));
      m.push_back(output_line(column)[row]);
    }
    IR back = k_.splat(times(b_.CreateLoad(b_.getFloatTy(), scales_[0]), b_.CreateLoad(b_.getFloatTy(), scales_[1])), lanes_);
    IRs result;
    for (IR output : output_line(m)) result.push_back(times(output, back));
    return result;
  }

  Panels p_;
  IR scales_[2];         // of A and of B, in memory: by what sums are to be multiplied
  const int64_t steps_;  // along the channels of a plane of the window
  int64_t tiles_pitch_ = 0, pair_pitch_ = 0, products_pitch_ = 0, inputs_place_ = 0, kernels_place_ = 0;
  int64_t inputs_ = 0, kernels_ = 0, pair_ = 0, products_ = 0;  // places in scratch
};

}  // namespace

double winograd_time_by_tiles(const Geometry& g, KernelEmitter& k) {
  if (!g.in_type.isF32()) return std::numeric_limits<double>::infinity();
  MatmulSpec spec = product_of(g, k.any_size);
  Panels panels(k, spec);
  return panels.grid && k.target.lanes == kLanes ? shares_of(g, panels).multiply_adds() : std::numeric_limits<double>::infinity();
}

void emit_winograd_by_tiles(const WinogradEmitter::Arguments& a) {
  MatmulSpec spec = product_of(a.g, a.c.k.any_size);
  Panels panels(a.c.k, spec);
  TileWinograd(a, shares_of(a.g, panels), panels).run();
}

}  // namespace cresset::cpu
