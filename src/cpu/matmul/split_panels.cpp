// Panels of f32s for AMX, which multiplies bf16s: a number of 24 bits is the sum of three of eight, exactly, and six of the nine products of parts are a product of f32s. Sums of these are
// closer than those of multiply-adds, as AMX sums 32 products before it adds them to what there is (1024 terms: by a third). An infinity is not the sum of parts, and of numbers below 2^-110 AMX
// takes the last part for 0, as it does denormal bf16s: who meets infinities, or nothing but tiny numbers, multiplies as f32s.
#include <memory>

#include "cpu/matmul/panels.h"
#include "llvm/IR/Intrinsics.h"

namespace cresset::cpu {

using namespace mlir;
namespace {
constexpr int kUnits = 16;           // a step along K has 32 elements, of which two are a unit: u and u + 16
// Of either operand: fewer rows wait for memory, fewer terms are split and written in the time that their products take, or, where an optimizer follows, its arrays are read and written.
constexpr int64_t kLeastRows = 96, kLeastDepth = 128, kLeastDepthOfStreams = 512;
}

bool Panels::splits_floats() const {
  bool floats = multiplied_as(s_.a_type).isF32() && multiplied_as(s_.b_type).isF32() && type->isFloatTy();
  if (!floats || !k_.target.tiles || !s_.may_use_tiles || s_.float_parts == 1) return false;
  return s_.splits_few || (std::min(s_.m, s_.n) >= kLeastRows && s_.k >= (s_.by_rows() ? kLeastDepthOfStreams : kLeastDepth));
}

int parts_of_floats(std::optional<ArrayAttr> precision) {
  using namespace mlir::stablehlo;
  bool high = precision && llvm::all_of(*precision, [](Attribute p) { return cast<PrecisionAttr>(p).getValue() == Precision::HIGH; });
  return high && !precision->empty() ? 2 : 3;
}

void Panels::prepare_to_split() {
  parts_of_element = s_.float_parts;
  for (Watch* w : {&watch_a_, &watch_b_}) *w = {k_.alloca_in_entry(k_.vector(b_.getFloatTy(), kUnits), 1), k_.alloca_in_entry(k_.vector(b_.getInt32Ty(), kUnits), 1)};
}
void Panels::begin_watch(const Watch& w) {
  b_.CreateStore(llvm::Constant::getNullValue(k_.vector(b_.getFloatTy(), kUnits)), w.finite);
  b_.CreateStore(llvm::Constant::getNullValue(k_.vector(b_.getInt32Ty(), kUnits)), w.bits);
}
IR Panels::cannot_split() {
  IR result = b_.getFalse();
  for (const Watch& w : {watch_a_, watch_b_}) {
    IR x = b_.CreateLoad(k_.vector(b_.getFloatTy(), kUnits), w.finite);
    result = b_.CreateOr(result, b_.CreateOr(b_.CreateOrReduce(b_.CreateFCmpUNO(x, x)), are_tiny(w)));
  }
  return result;
}
IR Panels::are_tiny(const Watch& w) {
  constexpr uint32_t kLeastExponent = 32u << 23;  // 2^-95; a power of two, so that bits of several numbers reach it only if one does
  IR bits = b_.CreateAnd(b_.CreateOrReduce(b_.CreateLoad(k_.vector(b_.getInt32Ty(), kUnits), w.bits)), b_.getInt32(0x7fffffff));
  return b_.CreateAnd(b_.CreateICmpNE(bits, b_.getInt32(0)), b_.CreateICmpULT(bits, b_.getInt32(kLeastExponent)));
}

// The units of elements and of those 16 further on, for each part. Each takes the upper half of what is left, of two parts the nearest number that has no lower half: of three none is rounded.
IRs Panels::split(IR low, IR high, const Watch& watch) {
  auto* floats = low->getType();
  auto* words = k_.vector(b_.getInt32Ty(), kUnits);
  IR finite = b_.CreateLoad(floats, watch.finite), bits = b_.CreateLoad(words, watch.bits), zero = llvm::Constant::getNullValue(floats);  // infinity times 0 is not a number
  for (IR x : {low, high}) bits = b_.CreateOr(bits, b_.CreateBitCast(x, words));
  IRs units;
  for (int part = 0; part < parts_of_element; ++part) {
    auto take_upper = [&](IR& x) {
      IR bits = b_.CreateBitCast(x, words);
      auto see = [&](IR number) { finite = b_.CreateIntrinsic(llvm::Intrinsic::fmuladd, {floats}, {number, zero, finite}); };
      if (part == 0) see(x);
      if (parts_of_element == 2) bits = b_.CreateAdd(bits, llvm::ConstantInt::get(words, 0x8000));
      IR upper = b_.CreateAnd(bits, llvm::ConstantInt::get(words, 0xffff0000u)), number = b_.CreateBitCast(upper, floats);
      if (part == 0 && parts_of_element == 2) see(number);  // the largest ones are rounded to infinity
      x = b_.CreateFSub(x, number);
      return upper;
    };
    IR lower_half = b_.CreateLShr(take_upper(low), llvm::ConstantInt::get(words, 16));
    units.push_back(b_.CreateOr(lower_half, take_upper(high)));
  }
  b_.CreateStore(finite, watch.finite), b_.CreateStore(bits, watch.bits);
  return units;
}

// 16 elements, of which there are `count`, or all if that is null; 0 instead of others, which are not touched. `memory` is what they are there if that is all they are.
IR Panels::some_of(Type memory, IR base, IR offset, IR count, llvm::function_ref<IR(IR i, int lanes)> load) {
  if (!count) return load(k_.i64(0), kUnits);
  if (memory.isF32() && base && k_.can_mask(memory)) {
    IR lanes = b_.CreateICmpSLT(k_.sequence(k_.i64(0), kUnits), k_.splat(count, kUnits));
    return k_.load_masked(memory, base, offset, k_.mask(lanes, memory));
  }
  auto* type = k_.vector(b_.getFloatTy(), kUnits);
  IR place = k_.alloca_in_entry(type, 1);
  b_.CreateStore(llvm::Constant::getNullValue(type), place);
  k_.loop(k_.i64(0), k_.min(count, k_.i64(kUnits)), [&](IR i) { b_.CreateStore(load(i, 1), b_.CreateInBoundsGEP(b_.getFloatTy(), place, i)); });
  return b_.CreateLoad(type, place);
}
IR Panels::some_of_a(IR batch, IR m, IR k, IR count) {
  return some_of(s_.a_type, s_.a_unit_k ? s_.a : nullptr, s_.a_offset(batch, m, k), count, [&](IR i, int lanes) { return load_a(batch, m, b_.CreateAdd(k, i), lanes); });
}
// Along N or, where neighbours in K are neighbours in memory, along K.
IR Panels::some_of_b(IR batch, IR k, IR n, IR count) {
  IR base = (s_.b_unit_k || s_.b_unit_n) && !s_.b_made ? s_.b : nullptr;
  return some_of(s_.b_type, base, base ? s_.b_offset(batch, k, n) : nullptr, count,
                 [&](IR i, int lanes) { return load_b(batch, s_.b_unit_k ? b_.CreateAdd(k, i) : k, s_.b_unit_k ? n : b_.CreateAdd(n, i), lanes); });
}

void Panels::split_a(IR batch, IR m, IR k0, IR count, IR panel) {
  IR whole = whole_steps(count), last = b_.CreateURem(count, k_.i64(tile_depth()));
  auto element = [&](IR step, int64_t i) { return k_.add(k0, k_.add(k_.mul(step, tile_depth()), k_.i64(i))); };
  auto put_row = [&](IR step, IR i, IR low, IR high) {
    for (auto [part, units] : llvm::enumerate(split_of_a(low, high))) put(units, place_in_tiles(panel, step, i, int64_t(part)), k_.i64(0));
  };
  // Of the elements from a step on there are `count`.
  auto row = [&](IR step, IR i, IR count) {
    IR m_i = row_of_tile(m, i);
    put_row(step, i, some_of_a(batch, m_i, element(step, 0), count), some_of_a(batch, m_i, element(step, kUnits), count ? b_.CreateSub(count, k_.i64(kUnits)) : nullptr));
  };
  // Some steps of each row, so that what is written lies together as well.
  auto rows = [&](IR first, int64_t count) {
    constexpr int64_t kSteps = 4;
    k_.loop(k_.i64(0), whole, kSteps, [&](IR some) {
      k_.loop(k_.i64(0), k_.i64(count), [&](IR r) {
        k_.loop(some, k_.min(k_.add(some, k_.i64(kSteps)), whole), [&](IR step) { row(step, k_.add(first, r), s_.a_unit_k ? nullptr : k_.i64(tile_depth())); });
      });
    });
  };
  if (!s_.a_unit_m) {
    rows(k_.i64(0), mr);
  } else {
    // Squares, transposed in registers, if as many rows are there.
    k_.loop(k_.i64(0), k_.i64(mr), grid->rows, [&](IR i) {
      auto transposed = [&] {
        k_.loop(k_.i64(0), whole, [&](IR step) {
          IRs squares[2];
          for (int64_t half = 0; half < 2; ++half) {
            for (int64_t u = 0; u < kUnits; ++u) squares[half].push_back(load_a(batch, k_.add(m, i), element(step, half * kUnits + u), kUnits));
            k_.transpose(squares[half]);
          }
          for (int64_t r = 0; r < grid->rows; ++r) put_row(step, k_.add(i, k_.i64(r)), squares[0][r], squares[1][r]);
        });
      };
      k_.either(b_.CreateICmpSLE(b_.CreateAdd(m, k_.add(i, k_.i64(kUnits))), k_.i64(s_.m)), transposed, [&] { rows(i, grid->rows); });
    });
  }
  if (!has_whole_steps()) k_.when(b_.CreateICmpNE(last, k_.i64(0)), [&] { k_.loop(k_.i64(0), k_.i64(mr), [&](IR i) { row(whole, i, last); }); });
}

// The v-th 16 columns of rows u and u + 16 of a step.
void Panels::put_split_row(IR panel, IR step, IR u, IR v, IR low, IR high) {
  for (auto [part, units] : llvm::enumerate(split_of_b(low, high))) {
    IR place = k_.add(k_.mul(k_.add(k_.mul(step, parts_of_element), k_.i64(int64_t(part))), kUnits), u);
    put(units, panel, k_.add(k_.mul(place, nr), k_.mul(v, kUnits)));
  }
}

std::vector<std::function<void()>> Panels::pieces_of_split_b(const PanelOfB& p, IR step, IR v, IR left) {
  auto squares = std::make_shared<std::array<IRs, 2>>();
  IR k0 = b_.CreateAdd(p.k0, k_.mul(step, tile_depth())), n = b_.CreateAdd(p.n, k_.mul(v, kUnits));
  IR there = s_.divides_columns(nr) ? nullptr : b_.CreateSub(p.columns, k_.mul(v, kUnits));
  auto row = [=, this](int half, int u) -> IR {
    IR at = k_.i64(half * kUnits + u), k = k_.add(k0, at);
    if (!left) return some_of_b(p.batch, k, n, there);
    IR exists = b_.CreateICmpSLT(at, left), x = some_of_b(p.batch, b_.CreateSelect(exists, k, p.k0), n, there);
    return b_.CreateSelect(exists, x, llvm::Constant::getNullValue(x->getType()));
  };
  auto transpose = [=, this](int half) {
    for (int64_t j = 0; j < kUnits; ++j) {
      IR column = k_.add(n, k_.i64(j));
      if (there) column = k_.min(column, k_.i64(s_.n - 1));
      (*squares)[half].push_back(some_of_b(p.batch, k_.add(k0, k_.i64(half * kUnits)), column, left ? b_.CreateSub(left, k_.i64(half * kUnits)) : nullptr));
    }
    k_.transpose((*squares)[half]);
  };
  auto put_row = [=, this](int u) {
    IR low = s_.b_unit_k ? (*squares)[0][u] : row(0, u), high = s_.b_unit_k ? (*squares)[1][u] : row(1, u);
    put_split_row(p.panel, step, k_.i64(u), v, low, high);
  };
  std::vector<std::function<void()>> pieces;
  for (int half = 0; half < 2 && s_.b_unit_k; ++half) pieces.push_back([=] { transpose(half); });
  const int rows = s_.b_unit_k ? 4 : 3;  // six products
  for (int u = 0; u < kUnits; u += rows)
    pieces.push_back([=] {
      for (int i = u; i < std::min(u + rows, kUnits); ++i) put_row(i);
    });
  return pieces;
}

void Panels::split_b(const PanelOfB& p, IR count) {
  IR last = b_.CreateURem(count, k_.i64(tile_depth()));
  auto pack = [&](IR step, IR left) {
    k_.loop(k_.i64(0), k_.i64(nr / kUnits), [&](IR v) {
      for (auto& piece : pieces_of_b(p, step, v, left)) piece();
    });
  };
  k_.loop(k_.i64(0), whole_steps(count), [&](IR step) { pack(step, nullptr); });
  if (!has_whole_steps()) k_.when(b_.CreateICmpNE(last, k_.i64(0)), [&] { pack(whole_steps(count), last); });
}

void Panels::split_panel(IR floats, IR panel, IR count) {
  auto* vector = k_.vector(b_.getFloatTy(), kUnits);
  auto rows = [&](IR step, bool is_last) {
    k_.loop(k_.i64(0), k_.i64(kUnits), [&](IR u) {
      for (int64_t v = 0; v < nr / kUnits; ++v) {
        auto row = [&](int64_t half) -> IR {
          IR k = k_.add(k_.mul(step, tile_depth()), k_.add(u, k_.i64(half * kUnits))), exists = b_.CreateICmpSLT(k, count);
          if (is_last) k = b_.CreateSelect(exists, k, k_.i64(0));
          IR x = b_.CreateAlignedLoad(vector, b_.CreateInBoundsGEP(b_.getFloatTy(), floats, k_.add(k_.mul(k, nr), k_.i64(v * kUnits))), llvm::Align(4));
          return is_last ? b_.CreateSelect(exists, x, llvm::Constant::getNullValue(vector)) : x;
        };
        IR low = row(0);
        put_split_row(panel, step, u, k_.i64(v), low, row(1));
      }
    });
  };
  IR whole = whole_steps(count);
  k_.loop(k_.i64(0), whole, [&](IR step) { rows(step, false); });
  if (!has_whole_steps()) k_.when(b_.CreateICmpSLT(k_.mul(whole, tile_depth()), count), [&] { rows(whole, true); });
}

}  // namespace cresset::cpu
