// The trace's own operators: leaves, views of a cell's storage and conversions.
#include <numeric>

#include "lowering/decoder.h"

namespace cresset::lowering {
namespace {

// base[offset + Σ i·stride] of a dense base, step by step: dimensions of stride 0 are broadcast, the others taken from a
// slice of the base split so that each stride is one dimension's. Null if strides don't nest.
Value strided_slice(Builder& b, Value flat, llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<int64_t> strides, int64_t offset) {
  Dims order;  // dimensions that move through memory, widest stride first
  for (int64_t d = 0; d < int64_t(sizes.size()); ++d)
    if (sizes[d] != 1 && strides[d] != 0) order.push_back(d);
  llvm::stable_sort(order, [&](int64_t x, int64_t y) { return strides[x] > strides[y]; });
  int64_t total = shape_of(flat)[0];
  Value v = flat;
  // `v` has the taken dimensions in front and the rest of a row at the end, which starts at `rest` within its row.
  Dims taken;
  int64_t row = total, rest = offset;
  for (int64_t d : order) {
    int64_t stride = strides[d], size = sizes[d];
    if (row % stride != 0) {
      // Rows don't fill the base: cut it to whole ones (only at the outermost level).
      if (!taken.empty()) return {};
      int64_t whole = (row + stride - 1) / stride * stride;
      v = b.pad(v, 0, {0}, {whole - row});
      row = whole;
    }
    int64_t first = rest / stride, count = row / stride;
    if (first + size > count) return {};
    rest %= stride;
    Dims shape(taken);
    shape.append({count, stride});
    v = b.slice(b.reshape(v, shape), int64_t(taken.size()), first, first + size);
    taken.push_back(size);
    row = stride;
  }
  Dims shape(taken);
  shape.push_back(row);
  v = b.slice(b.reshape(v, shape), int64_t(taken.size()), rest, rest + 1);
  v = b.reshape(v, taken);
  // Back into the window's order of dimensions, with the repeated ones.
  Dims from;
  for (int64_t d : order) from.push_back(d);
  return b.broadcast(v, sizes, from);
}

Value flat_indices(Builder& b, llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<int64_t> strides, int64_t offset) {
  mlir::Type i64 = b.ops.getI64Type();
  Value sum = b.constant(c10::Scalar(offset), i64, sizes);
  for (int64_t d = 0; d < int64_t(sizes.size()); ++d)
    if (strides[d] != 0 && sizes[d] != 1) sum = b.add(sum, b.mul(b.iota(d, sizes, i64), b.constant(c10::Scalar(strides[d]), i64, sizes)));
  return sum;
}

Value flat(Builder& b, Value v) { return b.reshape(v, {type_of(v).getNumElements()}); }

void lower_leaf(Builder& b, const trace::Node& n) { TORCH_CHECK(false, "cresset: ", n.op().name, " is an input, not an operator"); }

void lower_constant(Builder& b, const trace::Node& n) {
  Decoder d(b, n);
  b.set_results(b.constant(d.scalar().value, b.result_element(), b.result_shape()));
}

void lower_window_read(Builder& b, const trace::Node& n) {
  Decoder d(b, n);
  Value base = flat(b, d.tensor());
  auto sizes = d.integers(), strides = d.integers();
  int64_t offset = d.integer();
  Value v = strided_slice(b, base, sizes, strides, offset);
  b.set_results(v ? v : b.take(base, flat_indices(b, sizes, strides, offset), 0));
}

// The update goes to the base by padding and selecting where the window nests like a slice, by a scatter otherwise.
void lower_window_write(Builder& b, const trace::Node& n) {
  Decoder d(b, n);
  Value base = d.tensor(), update = d.tensor();
  auto sizes = d.integers(), strides = d.integers();
  int64_t offset = d.integer();
  Value target = flat(b, base);
  // A contiguous piece is a dynamic_update_slice.
  int64_t expected = 1;
  bool dense = true;
  for (int64_t k = int64_t(sizes.size()) - 1; k >= 0; --k) {
    if (sizes[k] == 1) continue;
    dense &= strides[k] == expected;
    expected *= sizes[k];
  }
  if (dense) {
    Value start = b.constant(c10::Scalar(offset), b.ops.getI64Type());
    b.set_results(b.reshape(b.create<hlo::DynamicUpdateSliceOp>(target.getType(), target, flat(b, update), mlir::ValueRange{start}), shape_of(base)));
    return;
  }
  b.set_results(b.reshape(b.scatter_rows(target, flat_indices(b, sizes, strides, offset), flat(b, update), false, true), shape_of(base)));
}

void lower_reshape(Builder& b, const trace::Node&) { b.set_results(b.reshape(b.operands[0], b.result_shape())); }
void lower_permute(Builder& b, const trace::Node& n) { b.set_results(b.transpose(b.operands[0], std::get<std::vector<int64_t>>(n.attributes()[0]))); }
void lower_convert(Builder& b, const trace::Node&) { b.set_results(b.rounded(b.operands[0], b.result_element())); }
void lower_expand(Builder& b, const trace::Node&) { b.set_results(b.broadcast(b.operands[0], b.result_shape())); }

void lower_any_outside(Builder& b, const trace::Node& n) {
  Decoder d(b, n);
  Value x = b.convert(d.tensor(), b.ops.getI64Type());
  int64_t low = d.integer(), high = d.integer();
  auto allowed = d.optional_integer();
  auto limit = [&](int64_t v) { return b.constant(c10::Scalar(v), element_of(x), shape_of(x)); };
  Value outside = b.logical_or(b.compare(Direction::LT, x, limit(low)), b.compare(Direction::GE, x, limit(high)));
  if (allowed) outside = b.logical_and(outside, b.compare(Direction::NE, x, limit(*allowed)));
  b.set_results(b.reduce<hlo::OrOp>(outside, wrap_all({}, rank_of(x)), 0));
}

void lower_barrier(Builder& b, const trace::Node&) { b.set_results(b.create<hlo::OptimizationBarrierOp>(mlir::TypeRange{b.operands[0].getType()}, mlir::ValueRange{b.operands[0]})->getResult(0)); }

void lower_bitcast(Builder& b, const trace::Node&) {
  // Flat both ways; bool is a byte, which StableHLO's i1 is not.
  Value v = flat(b, b.operands[0]);
  auto bytes = [&](mlir::Type t) { return t.isInteger(1) ? 1 : int64_t(t.getIntOrFloatBitWidth() / 8); };
  mlir::Type byte = b.ops.getIntegerType(8);
  if (element_of(v).isInteger(1)) v = b.convert(v, byte);
  bool to_bool = b.result_element().isInteger(1);
  mlir::Type to = to_bool ? byte : b.result_element();
  int64_t from_bytes = bytes(element_of(v)), to_bytes = bytes(to), n = b.result_shape()[0];
  auto cast = [&](llvm::ArrayRef<int64_t> shape) { return Value(b.create<hlo::BitcastConvertOp>(mlir::RankedTensorType::get(shape, to), v)); };
  if (from_bytes < to_bytes) v = b.reshape(v, {n, to_bytes / from_bytes}), v = cast({n});
  else if (from_bytes > to_bytes) v = b.reshape(cast({shape_of(v)[0], from_bytes / to_bytes}), {n});
  else if (element_of(v) != to) v = cast({n});
  b.set_results(to_bool ? b.compare(Direction::NE, v, b.like(0, v)) : v);
}

Counter builtin_counter("cresset::builtin");
const char* const no_attributes[] = {nullptr};

}  // namespace
}  // namespace cresset::lowering

namespace cresset::trace::builtin {

using namespace lowering;
#define CRESSET_BUILTIN(name) {"cresset::" #name, "", &builtin_counter, nullptr, &lower_##name, no_attributes}
const Operator input{"cresset::input", "", &builtin_counter, nullptr, &lower_leaf, no_attributes};
const Operator scalar{"cresset::scalar", "", &builtin_counter, nullptr, &lower_leaf, no_attributes};
const Operator constant = CRESSET_BUILTIN(constant);
const Operator window_read = CRESSET_BUILTIN(window_read);
const Operator window_write = CRESSET_BUILTIN(window_write);
const Operator reshape = CRESSET_BUILTIN(reshape);
const Operator permute = CRESSET_BUILTIN(permute);
const Operator convert = CRESSET_BUILTIN(convert);
const Operator bitcast = CRESSET_BUILTIN(bitcast);
const Operator expand = CRESSET_BUILTIN(expand);
const Operator barrier = CRESSET_BUILTIN(barrier);
const Operator any_outside = CRESSET_BUILTIN(any_outside);
#undef CRESSET_BUILTIN

}  // namespace cresset::trace::builtin
