// The trace's own operators: leaves, views of a cell's storage and conversions.
#include <numeric>

#include "lowering/decoder.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"

namespace cresset::lowering {
namespace {

// What a view shows of a storage: elements offset + Σ i·stride of a dense array.
struct Window {
  llvm::ArrayRef<int64_t> sizes, strides;
  int64_t offset;

  // The dimensions that move through memory, those with the widest stride first.
  Dims moving() const {
    Dims order;
    for (int64_t d = 0; d < int64_t(sizes.size()); ++d)
      if (sizes[d] != 1 && strides[d] != 0) order.push_back(d);
    llvm::stable_sort(order, [&](int64_t x, int64_t y) { return strides[x] > strides[y]; });
    return order;
  }
  Dims sizes_of(llvm::ArrayRef<int64_t> dims) const {
    return llvm::map_to_vector<6>(dims, [&](int64_t d) { return sizes[d]; });
  }
};

// A window as a box of an array: of each of its dimensions `sizes` elements, `steps` apart, from `first` on.
struct Box {
  Dims shape, first, sizes, steps;

  bool steps_by_one() const {
    return llvm::all_of(steps, [](int64_t s) { return s == 1; });
  }
  // The same box with a dimension for what is between two steps; itself where some dimension is no whole number of them.
  Box by_single_steps() const {
    if (llvm::any_of(llvm::zip(shape, steps), [](auto d) { return std::get<0>(d) % std::get<1>(d); })) return *this;
    Box box;
    auto add = [&](int64_t n, int64_t from, int64_t count) { box.shape.push_back(n), box.first.push_back(from), box.sizes.push_back(count), box.steps.push_back(1); };
    for (auto [n, from, count, step] : llvm::zip(shape, first, sizes, steps)) {
      add(n / step, from / step, count);
      if (step > 1) add(step, from % step, 1);
    }
    return box;
  }
};

// Of an array of this shape. Nothing if a dimension of the window is none of the array's, or two of them are one.
std::optional<Box> box_in(llvm::ArrayRef<int64_t> shape, const Window& w) {
  Dims strides = mlir::computeStrides(shape);
  Box box{Dims(shape), mlir::delinearize(w.offset, strides), Dims(shape.size(), 1), Dims(shape.size(), 1)};
  for (int64_t d : w.moving()) {
    size_t at = 0;
    while (at < shape.size() && (shape[at] == 1 || strides[at] > w.strides[d])) ++at;
    if (at == shape.size() || w.strides[d] % strides[at] || box.sizes[at] != 1) return std::nullopt;
    box.sizes[at] = w.sizes[d], box.steps[at] = w.strides[d] / strides[at];
  }
  for (size_t d = 0; d < shape.size(); ++d)
    if (box.first[d] + (box.sizes[d] - 1) * box.steps[d] >= shape[d]) return std::nullopt;
  return box;
}

// Of an array of `total` elements in the shape that the window's strides suggest.
std::optional<Box> box_of_strides(int64_t total, const Window& w) {
  Dims shape;
  int64_t row = total;
  for (int64_t d : w.moving()) {
    const int64_t part = std::gcd(row, w.strides[d]);
    shape.push_back(row / part);
    row = part;
  }
  if (row > 1 || shape.empty()) shape.push_back(row);
  return box_in(shape, w);
}

// A window of an array, or of what that is a reshape of: what was written to a storage before may have the window's dimensions. The array may lack elements of the last of the
// widest stride's rows, and dimensions of the window may be runs of memory together.
std::optional<std::pair<Value, Box>> box_of(Value array, const Window& w) {
  Value source = array;
  while (auto reshape = source.getDefiningOp<hlo::ReshapeOp>()) source = reshape.getOperand();
  for (Value v : {array, source})
    if (auto box = box_in(shape_of(v), w)) return std::pair(v, *box);
  Dims sizes, strides;
  for (int64_t d : w.moving()) {
    if (!sizes.empty() && strides.back() == w.sizes[d] * w.strides[d]) sizes.back() *= w.sizes[d], strides.back() = w.strides[d];
    else sizes.push_back(w.sizes[d]), strides.push_back(w.strides[d]);
  }
  const int64_t total = type_of(array).getNumElements(), whole = strides.empty() ? total : llvm::alignTo(total, strides[0]);
  for (int64_t elements : {total, whole})
    for (const Window& each : {w, Window{sizes, strides, w.offset}})
      if (auto box = box_of_strides(elements, each)) return std::pair(array, *box);
  return std::nullopt;
}

// The array in the box's shape, which may have more elements.
Value in_shape_of(Builder& b, Value array, const Box& box) {
  const int64_t missing = mlir::computeProduct(box.shape) - type_of(array).getNumElements();
  if (missing > 0) array = b.pad(b.flat(array), 0, {0}, {missing});
  return b.reshape(array, box.shape);
}

Value read(Builder& b, Value array, const Box& box) {
  Dims limits;
  for (auto [first, size, step] : llvm::zip(box.first, box.sizes, box.steps)) limits.push_back(first + (size - 1) * step + 1);
  Value v = in_shape_of(b, array, box);
  return box.sizes == box.shape ? v : Value(b.create<hlo::SliceOp>(v, box.first, limits, box.steps));
}

// The array's elements in whatever shape, those of the box by a dynamic_update_slice; or padded to the array's shape, and selected there.
Value written(Builder& b, Value array, Value update, const Box& box) {
  Value v = in_shape_of(b, array, box);
  update = b.reshape(update, box.sizes);
  if (box.steps_by_one()) {
    llvm::SmallVector<Value> starts;
    for (int64_t first : box.first) starts.push_back(b.constant(c10::Scalar(first), b.ops.getI64Type()));
    v = box.sizes == box.shape ? update : Value(b.create<hlo::DynamicUpdateSliceOp>(v.getType(), v, update, starts));
  } else {
    Dims behind, between;
    for (auto [d, step] : llvm::enumerate(box.steps)) {
      behind.push_back(box.shape[d] - 1 - box.first[d] - (box.sizes[d] - 1) * step);
      between.push_back(step - 1);
    }
    Value everywhere = b.constant(c10::Scalar(true), b.ops.getI1Type(), box.sizes);
    v = b.select(b.pad(everywhere, 0, box.first, behind, between), b.pad(update, 0, box.first, behind, between), v);
  }
  const int64_t elements = type_of(array).getNumElements();
  return type_of(v).getNumElements() > elements ? b.slice(b.flat(v), 0, 0, elements) : v;
}

Value flat_indices(Builder& b, const Window& w) {
  mlir::Type i64 = b.ops.getI64Type();
  Value sum = b.constant(c10::Scalar(w.offset), i64, w.sizes);
  for (int64_t d : w.moving()) sum = b.add(sum, b.mul(b.iota(d, w.sizes, i64), b.constant(c10::Scalar(w.strides[d]), i64, w.sizes)));
  return sum;
}

void lower_leaf(Builder& b, const trace::Node& n) { TORCH_CHECK(false, "cresset: ", n.op().name, " is an input, not an operator"); }

void lower_constant(Builder& b, const trace::Node& n) {
  Decoder d(b, n);
  b.set_results(b.constant(d.scalar().value, b.result_element(), b.result_shape()));
}

void lower_window_read(Builder& b, const trace::Node& n) {
  Decoder d(b, n);
  Value base = d.tensor();
  auto sizes = d.integers(), strides = d.integers();
  Window w{sizes, strides, d.integer()};
  auto found = box_of(base, w);
  if (!found) return b.set_results(b.take(b.flat(base), flat_indices(b, w), 0));
  Dims order = w.moving();
  Value v = read(b, found->first, found->second);
  const bool as_it_lies = llvm::is_sorted(order) && type_of(v).getNumElements() == mlir::computeProduct(sizes);
  b.set_results(as_it_lies ? b.reshape(v, sizes) : b.broadcast(b.reshape(v, w.sizes_of(order)), sizes, order));
}

void lower_window_write(Builder& b, const trace::Node& n) {
  constexpr int64_t kSparse = 8;  // a scatter writes a diagonal alone, where a select writes the array
  Decoder d(b, n);
  Value base = d.tensor(), update = d.tensor();
  auto sizes = d.integers(), strides = d.integers();
  Window w{sizes, strides, d.integer()};
  auto found = box_of(base, w);
  if (found) found->second = found->second.by_single_steps();
  if (!found || (!found->second.steps_by_one() && kSparse * type_of(update).getNumElements() <= type_of(base).getNumElements()))
    return b.set_results(b.reshape(b.scatter_rows(b.flat(base), flat_indices(b, w), b.flat(update), false, true), shape_of(base)));
  // The other dimensions have one element, or nothing could be written.
  Dims order = w.moving(), in_order(order), permutation;
  llvm::sort(in_order);
  for (int64_t dim : order) permutation.push_back(llvm::find(in_order, dim) - in_order.begin());
  Value v = written(b, found->first, b.transpose(b.reshape(update, w.sizes_of(in_order)), permutation), found->second);
  b.set_results(b.reshape(v, shape_of(base)));
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
  Value v = b.flat(b.operands[0]);
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
