#include "cpu/convolution/winograd.h"

#include <cmath>

#include "runtime/thread_pool.h"

namespace cresset::cpu {

using namespace mlir;

WinogradShares::WinogradShares(const Geometry& g, int64_t size, int64_t together, const WinogradCost& cost) : size(size), tile_rows(ceil_div(g.rows().out, size)), tile_columns(ceil_div(g.columns().out, size)) {
  const Axis depth = g.planes();
  if (depth.window == 1) {
    const int64_t all = g.images * depth.out * tile_rows;
    for (int64_t count = 1; count <= all; ++count)
      if (ceil_div(all, ceil_div(all, count)) == count) consider(g, together, cost, 1, ceil_div(all, count), count);
    return;
  }
  for (int64_t chunks = 1; chunks <= depth.out; ++chunks)
    for (int64_t bands = 1; bands <= tile_rows; ++bands) {
      int64_t p = ceil_div(depth.out, chunks), r = ceil_div(tile_rows, bands);
      if (ceil_div(depth.out, p) == chunks && ceil_div(tile_rows, r) == bands) consider(g, together, cost, p, r, g.images * chunks * bands);
    }
}

void WinogradShares::consider(const Geometry& g, int64_t together, const WinogradCost& cost, int64_t p, int64_t r, int64_t count) {
  constexpr int64_t kFewestFeatures = 24, kMostParts = 8;
  for (int64_t parts = 1; parts <= std::min(kMostParts, ceil_div(g.features, kFewestFeatures)); ++parts) {
    int64_t f = round_up(ceil_div(g.features, parts), together);
    double time = double(ceil_div(g.groups * count * ceil_div(g.features, f), num_threads())) * cost({p, r * tile_columns, f});
    if (cycles == 0 || time < cycles) cycles = time, planes = p, rows = r, features = f, blocks = count;
  }
}

double winograd_kernel_cost(const Geometry& g, double transformed, double from_memory) {
  const int64_t bytes = element_bytes(g.kernel_type) * g.groups * g.features * g.in_features * g.window_size();
  return double(g.in_features * g.planes().window) * (bytes >= kBytesBeyondL2 ? transformed + from_memory : transformed);
}

MatmulSpec winograd_product(const Geometry& g, int64_t size, bool any_size) {
  const Axis depth = g.planes();
  MatmulSpec spec;
  spec.m = g.features, spec.n = g.images * depth.out * ceil_div(g.rows().out, size) * ceil_div(g.columns().out, size), spec.k = g.in_features * depth.window;
  spec.a_type = spec.b_type = spec.type = Float32Type::get(g.in_type.getContext());
  spec.any_n = any_size;
  return spec;
}

void WinogradEmitter::run() {
  begin();
  results_ = reserve(size_ * (shares_.planes * shares_.rows * width() + k_.target.lanes));
  zeros_ = reserve(x_.in);
  clear(zeros_, x_.in);
  if (widens()) {
    widened_ = reserve(side_ * widened_pitch());
    clear(widened_, side_ * widened_pitch());
  }
  const int64_t parts = ceil_div(g_.features, shares_.features);
  c_.kernel.tasks = g_.groups * parts * shares_.blocks;
  c_.kernel.cost = 0.25 * double(g_.groups * g_.images * g_.features * g_.in_features * depth_.window) * double(g_.image_size() * places_ / (size_ * size_));
  k_.loop(k_.begin(), k_.end(), [&](IR task) {
    auto at = place_of_task(k_, {g_.groups, shares_.blocks, parts}, task);
    choose_tiles(at[1].base);
    take_tiles(at[0].base);
    IR from = k_.mul(at[2].base, shares_.features), count = k_.part(g_.features, shares_.features, from);
    k_.loop(k_.i64(0), count, features_, [&](IR f) {
      IR feature = k_.add(from, f), here = k_.min(k_.i64(features_), b_.CreateSub(count, f));
      take_kernels(at[0].base, feature, here);
      multiply(here);
      k_.loop(k_.i64(0), here, [&](IR i) { finish(k_.add(k_.mul(at[0].base, g_.features), k_.add(feature, i)), i); });
    });
  });
  end();
}

// From the number of the block.
void WinogradEmitter::choose_tiles(IR block) {
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

// Channel by channel, whose lines stay in L1 meanwhile: most belong to several rows. They are too short for the processor to see what comes next: it is asked for the next channel's.
void WinogradEmitter::transform_channel(IR group, IR channel, const std::function<IR(IR place, IR tile)>& target) {
  IR extent = k_.add(planes_, k_.i64(depth_.extent(1) - 1)), feature = k_.mul(k_.add(k_.mul(group, g_.in_features), channel), g_.in_feature);
  auto row = [&](const Row& at, IR to) { transform_row(at, feature, [&](IR place, IR column) { return target(place, k_.add(to, column)); }); };
  if (shares_planes())
    return k_.loop(k_.i64(0), extent, [&](IR plane) {
      k_.loop(k_.i64(0), rows_, [&](IR r) { row({image_, k_.add(first_plane_, plane), k_.add(first_row_, r)}, k_.add(b_.CreateMul(plane, plane_pitch()), k_.mul(r, shares_.tile_columns))); });
    });
  k_.loop(k_.i64(0), rows_, [&](IR r) {
    auto at = place_of_task(k_, {g_.images, depth_.out, down()}, k_.add(first_row_, r));
    row({at[0].base, k_.mul(at[1].base, depth_.step), at[2].base}, k_.mul(r, shares_.tile_columns));
  });
}
void WinogradEmitter::transform_row(Row at, IR feature, const std::function<IR(IR place, IR column)>& target) {
  auto* type = k_.memory_type(g_.in_type);
  IR plane = b_.CreateSub(at.plane, k_.i64(depth_.low)), top = b_.CreateSub(k_.mul(at.row, size_), k_.i64(y_.low));
  IR plane_at = k_.add(k_.add(feature, k_.mul(at.image, g_.in_image)), k_.mul(plane, depth_.in_stride)), exists = b_.CreateICmpULT(plane, k_.i64(depth_.in));
  IRs lines;
  for (int64_t i = 0; i < side_; ++i) {
    IR line = k_.add(top, k_.i64(i)), inside = b_.CreateAnd(exists, b_.CreateICmpULT(line, k_.i64(y_.in)));
    lines.push_back(b_.CreateSelect(inside, b_.CreateGEP(type, input_, k_.add(plane_at, k_.mul(line, y_.in_stride))), scratch(zeros_, k_.i64(0))));
  }
  IRs read_from = lines;
  if (widens())
    for (auto [i, line] : llvm::enumerate(read_from)) line = widened(line, int64_t(i));
  k_.loop(k_.i64(0), k_.i64(shares_.tile_columns), lanes_, [&](IR column) {
    IR first = k_.mul(column, size_), left = b_.CreateSub(first, k_.i64(x_.low));
    IRs masks = widens() ? IRs() : masks_of_line(left);
    std::vector<IRs> square;
    for (auto [line, from] : llvm::zip(lines, read_from)) {
      for (int64_t at = 0; at < size_ * lanes_; at += 64 / element_bytes(g_.in_type)) k_.prefetch(b_.CreateGEP(type, line, k_.add(left, k_.i64(g_.in_feature + at))));
      square.push_back(inputs_of_line(from, widens() ? first : left, masks));
    }
    square = both_ways(square, &WinogradEmitter::input_line);
    for (int64_t place = 0; place < places_; ++place) write(square[place / side_][place % side_], target(k_.i64(place), column));
  });
}
// A line as f32s from where the first tile begins, between zeros, which are there once for all lines.
IR WinogradEmitter::widened(IR line, int64_t i) {
  const int64_t from = std::max<int64_t>(0, -x_.low), to = std::max<int64_t>(0, x_.low), count = std::min(x_.in - from, widened_pitch() - to);
  IR result = scratch(widened_, k_.i64(i * widened_pitch()));
  k_.along(k_.i64(std::max<int64_t>(count, 0)), k_.target.lanes, [&](IR at, int lanes) {
    write(k_.load(g_.in_type, line, k_.add(at, k_.i64(from)), lanes), b_.CreateInBoundsGEP(b_.getFloatTy(), result, k_.add(at, k_.i64(to))));
  });
  return result;
}
// A row of tiles sees elements from `left` on, and from two further on what overlaps the next tile: each of these is read as vectors that fill a register.
constexpr int64_t kOverlap = 2;
static int elements_of_vector(int lanes, Type type) { return int(lanes * 4 / element_bytes(type)); }
IRs WinogradEmitter::masks_of_line(IR left) {
  const int count = elements_of_vector(lanes_, g_.in_type);
  IRs masks;
  for (int64_t shift : {int64_t(0), kOverlap})
    for (int64_t from = 0; from < size_ * lanes_; from += count) masks.push_back(mask_within_line(k_, k_.add(left, k_.i64(shift + from)), x_.in, count, g_.in_type));
  return masks;
}
IRs WinogradEmitter::inputs_of_line(IR line, IR left, ArrayRef<IR> masks) {
  Type type = widens() ? Float32Type::get(g_.in_type.getContext()) : g_.in_type;
  const int count = elements_of_vector(lanes_, type);
  IRs wide, result;
  for (int64_t shift : {int64_t(0), kOverlap}) {
    IRs vectors;
    for (int64_t from = 0; from < size_ * lanes_; from += count) {
      IR first = k_.add(left, k_.i64(shift + from));
      vectors.push_back(widens() ? k_.load(type, line, first, count) : k_.load_masked_as_stored(type, line, first, masks.consume_front()));
    }
    wide.push_back(k_.concatenate(vectors));
  }
  for (int64_t x = 0; x < side_; ++x) {
    SmallVector<int> order;
    for (int64_t i = 0; i < lanes_; ++i) order.push_back(int(i * size_ + (x < size_ ? x : x - kOverlap)));
    result.push_back(k_.from_memory(type, b_.CreateShuffleVector(wide[x >= size_], order)));
  }
  return result;
}

//===-- Kernels ---------------------------------------------------------------------------------------------------===//

IR WinogradEmitter::kernel_row(IR group, IR feature) {
  return k_.add(k_.i64(g_.kernel_first), k_.mul(k_.add(k_.mul(group, g_.features), k_.min(feature, k_.i64(g_.features - 1))), g_.kernel_out));
}

// What each window has at its nine places, as vectors along the windows.
IRs WinogradEmitter::places_of(ArrayRef<IR> windows) {
  // A window is a vector, of which eight lanes leave the last place over.
  const int lanes = k_.target.lanes;
  auto* vector = k_.vector(b_.getFloatTy(), lanes);
  auto one_by_one = [&](IR offset) {
    IR place = llvm::PoisonValue::get(vector);
    for (auto [i, at] : llvm::enumerate(windows)) place = b_.CreateInsertElement(place, k_.load(g_.kernel_type, kernel_, k_.add(at, offset), 1), i);
    return place;
  };
  IRs places;
  if (x_.window_stride != 1 || y_.window_stride != 3) {
    for (int64_t i = 0; i < kWindow; ++i) places.push_back(one_by_one(k_.i64(i / 3 * y_.window_stride + i % 3 * x_.window_stride)));
    return places;
  }
  IR mask = lanes > kWindow ? k_.mask(b_.CreateICmpULT(k_.sequence(b_.getInt32(0), lanes), k_.splat(b_.getInt32(kWindow), lanes)), g_.kernel_type) : nullptr;
  for (IR at : windows) places.push_back(mask ? k_.load_masked(g_.kernel_type, kernel_, at, mask) : k_.load(g_.kernel_type, kernel_, at, lanes));
  places.resize(lanes, llvm::PoisonValue::get(vector));
  k_.transpose(places);
  if (!mask) places.push_back(one_by_one(k_.i64(kWindow - 1)));
  return places;
}
IRs WinogradEmitter::transformed_kernels(ArrayRef<IR> windows) {
  IRs places = places_of(windows);
  std::vector<IRs> square(3);
  for (int64_t y = 0; y < 3; ++y)
    for (int64_t x = 0; x < 3; ++x) square[y].push_back(places[(y_.reversed ? 2 - y : y) * 3 + (x_.reversed ? 2 - x : x)]);
  IRs result;
  for (const IRs& row : both_ways(square, &WinogradEmitter::kernel_line)) result.append(row);
  return result;
}

//===-- Output ----------------------------------------------------------------------------------------------------===//

// The outputs of a feature: rows in their order, each written over what the one before holds beyond its end. Then the positions of each image.
void WinogradEmitter::finish(IR feature, IR i) {
  k_.loop(k_.i64(0), planes_, [&](IR plane) {
    k_.loop(k_.i64(0), rows_, [&](IR row) {
      IR first = k_.add(b_.CreateMul(plane, plane_pitch()), k_.mul(row, shares_.tile_columns)), to = k_.mul(k_.add(b_.CreateMul(plane, rows_), row), size_);
      for (int64_t y = 0; y < size_; ++y)
        k_.loop(k_.i64(0), k_.i64(shares_.tile_columns), lanes_, [&](IR column) {
          IR at = k_.add(k_.mul(k_.add(to, k_.i64(y)), width()), k_.mul(column, size_));
          for (auto [v, results] : llvm::enumerate(interleaved(outputs(i, y, k_.add(first, column))))) write(results, scratch(results_, k_.add(at, k_.i64(int64_t(v) * lanes_))));
        });
    });
  });
  if (shares_planes())
    return k_.loop(k_.i64(0), planes_, [&](IR plane) {
      store_rows(image_, k_.add(first_plane_, plane), feature, first_row_, k_.add(first_row_, rows_), k_.mul(b_.CreateMul(plane, rows_), size_ * width()));
    });
  IR end = k_.add(first_row_, rows_), planes = b_.CreateUDiv(k_.add(end, k_.i64(down() - 1)), k_.i64(down()));
  k_.loop(b_.CreateUDiv(first_row_, k_.i64(down())), planes, [&](IR plane) {
    IR top = k_.mul(plane, down()), from = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, first_row_, top), to = k_.min(end, k_.add(top, k_.i64(down())));
    IR image = b_.CreateUDiv(plane, k_.i64(depth_.out));
    store_rows(image, b_.CreateURem(plane, k_.i64(depth_.out)), feature, b_.CreateSub(from, top), b_.CreateSub(to, top), k_.mul(b_.CreateSub(from, first_row_), size_ * width()));
  });
}
// Their elements in turn, of two vectors or of four.
IRs WinogradEmitter::interleaved(ArrayRef<IR> v) {
  if (v.size() == 4) {
    IRs even = interleaved({v[0], v[2]}), odd = interleaved({v[1], v[3]}), low = interleaved({even[0], odd[0]}), high = interleaved({even[1], odd[1]});
    return {low[0], low[1], high[0], high[1]};
  }
  IRs result;
  for (int half : {0, lanes_ / 2}) {
    SmallVector<int> order;
    for (int at = 0; at < lanes_; ++at) order.push_back(half + at / 2 + at % 2 * lanes_);
    result.push_back(b_.CreateShuffleVector(v[0], v[1], order));
  }
  return result;
}
// Some rows of tiles of a plane, which begin there in the results.
void WinogradEmitter::store_rows(IR image, IR plane, IR feature, IR from, IR to, IR skipped) {
  auto outputs = [&](IR row) { return k_.mul(k_.min(k_.mul(row, size_), k_.i64(height())), width()); };
  IR first = outputs(from), position = k_.add(k_.mul(plane, height() * width()), first);
  k_.along(b_.CreateSub(outputs(to), first), k_.target.lanes, [&](IR at, int lanes) {
    store_(image, feature, k_.add(position, at), read(scratch(results_, k_.add(skipped, at)), lanes), lanes);
  });
}

//===-- Choosing --------------------------------------------------------------------------------------------------===//

// Of the direct product, in multiply-adds of vectors. Windows are packed in the time of some features, pairs in half of it; by tiles the fewer terms there are, the more of its time that is (measured from 576 to 5760).
double direct_time(const Geometry& g, KernelEmitter& k) {
  constexpr double kPacked = 8;
  const int64_t terms = g.in_features * g.window_size(), positions = g.images * g.image_size();
  const double feature = double(g.groups * g.batch_groups * terms) / num_threads();
  if (k.target.tiles && g.in_type.isF32() && std::min(g.features, terms) >= kLeastSplitConvolution) return feature * double(g.features * positions) * (0.5 + 286 / double(terms));
  MatmulSpec spec = winograd_product(g, 1, k.any_size);
  spec.a_type = g.kernel_type, spec.b_type = g.in_type, spec.type = g.out_type;
  Panels panels(k, spec, 0, true);
  return feature * (double(g.features) + kPacked) / panels.depth * double(panels.computed(positions));
}

// AMX's tiles multiply bf16 in less time than they take here.
bool has_types_for_winograd(const Geometry& g, const Target& target) {
  const bool is_float = g.in_type.isF32() || g.in_type.isF16() || (g.in_type.isBF16() && !target.tiles);
  return is_float && g.kernel_type == g.in_type && (g.out_type.isF32() || g.out_type == g.in_type);
}

bool is_winograd(const Geometry& g, KernelEmitter& k) {
  const size_t rank = g.axes.size();
  if (k.target.lanes < 8 || (rank != 2 && rank != 3) || g.batch_groups != 1 || !has_types_for_winograd(g, k.target)) return false;
  for (const Axis& a : {g.rows(), g.columns()})
    if (a.window != 3 || a.step != 1 || a.dilation != 1 || a.base_dilation != 1 || a.out_step != 1) return false;
  const Axis depth = g.planes();
  if (depth.base_dilation != 1 || depth.out_step != 1 || (depth.step != 1 && depth.window != 1)) return false;
  if (!g.is_dense(&Axis::out, &Axis::out_stride) || g.columns().in_stride != 1) return false;
  return std::min(winograd_time_by_vectors(g, k), winograd_time_by_tiles(g, k)) < 0.9 * direct_time(g, k);
}

void emit_winograd(KernelContext& c, const Geometry& g, IR input, IR kernel, const StorePositions& store) {
  const double tiles = winograd_time_by_tiles(g, c.k);
  // Emulated ones are there to be tested.
  const bool by_tiles = tiles < winograd_time_by_vectors(g, c.k) || (std::isfinite(tiles) && c.k.target.bf16_dot == Target::Emulated);
  (by_tiles ? emit_winograd_by_tiles : emit_winograd_by_vectors)({c, g, input, kernel, store});
}

}  // namespace cresset::cpu
