#include "cpu/matmul/panels.h"

#include "cpu/emit/vector_math.h"
#include "llvm/ADT/bit.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsX86.h"

namespace cresset::cpu {

using namespace mlir;

Panels::Panels(KernelEmitter& k, const MatmulSpec& spec, int64_t most_rows, bool ends) : ends(ends), k_(k), b_(k.b), s_(spec) {
  type = k.compute_type(s_.type);
  kind = choose_kind();
  depth = kind == Numbers ? 1 : kind == FoursOfBytes ? 4 : 2;
  unit = kind == Numbers ? type : k.b.getInt32Ty();
  bytes = type->getScalarSizeInBits() / 8;
  lanes = std::max(2, k.target.lanes * 4 / std::max(bytes, 4));
  const bool many = k.target.registers == 32, ones = kind == FoursOfBytes && !k.target.byte_dot();  // which take a register
  most_sums = many ? 24 : ones ? 10 : 12;
  unrolled = many || kind == PairsOfWords || kind == FoursOfBytes ? 1 : 4;  // LLVM would add several products of integers first, for which sums leave their registers
  if (kind == SplitFloats) prepare_to_split();
  if ((grid = choose_grid())) {
    mr = grid->rows * grid->down, nr = packed = TileRegisters::kRows * grid->across, vectors = int(nr / lanes);
    registers.emplace(k, grid->rows, product_of_tiles());
    return;
  }
  // As many accumulators as the registers hold, next to the vectors of B and one broadcast of A; few rows get wider tiles.
  mr = most_rows ? most_rows : many ? 8 : most_sums / 2;
  if (!s_.any_m) mr = std::min(mr, s_.m);
  int most = int(most_sums / std::max<int64_t>(mr, many ? 4 : 3));
  auto width = [&](int v) {
    nr = v * lanes;
    return computed(s_.n);
  };
  vectors = most;
  // Two thirds of 24 sums at least, and all of 12: fewer wait for themselves, and eight by one for their loads.
  for (int v = most - 1; many && !s_.any_n && 3 * v * mr >= 2 * most_sums; --v)
    if (width(v) < width(vectors)) vectors = v;
  if (!s_.any_n) vectors = std::min<int64_t>(vectors, ceil_div(s_.n, lanes));
  nr = packed = vectors * lanes;
}

Panels Panels::narrowed(int64_t columns) const {
  constexpr int kBytes = 32;  // narrower vectors take as long
  Panels result = *this;
  result.is_end = true;
  if (2 * columns <= lanes && lanes * bytes > kBytes) result.lanes = lanes / 2;
  result.vectors = int(ceil_div(columns, result.lanes)), result.nr = result.packed = result.vectors * result.lanes;
  return result;
}
std::optional<Panels> Panels::end() const {
  if (!ends || s_.any_n || s_.n % nr == 0) return std::nullopt;
  return narrowed(s_.n % nr);
}
std::vector<Panels> Panels::parts() const {
  std::vector<Panels> result;
  for (int v = 1; v < vectors; ++v) {
    Panels& part = result.emplace_back(*this);
    part.vectors = v, part.nr = v * lanes;
  }
  return result;
}
void Panels::each(std::optional<Panels>& last, IR columns, const std::function<void(Panels& p, IR n)>& body) {
  if (!last) return k_.loop(k_.i64(0), columns, nr, [&](IR n) { body(*this, n); });
  IR whole = k_.mul(b_.CreateUDiv(columns, k_.i64(nr)), nr);
  k_.loop(k_.i64(0), whole, nr, [&](IR n) { body(*this, n); });
  k_.when(b_.CreateICmpSLT(whole, columns), [&] { body(*last, whole); });
}
int64_t Panels::computed(int64_t n) const {
  int64_t rest = n % nr;
  return n - rest + (rest == 0 ? 0 : ends ? narrowed(rest).nr : nr);
}

Panels::Kind Panels::choose_kind() const {
  if (k_.target.bf16_dot != Target::None && multiplied_as(s_.a_type).isBF16() && multiplied_as(s_.b_type).isBF16() && type->isFloatTy()) return PairsOfBf16;
  if (splits_floats()) return SplitFloats;
  if (type->isIntegerTy(32) && is_byte(s_.a_type) && is_byte(s_.b_type) && !s_.pack_b) return k_.target.byte_dot() || pairs_of_bytes_fit() ? FoursOfBytes : PairsOfWords;
  return Numbers;
}
bool Panels::a_lies_in_units() const {
  if (kind == Numbers) return k_.memory_type(s_.a_type) == unit && multiplied_as(s_.a_type) == s_.a_type && !s_.a_zero;
  return kind == PairsOfBf16 ? s_.a_type.isBF16() : kind == FoursOfBytes && !flips_b();
}
bool Panels::flips_b() const { return kind == FoursOfBytes && !grid && is_unsigned(s_.a_type) == is_unsigned(s_.b_type); }

IR Panels::numbers(Type from, IR base, IR offset, int lanes) {
  IR x = k_.load(from, base, offset, lanes);
  if (Type to = multiplied_as(from); to != from) x = emit_convert(k_, from, to, x), from = to;
  return k_.widened(from, x, type);
}
IR Panels::load_a(IR batch, IR m, IR k, int lanes) {
  IR x = numbers(s_.a_type, s_.a, s_.a_offset(batch, m, k), lanes);
  return s_.a_zero && !makes_up_for_zero() ? b_.CreateSub(x, llvm::ConstantInt::get(x->getType(), s_.a_zero)) : x;
}
IR Panels::load_b(IR batch, IR k, IR n, int lanes) {
  return s_.b_made ? k_.widened(s_.converted, s_.b_made(batch, k, n, lanes), type) : numbers(s_.b_type, s_.b, s_.b_offset(batch, k, n), lanes);
}
void Panels::put(IR value, IR panel, IR index) { b_.CreateAlignedStore(value, b_.CreateInBoundsGEP(unit, panel, index), llvm::Align(4)); }

//===-- Units -----------------------------------------------------------------------------------------------------===//

IR Panels::units(IR count) { return depth == 1 ? count : b_.CreateLShr(b_.CreateAdd(count, k_.i64(depth - 1)), k_.i64(llvm::Log2_64(depth))); }
IR Panels::halves(IR base, IR offset, int lanes) {
  return b_.CreateAlignedLoad(k_.vector(b_.getInt16Ty(), lanes), b_.CreateInBoundsGEP(b_.getInt16Ty(), base, offset), llvm::Align(2));
}
// Elements as units hold them: the bits of bf16, integers of 16 bits or of eight.
IR Panels::parts(Type from, IR base, IR offset, int lanes, int64_t zero) {
  if (kind == PairsOfBf16) {
    if (from.isBF16()) return halves(base, offset, lanes);
    Type to = multiplied_as(from);
    IR x = k_.load(from, base, offset, lanes);
    // vdpbf16ps takes denormals for 0.
    return k_.to_memory(to, from.isF32() ? k_.round(to, x, k_.target.bf16_dot == Target::Native) : emit_convert(k_, from, to, x));
  }
  IR bytes = k_.load(from, base, offset, lanes);
  if (kind == FoursOfBytes) return bytes;
  IR words = k_.widened(from, bytes, b_.getInt16Ty());
  return zero ? b_.CreateSub(words, llvm::ConstantInt::get(words->getType(), zero, true)) : words;
}
IR Panels::parts_of_b(IR batch, IR k, IR n, int count) {
  if (!s_.b_made) return parts(s_.b_type, s_.b, s_.b_offset(batch, k, n), count);
  IRs made;
  for (int i = 0, step = std::min(count, lanes); i < count; i += step) {
    IR at = k_.i64(i);
    made.push_back(k_.to_memory(s_.converted, s_.b_made(batch, s_.b_unit_k ? k_.add(k, at) : k, s_.b_unit_k ? n : k_.add(n, at), step)));
  }
  return k_.concatenate(made);
}
// Those at k and behind it that make a unit; past the `end` of K there are zeros.
IRs Panels::parts_below(IR k, IR end, const std::function<IR(IR k)>& parts_at) {
  IRs result{parts_at(k)};
  for (int d = 1; d < depth; ++d) {
    IR next = b_.CreateAdd(k, k_.i64(d)), inside = b_.CreateICmpSLT(next, end), part = parts_at(b_.CreateSelect(inside, next, k));
    result.push_back(b_.CreateSelect(inside, part, llvm::Constant::getNullValue(part->getType())));
  }
  return result;
}
IR Panels::joined(ArrayRef<IR> parts) {
  auto* wide = parts[0]->getType()->getWithNewType(unit);
  IR result = b_.CreateZExt(parts[0], wide);
  for (auto [i, part] : llvm::drop_begin(llvm::enumerate(parts))) result = b_.CreateOr(result, b_.CreateShl(b_.CreateZExt(part, wide), llvm::ConstantInt::get(wide, i * 32 / depth)));
  return result;
}
// `lanes` units along M whose first elements are at k.
IR Panels::unit_of_a(IR batch, IR m, IR k, IR end, int lanes) {
  if (depth == 1) return load_a(batch, m, k, lanes);
  return joined(parts_below(k, end, [&](IR at) { return parts(s_.a_type, s_.a, s_.a_offset(batch, m, at), lanes, s_.a_zero); }));
}
IR Panels::units_of_b(IR batch, IR k, IR n, IR end, int lanes) {
  if (depth == 1) return load_b(batch, k, n, lanes);
  return joined(parts_below(k, end, [&](IR at) { return parts_of_b(batch, at, n, lanes); }));
}
// A whole row of a panel, a vector after the other.
IRs Panels::row_of_units_of_b(IR batch, IR k, IR n, IR end) {
  if (depth == 2) {
    IRs rows = parts_below(k, end, [&](IR at) { return parts_of_b(batch, at, n, int(nr)); });
    return interleaved(rows[0], rows[1]);
  }
  IRs result;
  for (int v = 0; v < vectors; ++v) result.push_back(units_of_b(batch, k, k_.add(n, k_.i64(v * lanes)), end, lanes));
  return result;
}
IRs Panels::interleaved(IR low, IR high) {
  IRs result;
  for (int v = 0; v < vectors; ++v) {
    SmallVector<int> order;
    for (int i = v * lanes; i < (v + 1) * lanes; ++i) order.append({i, int(nr) + i});
    result.push_back(b_.CreateBitCast(b_.CreateShuffleVector(low, high, order), k_.vector(unit, lanes)));
  }
  return result;
}
// Neighbours along K are units as they lie.
IR Panels::row_of_a(IR batch, IR m, IR k, int units) {
  return depth == 1 ? load_a(batch, m, k, units) : b_.CreateBitCast(parts(s_.a_type, s_.a, s_.a_offset(batch, m, k), units * depth, s_.a_zero), k_.vector(unit, units));
}
IR Panels::column_of_b(IR batch, IR k, IR n, int units) { return depth == 1 ? load_b(batch, k, n, units) : b_.CreateBitCast(parts_of_b(batch, k, n, units * depth), k_.vector(unit, units)); }
IR Panels::flipped(IR units) { return flips_b() ? b_.CreateXor(units, llvm::ConstantInt::get(units->getType(), 0x80808080u)) : units; }
IR Panels::made_up_for_flips(IR panel, IR count) {
  auto* vector = k_.vector(unit, lanes);
  IR none = llvm::Constant::getNullValue(vector);
  IRs sums = k_.loop(k_.i64(0), units(count), 1, {none}, [&](IR u, ArrayRef<IR> sums) -> IRs {
    IR rows = b_.CreateAlignedLoad(vector, b_.CreateInBoundsGEP(unit, panel, k_.mul(u, mr)), llvm::Align(4));
    return {product(rows, flipped(none), sums[0])};
  });
  return b_.CreateNeg(sums[0]);
}
IRs Panels::made_up_for_zero(IR panel, IR count) {
  IR all = units(count);
  const bool is_signed = is_unsigned(s_.b_type) == flips_b();
  IRs sums = k_.loop(k_.i64(0), all, 1, IRs(vectors, llvm::Constant::getNullValue(k_.vector(unit, lanes))), [&](IR u, ArrayRef<IR> sums) {
    IRs next;
    for (int v = 0; v < vectors; ++v) {
      IR column = b_.CreateAlignedLoad(k_.vector(unit, lanes), vector_at(panel, k_.mul(u, nr), v), llvm::Align(4));
      next.push_back(is_signed ? product_of_bytes(ones(), column, sums[v]) : product_of_bytes(column, ones(), sums[v]));
    }
    return next;
  });
  IR flips = b_.CreateTrunc(k_.mul(all, depth * added_by_flip()), b_.getInt32Ty());  // also of the zeros beyond the end of K
  for (IR& sum : sums) sum = b_.CreateMul(b_.CreateSub(sum, k_.splat(flips, lanes)), k_.splat(b_.getInt32(uint32_t(-s_.a_zero)), lanes));
  return sums;
}

IR Panels::product(IR a, IR b, IR sum) {
  auto* vector = sum->getType();
  if (kind == PairsOfWords) return b_.CreateAdd(sum, product_of_words(a, b));
  if (kind == FoursOfBytes) return is_unsigned(s_.a_type) ? product_of_bytes(a, b, sum) : product_of_bytes(b, a, sum);
  if (kind == PairsOfBf16) return k_.product_of_pairs(a, b, sum);
  return type->isFloatingPointTy() ? b_.CreateIntrinsic(llvm::Intrinsic::fmuladd, {vector}, {a, b, sum}) : b_.CreateAdd(b_.CreateMul(a, b), sum);
}
// By registers as the machine has them.
IR Panels::by_registers(ArrayRef<IR> operands, llvm::function_ref<IR(ArrayRef<IR>)> product) {
  int count = lanes_of(operands[0]), most = k_.target.avx512() ? 16 : k_.target.avx2() ? 8 : 4;
  if (count <= most) return product(operands);
  auto half = [&](int from) {
    SmallVector<int> order(count / 2);
    std::iota(order.begin(), order.end(), from);
    return by_registers(llvm::map_to_vector(operands, [&](IR x) { return b_.CreateShuffleVector(x, order); }), product);
  };
  return k_.concatenate({half(0), half(count / 2)});
}
// Each intrinsic for 4, 8 and 16 sums.
IR Panels::call(ArrayRef<unsigned> by_lanes, int lanes, ArrayRef<IR> operands) {
  auto* f = llvm::Intrinsic::getOrInsertDeclaration(&k_.module, by_lanes[lanes == 16 ? 2 : lanes == 8 ? 1 : 0]);
  IRs cast;
  for (auto [x, parameter] : llvm::zip(operands, f->args())) cast.push_back(b_.CreateBitCast(x, parameter.getType()));
  return b_.CreateCall(f, cast);
}
IR Panels::product_of_words(IR a, IR b) {
  return by_registers({a, b}, [&](ArrayRef<IR> x) { return call({llvm::Intrinsic::x86_sse2_pmadd_wd, llvm::Intrinsic::x86_avx2_pmadd_wd, llvm::Intrinsic::x86_avx512_pmaddw_d_512}, lanes_of(x[0]), x); });
}
IR Panels::product_of_bytes(IR unsigned_bytes, IR signed_bytes, IR sum) {
  if (k_.target.byte_dot())
    return call({llvm::Intrinsic::x86_avx512_vpdpbusd_128, llvm::Intrinsic::x86_avx512_vpdpbusd_256, llvm::Intrinsic::x86_avx512_vpdpbusd_512}, lanes_of(sum), {sum, unsigned_bytes, signed_bytes});
  IR products = by_registers({unsigned_bytes, signed_bytes}, [&](ArrayRef<IR> x) {
    int lanes = lanes_of(x[0]);
    IR pairs = call({llvm::Intrinsic::x86_ssse3_pmadd_ub_sw_128, llvm::Intrinsic::x86_avx2_pmadd_ub_sw, llvm::Intrinsic::x86_avx512_pmaddubs_w_512}, lanes, x);
    return product_of_words(b_.CreateBitCast(pairs, x[0]->getType()), k_.splat(b_.getInt32(0x00010001), lanes));
  });
  return b_.CreateAdd(sum, products);
}

//===-- Packing ---------------------------------------------------------------------------------------------------===//

void Panels::pack_a(IR batch, IR m0, IR rows, IR k0, IR count, const std::function<IR(IR m)>& panel) {
  auto one_by_one = [&](IR from, IR to) { k_.loop(from, to, mr, [&](IR m) { pack_a(batch, b_.CreateAdd(m0, m), k0, count, panel(m)); }); };
  if (!s_.a_unit_m || mr == 1 || grid) return one_by_one(k_.i64(0), rows);
  // Several panels at once, as a line of memory goes through more than one; and not the last rows, which may be fewer.
  constexpr int64_t kTogether = 8;
  IR end = b_.CreateAdd(k0, count), together = k_.mul(b_.CreateUDiv(rows, k_.i64(kTogether * mr)), kTogether * mr);
  auto copy = [&](IR from, IR to, int64_t panels) {
    k_.loop(from, to, panels * mr, [&](IR m) {
      IRs targets;
      for (int64_t i = 0; i < panels; ++i) targets.push_back(panel(k_.add(m, k_.i64(i * mr))));
      k_.loop(k_.i64(0), units(count), [&](IR u) {
        for (int64_t i = 0; i < panels; ++i)
          put(unit_of_a(batch, b_.CreateAdd(m0, k_.add(m, k_.i64(i * mr))), b_.CreateAdd(k0, k_.mul(u, depth)), end, int(mr)), targets[i], k_.mul(u, mr));
      });
    });
  };
  IR whole = k_.mul(b_.CreateUDiv(rows, k_.i64(mr)), mr);
  copy(k_.i64(0), together, kTogether);
  copy(together, whole, 1);
  if (!s_.divides_rows(mr)) one_by_one(whole, rows);
}

void Panels::pack_a(IR batch, IR m, IR k0, IR count, IR panel) {
  if (kind == SplitFloats) return split_a(batch, m, k0, count, panel);
  if (grid) return pack_tiles_of_a(batch, m, k0, count, panel);
  SmallVector<IR> rows;
  for (int64_t i = 0; i < mr; ++i) {
    IR row = k_.add(m, k_.i64(i));
    rows.push_back(s_.divides_rows(mr) ? row : k_.min(row, k_.i64(s_.m - 1)));
  }
  IR end = b_.CreateAdd(k0, count), all = units(count);
  auto element_at = [&](IR u) { return b_.CreateAdd(k0, k_.mul(u, depth)); };
  if (s_.a_unit_m && s_.divides_rows(mr) && mr > 1)
    return k_.loop(k_.i64(0), all, [&](IR u) { put(unit_of_a(batch, m, element_at(u), end, int(mr)), panel, k_.mul(u, mr)); });
  // Squares, transposed in registers. What a vector holds beyond the last row is overwritten by the next one.
  int side = mr == 1 ? lanes : int(llvm::bit_ceil(uint64_t(mr)));
  IR squares = s_.a_unit_k ? b_.CreateAnd(b_.CreateUDiv(count, k_.i64(depth)), k_.i64(-side)) : k_.i64(0);
  if (s_.a_unit_k)
    k_.loop(k_.i64(0), squares, side, [&](IR u) {
      IRs v;
      for (IR row : rows) v.push_back(row_of_a(batch, row, element_at(u), side));
      if (mr == 1) return put(v[0], panel, u);
      v.resize(side, llvm::PoisonValue::get(v[0]->getType()));
      k_.transpose(v);
      for (int i = 0; i < side; ++i) put(v[i], panel, k_.mul(k_.add(u, k_.i64(i)), mr));
    });
  k_.loop(squares, all, [&](IR u) {
    for (auto [i, row] : llvm::enumerate(rows)) put(unit_of_a(batch, row, element_at(u), end, 1), panel, k_.add(k_.mul(u, mr), k_.i64(i)));
  });
}

void Panels::one_row_of_b(IR batch, IR n, IR k, IR end, IR columns, IR target) {
  k_.loop(k_.i64(0), columns, [&](IR j) { put(flipped(units_of_b(batch, k, b_.CreateAdd(n, j), end, 1)), target, j); });
}

void Panels::whole_row_of_b(IR batch, IR n, IR k, IR end, IR target) {
  for (auto [v, units] : llvm::enumerate(row_of_units_of_b(batch, k, n, end))) put(flipped(units), target, k_.i64(v * lanes));
}

void Panels::pack_b(IR batch, IR n0, IR columns, IR k0, IR count, const std::function<IR(IR n)>& panel) {
  if (kind == SplitFloats) return k_.loop(k_.i64(0), columns, nr, [&](IR n) { split_b({batch, b_.CreateAdd(n0, n), k0, b_.CreateSub(columns, n), panel(n)}, count); });
  if (grid) k_.loop(k_.i64(0), columns, nr, [&](IR n) { zero_end(panel(n), count); });
  if (s_.b_unit_k)
    return k_.loop(k_.i64(0), columns, nr, [&](IR n) { pack_b_transposed(batch, b_.CreateAdd(n0, n), b_.CreateSub(columns, n), k0, count, panel(n)); });
  // Row after row, each as far as the block goes: neighbours in memory.
  IR whole = k_.mul(b_.CreateUDiv(columns, k_.i64(nr)), nr), end = b_.CreateAdd(k0, count);
  k_.loop(k_.i64(0), units(count), [&](IR u) {
    IR k = b_.CreateAdd(k0, k_.mul(u, depth));
    auto target = [&](IR n) { return b_.CreateInBoundsGEP(unit, panel(n), k_.mul(u, nr)); };
    k_.loop(k_.i64(0), whole, nr, [&](IR n) {
      IR first = b_.CreateAdd(n0, n);
      if (!s_.b_unit_n) return one_row_of_b(batch, first, k, end, k_.i64(nr), target(n));
      whole_row_of_b(batch, first, k, end, target(n));
    });
    if (s_.divides_columns(nr)) return;
    k_.when(b_.CreateICmpSLT(whole, columns), [&] {
      // Each unit is written once: another task may already read a panel that is kept.
      IR left = b_.CreateSub(columns, whole);
      one_row_of_b(batch, b_.CreateAdd(n0, whole), k, end, left, target(whole));
      k_.loop(left, k_.i64(nr), [&](IR n) { put(llvm::Constant::getNullValue(unit), target(whole), n); });
    });
  });
}

// Squares of lanes x lanes, transposed in registers; columns beyond N repeat the last one. The columns of one vector after the other's: where they lie
// a multiple of 4 KiB apart, lines of more of them than a set of the L1 cache has ways (8) would be gone before their second half is read.
void Panels::pack_b_transposed(IR batch, IR n, IR left, IR k0, IR count, IR panel) {
  IR squares = b_.CreateAnd(b_.CreateUDiv(count, k_.i64(depth)), k_.i64(-int64_t(lanes))), end = b_.CreateAdd(k0, count);
  auto element_at = [&](IR u) { return b_.CreateAdd(k0, k_.mul(u, depth)); };
  SmallVector<IR> columns;
  for (int64_t j = 0; j < nr; ++j) {
    IR column = k_.add(n, k_.i64(j));
    columns.push_back(!s_.divides_columns(nr) ? k_.min(column, k_.i64(s_.n - 1)) : column);
  }
  for (int v = 0; v < vectors; ++v)
    k_.loop(k_.i64(0), squares, lanes, [&](IR u) {
      IRs rows;
      for (int i = 0; i < lanes; ++i) rows.push_back(column_of_b(batch, element_at(u), columns[v * lanes + i], lanes));
      k_.transpose(rows);
      for (int i = 0; i < lanes; ++i) put(flipped(rows[i]), panel, k_.add(k_.mul(k_.add(u, k_.i64(i)), nr), k_.i64(v * lanes)));
    });
  IR columns_left = !s_.divides_columns(nr) ? k_.min(k_.i64(nr), left) : k_.i64(nr);
  k_.loop(squares, units(count), [&](IR u) { one_row_of_b(batch, n, element_at(u), end, columns_left, b_.CreateInBoundsGEP(unit, panel, k_.mul(u, nr))); });
}

IRs Panels::dots(ArrayRef<IR> rows, ArrayRef<IR> columns, IR count) {
  auto add = [&](IR k, ArrayRef<IR> sums, int lanes) {
    auto load = [&](IR array) -> IR { return b_.CreateAlignedLoad(k_.vector(type, lanes), b_.CreateInBoundsGEP(type, array, k), llvm::Align(bytes)); };
    IRs y = llvm::map_to_vector(columns, load), next;
    for (IR row : rows) {
      IR x = load(row);
      for (IR column : y) next.push_back(product(x, column, sums[next.size()]));
    }
    return next;
  };
  IR whole = b_.CreateAnd(count, k_.i64(-int64_t(lanes)));
  IRs sums(rows.size() * columns.size(), llvm::Constant::getNullValue(k_.vector(type, lanes)));
  sums = k_.sums_of(k_.loop(k_.i64(0), whole, lanes, sums, [&](IR k, ArrayRef<IR> sums) { return add(k, sums, lanes); }), lanes);
  return k_.loop(whole, count, 1, sums, [&](IR k, ArrayRef<IR> sums) { return add(k, sums, 1); });
}

IRs Panels::multiply(const std::function<IR(int64_t i, IR k)>& a, IR panel, IR count, IRs sums, int64_t pitch) {
  auto add = [&](IR u, IR row, ArrayRef<IR> sums) {
    IRs next, columns;
    for (int v = 0; v < vectors; ++v) columns.push_back(b_.CreateAlignedLoad(k_.vector(unit, lanes), vector_at(panel, row, v), llvm::Align(4)));
    for (int64_t i = 0; i < mr; ++i) {
      IR x = k_.splat(b_.CreateAlignedLoad(unit, a(i, u), llvm::Align(bytes / depth)), lanes);
      for (int v = 0; v < vectors; ++v) next.push_back(product(x, columns[v], sums[next.size()]));
    }
    return next;
  };
  // `rows` of the panel in a turn, so many units apart.
  auto add_rows = [&](IR from, IR to, int64_t rows, int64_t apart, IRs first) {
    return k_.loop(from, to, rows, first, [&](IR u, ArrayRef<IR> sums) {
      IRs next(sums.begin(), sums.end());
      IR row = pitch ? k_.mul(u, pitch) : row_of_panel(u);
      for (int64_t i = 0; i < rows; ++i) next = add(k_.add(u, k_.i64(i)), k_.add(row, k_.i64(i * apart)), next);
      return next;
    });
  };
  if (s_.line.window) return add_rows(k_.i64(0), count, s_.line.window, s_.line.apart, sums);
  const int64_t apart = pitch ? pitch : packed;
  IR all = units(count), done = k_.i64(0);
  if (unrolled > 1) {
    done = b_.CreateAnd(all, k_.i64(-unrolled));
    sums = add_rows(k_.i64(0), done, unrolled, apart, sums);
  }
  return add_rows(done, all, 1, apart, sums);
}

}  // namespace cresset::cpu
