// Panels for AMX: tiles of A are rows as they lie, zero where K ends, so that a product is nothing but loads of tiles and their multiplication.
#include "cpu/matmul/panels.h"

#include "llvm/IR/IntrinsicsX86.h"

namespace cresset::cpu {

using namespace mlir;

// As many sums as there are registers: 2 x 2 tiles multiply each operand twice. Few rows or columns are one tile wide. Rows are shared out equally, because
// a multiplication takes a cycle for each row; how many a group has, or another size, is not known.
std::optional<Panels::Grid> Panels::choose_grid() const {
  if (!k_.target.tiles || kind == Numbers || kind == PairsOfWords || !s_.may_use_tiles || s_.k < tile_depth()) return std::nullopt;
  constexpr int64_t kSums = 4, kRows = TileRegisters::kRows;
  const int64_t of_tile = s_.tiles_in_place.rows ? s_.tiles_in_place.rows : kRows;
  const bool any = s_.groups == MatmulSpec::Rows || s_.any_m;
  int64_t rows = s_.groups == MatmulSpec::Rows ? ceil_div(s_.m, s_.batch) : s_.m, down = s_.any_m ? kSums : ceil_div(rows, of_tile), across = s_.any_n ? kSums : ceil_div(s_.n, kRows);
  if (down > 1 && across > 1) down = across = 2;
  else down = std::min(down, kSums), across = std::min(across, kSums);
  if (s_.tiles_in_place.rows) return Grid{of_tile, down, across};
  int64_t panels = ceil_div(rows, down * kRows);
  return Grid{any ? kRows : ceil_div(rows, panels * down), down, across};
}

llvm::Intrinsic::ID Panels::product_of_tiles() const {
  using namespace llvm::Intrinsic;
  if (kind != FoursOfBytes) return x86_tdpbf16ps;
  if (is_unsigned(s_.a_type)) return is_unsigned(s_.b_type) ? x86_tdpbuud : x86_tdpbusd;
  return is_unsigned(s_.b_type) ? x86_tdpbsud : x86_tdpbssd;
}

Panels::Tiles Panels::packed_tiles_of_a(IR panel) const {
  const int64_t tile = grid->rows * TileRegisters::kBytes, part = grid->down * tile;
  return tiles_of(panel, grid->down, tile, TileRegisters::kBytes, part, part * parts_of_element);
}
Panels::Tiles Panels::packed_tiles_of_b(IR panel) const {
  const int64_t part = TileRegisters::kRows * nr * 4;
  return tiles_of(panel, grid->across, TileRegisters::kBytes, nr * 4, part, part * parts_of_element);
}
Panels::Tiles Panels::tiles_of(IR first, int64_t count, int64_t apart, int64_t row, int64_t part, int64_t step) const {
  Tiles result{{}, row, part, [this, step](IR i) { return k_.mul(i, step); }};
  for (int64_t i = 0; i < count; ++i) result.tiles.push_back(b_.CreateInBoundsGEP(b_.getInt8Ty(), first, k_.i64(i * apart)));
  return result;
}
Panels::Tiles Panels::tiles_in_place(IR m, IR k0) const {
  const auto& a = s_.tiles_in_place;
  Tiles result{{}, a.pitch, 0, [this, k0](IR step) { return s_.tiles_in_place.along(b_.CreateAdd(k0, k_.mul(step, tile_depth()))); }};
  for (int64_t i = 0; i < grid->down; ++i) {
    IR first = k_.add(m, k_.i64(i * a.rows));
    result.tiles.push_back(a.first(s_.divides_rows(mr) ? first : k_.min(first, k_.i64(s_.m - a.rows))));
  }
  return result;
}
// Row i of the panel, of one part of one step along K.
IR Panels::place_in_tiles(IR panel, IR step, IR i, int64_t part) {
  return b_.CreateInBoundsGEP(unit, panel, k_.mul(k_.add(k_.mul(k_.add(k_.mul(step, parts_of_element), k_.i64(part)), mr), i), TileRegisters::kRows));
}

Panels Panels::one_tile_across() const {
  Panels result = *this;
  result.grid->across = 1, result.nr = TileRegisters::kRows, result.vectors = int(result.nr / lanes);
  return result;
}

// The parts of A and of B that are multiplied with each other, in an order in which one of them stays in its registers. Of the nine products of three parts of two numbers three are smaller than what
// rounding an f32 leaves out, of the four of two parts one is smaller than what the parts leave out.
static SmallVector<std::pair<int, int>> products_of_parts(int parts) {
  if (parts == 1) return {{0, 0}};
  if (parts == 2) return {{1, 0}, {0, 0}, {0, 1}};
  return {{0, 2}, {0, 1}, {1, 1}, {1, 0}, {2, 0}, {0, 0}};
}

int Panels::products_of_step() const { return int(products_of_parts(parts_of_element).size()); }

void Panels::each_sum(IR sums, int64_t pitch, llvm::function_ref<void(int tile, IR address)> body) {
  for (int64_t i = 0; i < grid->down; ++i)
    for (int64_t j = 0; j < grid->across; ++j)
      body(int(TileRegisters::kSum + i * grid->across + j), b_.CreateInBoundsGEP(b_.getInt8Ty(), sums, k_.i64(i * grid->rows * pitch + j * TileRegisters::kBytes)));
}
void Panels::begin_tiles(IR sums, int64_t pitch, IR add) {
  auto load = [&] { each_sum(sums, pitch, [&](int tile, IR address) { registers->load(tile, address, pitch); }); };
  auto zero = [&] { each_sum(sums, pitch, [&](int tile, IR) { registers->zero(tile); }); };
  k_.either(add, load, zero);
}
void Panels::end_tiles(IR sums, int64_t pitch) {
  each_sum(sums, pitch, [&](int tile, IR address) { registers->store(tile, address, pitch); });
}
void Panels::multiply_step(const Tiles& a, const Tiles& b, IR step, llvm::function_ref<void(int product)> between) {
  using T = TileRegisters;
  auto load = [&](int first, const Tiles& tiles, IR along, int64_t i, int part) {
    registers->load(int(first + i % 2), b_.CreateInBoundsGEP(b_.getInt8Ty(), tiles.tiles[i], k_.add(along, k_.i64(part * tiles.part))), tiles.row);
  };
  IR along_a = a.along(step), along_b = b.along(step);
  auto load_left = [&](int64_t i, int part) { load(T::kLeft, a, along_a, i, part); };
  auto load_right = [&](int64_t j, int part) { load(T::kRight, b, along_b, j, part); };
  const bool left_stays = grid->down <= 2, right_stays = grid->across <= 2;  // in its registers
  int left = -1, right = -1;                                                 // the parts that they hold
  for (auto [product, parts] : llvm::enumerate(products_of_parts(parts_of_element))) {
    auto [of_a, of_b] = parts;
    for (int64_t j = 0; j < grid->across; ++j) {
      if (right != of_b || !right_stays) load_right(j, of_b);
      for (int64_t i = 0; i < grid->down; ++i) {
        if (j == 0 && (left != of_a || !left_stays)) load_left(i, of_a);
        registers->multiply(int(T::kSum + i * grid->across + j), int(T::kLeft + i % 2), int(T::kRight + j % 2));
      }
    }
    left = of_a, right = of_b;
    between(int(product));
  }
}
void Panels::multiply_tiles(const Tiles& a, IR panel, IR count, IR sums, int64_t pitch, IR add) {
  auto b = packed_tiles_of_b(panel);
  begin_tiles(sums, pitch, add);
  k_.loop(k_.i64(0), steps(count), [&](IR step) { multiply_step(a, b, step, [](int) {}); });
  end_tiles(sums, pitch);
}

std::vector<std::function<void()>> Panels::pieces_of_b(const PanelOfB& p, IR step, IR v, IR left) {
  if (kind == SplitFloats) return pieces_of_split_b(p, step, v, left);
  return {[=, this] {
    constexpr int kUnits = TileRegisters::kRows;
    // Emitted here, behind the step's products, so that steps that pack and those that don't share these.
    IR first = k_.mul(step, kUnits), k0 = b_.CreateAdd(p.k0, k_.mul(step, tile_depth()));
    if (packs_rows()) {
      const int64_t share = ceil_div(kUnits, grid->across);
      for (int64_t u = 0; u < share; ++u) {
        IR row = k_.add(k_.mul(v, share), k_.i64(u));
        if (kUnits % share) row = k_.min(row, k_.i64(kUnits - 1));
        whole_row_of_b(p.batch, p.n, k_.add(k0, k_.mul(row, depth)), k_.add(k0, k_.i64(tile_depth())), b_.CreateInBoundsGEP(unit, p.panel, k_.mul(b_.CreateAdd(first, row), nr)));
      }
      return;
    }
    IRs rows;
    for (int64_t u = 0; u < kUnits; ++u) rows.push_back(column_of_b(p.batch, k0, k_.add(p.n, k_.add(k_.mul(v, kUnits), k_.i64(u))), kUnits));
    k_.transpose(rows);
    for (auto [u, row] : llvm::enumerate(rows)) put(row, p.panel, k_.add(k_.mul(k_.add(first, k_.i64(int64_t(u))), nr), k_.mul(v, kUnits)));
  }};
}

void Panels::pack_tiles_of_a(IR batch, IR m, IR k0, IR count, IR panel) {
  constexpr int64_t kUnits = TileRegisters::kRows;
  IR end = b_.CreateAdd(k0, count), whole = whole_steps(count), last = b_.CreateURem(count, k_.i64(tile_depth()));
  auto row_of = [&](IR i) { return row_of_tile(m, i); };
  auto place = [&](IR step, IR i) { return place_in_tiles(panel, step, i); };
  if (s_.pack_a) return s_.pack_a({batch, k0, count, mr, row_of, place});
  auto one_by_one = [&](IR i, IR step) {
    k_.loop(k_.i64(0), k_.i64(kUnits), [&](IR u) {
      IR k = k_.add(k0, k_.add(k_.mul(step, tile_depth()), k_.mul(u, depth))), inside = b_.CreateICmpSLT(k, end);
      IR elements = unit_of_a(batch, row_of(i), b_.CreateSelect(inside, k, k0), end, 1);
      put(b_.CreateSelect(inside, elements, llvm::Constant::getNullValue(unit)), place(step, i), u);
    });
  };
  auto element = [&](IR step, int64_t u) { return k_.add(k0, k_.add(k_.mul(step, tile_depth()), k_.i64(depth * u))); };
  k_.loop(k_.i64(0), k_.i64(mr), s_.a_unit_k ? 1 : grid->rows, [&](IR i) {
    if (s_.a_unit_k)
      return k_.loop(k_.i64(0), whole, [&](IR step) { put(row_of_a(batch, row_of(i), element(step, 0), kUnits), place(step, i), k_.i64(0)); });
    auto rows_one_by_one = [&] { k_.loop(k_.i64(0), k_.i64(grid->rows), [&](IR r) { k_.loop(k_.i64(0), whole, [&](IR step) { one_by_one(k_.add(i, r), step); }); }); };
    if (!s_.a_unit_m) return rows_one_by_one();
    // A square of units, transposed in registers, if as many rows are there.
    IR fits = b_.CreateICmpSLE(b_.CreateAdd(m, k_.add(i, k_.i64(kUnits))), k_.i64(s_.m));
    auto transposed = [&] {
      k_.loop(k_.i64(0), whole, [&](IR step) {
        IRs square;
        for (int64_t u = 0; u < kUnits; ++u) square.push_back(unit_of_a(batch, k_.add(m, i), element(step, u), end, kUnits));
        k_.transpose(square);
        for (int64_t r = 0; r < grid->rows; ++r) put(square[r], place(step, k_.add(i, k_.i64(r))), k_.i64(0));
      });
    };
    k_.either(fits, transposed, rows_one_by_one);
  });
  if (!has_whole_steps()) k_.when(b_.CreateICmpNE(last, k_.i64(0)), [&] { k_.loop(k_.i64(0), k_.i64(mr), [&](IR i) { one_by_one(i, whole); }); });
}

// The rows of a panel of B between the last element and the end of its tile.
void Panels::zero_end(IR panel, IR count) {
  if (!grid || has_whole_steps()) return;
  k_.loop(units(count), k_.mul(steps(count), TileRegisters::kRows), [&](IR u) {
    for (int v = 0; v < vectors; ++v) put(llvm::Constant::getNullValue(k_.vector(unit, lanes)), panel, k_.add(k_.mul(u, nr), k_.i64(v * lanes)));
  });
}

void Panels::pair_up(IR panel, IR count) {
  k_.loop(k_.i64(0), units(count), [&](IR u) {
    IR first = k_.mul(u, 2 * nr), inside = b_.CreateICmpSLT(b_.CreateAdd(k_.mul(u, 2), k_.i64(1)), count);
    IR low = halves(panel, first, int(nr)), high = halves(panel, b_.CreateAdd(first, k_.i64(nr)), int(nr));
    high = b_.CreateSelect(inside, high, llvm::Constant::getNullValue(high->getType()));
    for (auto [v, units] : llvm::enumerate(interleaved(low, high))) put(units, panel, k_.add(k_.mul(u, nr), k_.i64(v * lanes)));
  });
  zero_end(panel, count);
}

}  // namespace cresset::cpu
