// Panels of f32s for AMX, which multiplies bf16s: a number of 24 bits is the sum of three of eight, exactly, and six of the nine products of parts are a product of f32s. Sums of these are
// closer than those of multiply-adds, as AMX sums 32 products before it adds them to what there is (1024 terms: by a third). An infinity is not the sum of parts, and of numbers below 2^-110 AMX
// takes the last part for 0, as it does denormal bf16s: who meets infinities, or nothing but tiny numbers, multiplies as f32s.
#include "cpu/matmul/panels.h"
#include "llvm/IR/Intrinsics.h"

namespace cresset::cpu {

using namespace mlir;
namespace {
constexpr int kUnits = 16;           // a step along K has 32 elements, of which two are a unit: u and u + 16
constexpr int64_t kLeastRows = 33;   // of either operand: fewer wait for memory
}

bool Panels::splits_floats() const {
  bool floats = multiplied_as(s_.a_type).isF32() && multiplied_as(s_.b_type).isF32() && type->isFloatTy();
  return floats && k_.target.tiles && s_.may_use_tiles && s_.may_split_floats && std::min(s_.m, s_.n) >= kLeastRows && s_.k >= kTileDepth;
}

void Panels::prepare_to_split() {
  parts_of_element = 3;
  for (Watch* w : {&watch_a_, &watch_b_}) *w = {k_.alloca_in_entry(k_.vector(b_.getFloatTy(), kUnits), 1), k_.alloca_in_entry(k_.vector(b_.getInt32Ty(), kUnits), 1)};
}
void Panels::watch_numbers() {
  for (const Watch& w : {watch_a_, watch_b_}) {
    b_.CreateStore(llvm::Constant::getNullValue(k_.vector(b_.getFloatTy(), kUnits)), w.finite);
    b_.CreateStore(llvm::Constant::getNullValue(k_.vector(b_.getInt32Ty(), kUnits)), w.bits);
  }
}
IR Panels::cannot_split() {
  constexpr uint32_t kLeastExponent = 32u << 23;  // 2^-95; a power of two, so that bits of several numbers reach it only if one does
  IR result = b_.getFalse();
  for (const Watch& w : {watch_a_, watch_b_}) {
    IR x = b_.CreateLoad(k_.vector(b_.getFloatTy(), kUnits), w.finite);
    IR bits = b_.CreateAnd(b_.CreateOrReduce(b_.CreateLoad(k_.vector(b_.getInt32Ty(), kUnits), w.bits)), b_.getInt32(0x7fffffff));
    IR are_tiny = b_.CreateAnd(b_.CreateICmpNE(bits, b_.getInt32(0)), b_.CreateICmpULT(bits, b_.getInt32(kLeastExponent)));
    result = b_.CreateOr(result, b_.CreateOr(b_.CreateOrReduce(b_.CreateFCmpUNO(x, x)), are_tiny));
  }
  return result;
}

// The units of elements and of those 16 further on, for each part. Each takes the upper half of what is left: no part is rounded.
IRs Panels::split(IR low, IR high, const Watch& watch) {
  auto* floats = low->getType();
  auto* words = k_.vector(b_.getInt32Ty(), kUnits);
  IR finite = b_.CreateLoad(floats, watch.finite), bits = b_.CreateLoad(words, watch.bits), zero = llvm::Constant::getNullValue(floats);  // infinity times 0 is not a number
  for (IR x : {low, high}) {
    finite = b_.CreateIntrinsic(llvm::Intrinsic::fmuladd, {floats}, {x, zero, finite});
    bits = b_.CreateOr(bits, b_.CreateBitCast(x, words));
  }
  b_.CreateStore(finite, watch.finite), b_.CreateStore(bits, watch.bits);
  IRs units;
  for (int part = 0; part < parts_of_element; ++part) {
    auto take_upper = [&](IR& x) {
      IR upper = b_.CreateAnd(b_.CreateBitCast(x, words), llvm::ConstantInt::get(words, 0xffff0000u));
      x = b_.CreateFSub(x, b_.CreateBitCast(upper, floats));
      return upper;
    };
    IR lower_half = b_.CreateLShr(take_upper(low), llvm::ConstantInt::get(words, 16));
    units.push_back(b_.CreateOr(lower_half, take_upper(high)));
  }
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
  IR whole = b_.CreateUDiv(count, k_.i64(kTileDepth)), last = b_.CreateURem(count, k_.i64(kTileDepth));
  auto element = [&](IR step, int64_t i) { return k_.add(k0, k_.add(k_.mul(step, kTileDepth), k_.i64(i))); };
  auto put_row = [&](IR step, IR i, IR low, IR high) {
    for (auto [part, units] : llvm::enumerate(split(low, high, watch_a_))) put(units, place_in_tiles(panel, step, i, int64_t(part)), k_.i64(0));
  };
  // Of the elements from a step on there are `count`.
  auto row = [&](IR step, IR i, IR count) {
    IR m_i = row_of_tile(m, i);
    put_row(step, i, some_of_a(batch, m_i, element(step, 0), count), some_of_a(batch, m_i, element(step, kUnits), count ? b_.CreateSub(count, k_.i64(kUnits)) : nullptr));
  };
  auto rows = [&](IR first, int64_t count) {
    k_.loop(k_.i64(0), k_.i64(count), [&](IR r) {
      k_.loop(k_.i64(0), whole, [&](IR step) { row(step, k_.add(first, r), s_.a_unit_k ? nullptr : k_.i64(kTileDepth)); });
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
  k_.when(b_.CreateICmpNE(last, k_.i64(0)), [&] { k_.loop(k_.i64(0), k_.i64(mr), [&](IR i) { row(whole, i, last); }); });
}

// One panel, of which `columns` are there, or more.
void Panels::split_b(IR batch, IR n, IR columns, IR k0, IR count, IR panel) {
  IR whole = b_.CreateUDiv(count, k_.i64(kTileDepth)), last = b_.CreateURem(count, k_.i64(kTileDepth));
  auto element = [&](IR step, int64_t i) { return k_.add(k0, k_.add(k_.mul(step, kTileDepth), k_.i64(i))); };
  auto put_row = [&](IR step, IR u, int64_t v, IR low, IR high) {
    for (auto [part, units] : llvm::enumerate(split(low, high, watch_b_))) {
      IR row = k_.add(k_.mul(k_.add(k_.mul(step, parts_of_element), k_.i64(int64_t(part))), kUnits), u);
      put(units, panel, k_.add(k_.mul(row, nr), k_.i64(v * kUnits)));
    }
  };
  auto along_columns = [&](IR step, IR left) {
    k_.loop(k_.i64(0), k_.i64(kUnits), [&](IR u) {
      for (int64_t v = 0; v < nr / kUnits; ++v) {
        IR there = s_.b_unit_n && s_.divides_columns(nr) ? nullptr : b_.CreateSub(columns, k_.i64(v * kUnits));
        auto row = [&](int64_t half) {
          IR at = k_.add(u, k_.i64(half * kUnits)), k = b_.CreateAdd(element(step, 0), at), column = b_.CreateAdd(n, k_.i64(v * kUnits));
          if (!left) return some_of_b(batch, k, column, there);
          IR exists = b_.CreateICmpSLT(at, left);
          IR x = some_of_b(batch, b_.CreateSelect(exists, k, k0), column, there);
          return b_.CreateSelect(exists, x, llvm::Constant::getNullValue(x->getType()));
        };
        IR low = row(0);
        put_row(step, u, v, low, row(1));
      }
    });
  };
  auto along_k = [&](IR step, IR left) {
    for (int64_t v = 0; v < nr / kUnits; ++v) {
      IRs squares[2];
      for (int64_t half = 0; half < 2; ++half) {
        for (int64_t j = 0; j < kUnits; ++j) {
          IR column = b_.CreateAdd(n, k_.i64(v * kUnits + j));
          if (!s_.divides_columns(nr)) column = k_.min(column, k_.i64(s_.n - 1));
          squares[half].push_back(some_of_b(batch, element(step, half * kUnits), column, left ? b_.CreateSub(left, k_.i64(half * kUnits)) : nullptr));
        }
        k_.transpose(squares[half]);
      }
      for (int64_t u = 0; u < kUnits; ++u) put_row(step, k_.i64(u), v, squares[0][u], squares[1][u]);
    }
  };
  auto pack = [&](IR step, IR left) { s_.b_unit_k ? along_k(step, left) : along_columns(step, left); };
  k_.loop(k_.i64(0), whole, [&](IR step) { pack(step, nullptr); });
  k_.when(b_.CreateICmpNE(last, k_.i64(0)), [&] { pack(whole, last); });
}

}  // namespace cresset::cpu
