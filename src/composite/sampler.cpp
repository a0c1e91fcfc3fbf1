#include "composite/sampler.h"

#include <cmath>

namespace cresset::composite {

using namespace mlir;
using namespace mlir::stablehlo;
namespace {

int64_t product(ArrayRef<int64_t> shape) {
  int64_t n = 1;
  for (int64_t d : shape) n *= d;
  return n;
}

// A well mixed number for (seed, value, element): splitmix64.
uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}
// Between -2 and 2: cheaper than a normal number, and as good here.
double number(uint64_t key) { return double(mix(key) >> 11) * 0x1p-51 - 2; }

double element_of(DenseElementsAttr values, int64_t at) {
  if (values.isSplat()) at = 0;
  Type type = values.getElementType();
  if (isa<FloatType>(type)) return (*(values.value_begin<APFloat>() + at)).convertToDouble();
  if (type.isInteger(1)) return double(*(values.value_begin<bool>() + at));
  if (!isa<IntegerType>(type)) return NAN;
  APInt number = *(values.value_begin<APInt>() + at);
  return type.isUnsignedInteger() ? double(number.getZExtValue()) : double(number.getSExtValue());
}

}  // namespace

Indices unravel(int64_t linear, ArrayRef<int64_t> shape) {
  Indices at(shape.size(), 0);
  for (size_t d = shape.size(); d-- > 0;) at[d] = linear % shape[d], linear /= shape[d];
  return at;
}
int64_t ravel(ArrayRef<int64_t> at, ArrayRef<int64_t> shape) {
  int64_t linear = 0;
  for (size_t d = 0; d < shape.size(); ++d) linear = linear * shape[d] + at[d];
  return linear;
}

bool is_layout(Operation* op) { return isa<BroadcastInDimOp, ReshapeOp, TransposeOp, SliceOp, ReverseOp>(op); }

std::optional<Indices> origin(Operation* op, ArrayRef<int64_t> at) {
  Value from = op->getOperand(0);
  Indices source(shape_of(from).size(), 0);
  if (isa<ReshapeOp>(op)) return unravel(ravel(at, shape_of(op->getResult(0))), shape_of(from));
  if (auto broadcast = dyn_cast<BroadcastInDimOp>(op)) {
    for (auto [k, d] : llvm::enumerate(broadcast.getBroadcastDimensions())) source[k] = shape_of(from)[k] == 1 ? 0 : at[d];
    return source;
  }
  if (auto transpose = dyn_cast<TransposeOp>(op)) {
    for (auto [k, d] : llvm::enumerate(transpose.getPermutation())) source[d] = at[k];
    return source;
  }
  if (auto slice = dyn_cast<SliceOp>(op)) {
    for (size_t d = 0; d < at.size(); ++d) source[d] = slice.getStartIndices()[d] + at[d] * slice.getStrides()[d];
    return source;
  }
  if (auto reverse = dyn_cast<ReverseOp>(op)) {
    source.assign(at.begin(), at.end());
    for (int64_t d : reverse.getDimensions()) source[d] = shape_of(from)[d] - 1 - at[d];
    return source;
  }
  return std::nullopt;
}

Sampler::Field Sampler::random(Value v, double scale) {
  // Its place in the order of first use makes it the value's own.
  leaves_.push_back(v);
  uint64_t key = mix((uint64_t(seed_) << 32) + leaves_.size());
  Type type = type_of(v).getElementType();
  if (isa<FloatType>(type)) return [=](int64_t at) { return scale * number(key + uint64_t(at) * 0x2545f4914f6cdd1d); };
  uint64_t range = type.isInteger(1) ? 2 : 5;
  return [=](int64_t at) { return double(mix(key + uint64_t(at)) % range); };
}

double Sampler::get(Value v, int64_t linear) {
  if (auto field = fields_.find(v); field != fields_.end()) {
    depends_ |= v == varying_;
    return field->second(linear);
  }
  auto& row = known_[v];
  if (auto it = row.find(linear); it != row.end()) return it->second;
  if (varying_) {
    auto& other = dependent_[v];
    if (auto it = other.find(linear); it != other.end()) {
      depends_ = true;
      return it->second;
    }
  }
  if (++spent_ > kBudget) return NAN;
  bool before = std::exchange(depends_, false);
  double result = compute(v, linear);
  (depends_ ? dependent_ : known_)[v][linear] = result;
  depends_ |= before;
  return result;
}

const ElementFunction& Sampler::function_of(Operation* op) {
  auto [it, is_new] = functions_.try_emplace(op);
  if (is_new) it->second = is_elementwise(op) ? element_function(op) : nullptr;
  return it->second;
}

double Sampler::leaf(Value v, int64_t linear) {
  auto field = random(v);
  fields_[v] = field;
  return field(linear);
}

double Sampler::compute(Value v, int64_t linear) {
  Operation* op = v.getDefiningOp();
  if (!op || !isa<RankedTensorType>(v.getType())) return leaf(v, linear);
  if (auto constant = dyn_cast<ConstantOp>(op)) {
    auto values = dyn_cast<DenseElementsAttr>(constant.getValue());
    return values ? element_of(values, linear) : NAN;
  }
  Indices at = unravel(linear, shape_of(v));
  if (is_layout(op)) {
    auto source = origin(op, at);
    return source ? get(op->getOperand(0), *source) : NAN;
  }
  if (auto iota = dyn_cast<IotaOp>(op)) return double(at[iota.getIotaDimension()]);
  if (auto op_ = dyn_cast<DotGeneralOp>(op)) return skips_products_ ? leaf(v, linear) : dot(op_, at);
  if (auto op_ = dyn_cast<ReduceOp>(op)) return reduce(op_, cast<OpResult>(v).getResultNumber(), at);
  if (auto op_ = dyn_cast<GatherOp>(op)) return gather(op_, at);
  if (auto op_ = dyn_cast<ScatterOp>(op)) return scatter(op_, at);
  if (auto concatenate = dyn_cast<ConcatenateOp>(op)) {
    int64_t d = concatenate.getDimension();
    for (Value part : concatenate.getInputs()) {
      if (at[d] < shape_of(part)[d]) return get(part, at);
      at[d] -= shape_of(part)[d];
    }
  }
  if (auto pad = dyn_cast<PadOp>(op)) {
    Indices source(at.size());
    for (size_t d = 0; d < at.size(); ++d) {
      int64_t step = pad.getInteriorPadding()[d] + 1, from = at[d] - pad.getEdgePaddingLow()[d];
      if (from < 0 || from % step || from / step >= shape_of(pad.getOperand())[d]) return get(pad.getPaddingValue(), 0);
      source[d] = from / step;
    }
    return get(pad.getOperand(), source);
  }
  if (auto composite = dyn_cast<CompositeOp>(op); composite && (composite.getName() == "aten.softmax" || composite.getName() == "aten.log_softmax")) return softmax(composite, at);
  const ElementFunction& function = function_of(op);
  if (!function) return leaf(v, linear);
  SmallVector<double, 3> operands;
  for (Value operand : op->getOperands()) {
    // Rank 0 spreads, as the bounds of clamp do.
    operands.push_back(get(operand, shape_of(operand).empty() ? 0 : linear));
    // What a mask takes away need not be computed.
    if (isa<SelectOp>(op) && operands.size() == 1) return get(op->getOperand(operands[0] != 0 ? 1 : 2), linear);
  }
  return function(operands);
}

double Sampler::dot(DotGeneralOp op, ArrayRef<int64_t> at) {
  auto n = op.getDotDimensionNumbers();
  Value lhs = op.getLhs(), rhs = op.getRhs();
  Indices l(shape_of(lhs).size(), 0), r(shape_of(rhs).size(), 0);
  size_t k = 0;
  for (auto [a, b] : llvm::zip(n.getLhsBatchingDimensions(), n.getRhsBatchingDimensions())) l[a] = r[b] = at[k++];
  for (size_t d = 0; d < l.size(); ++d)
    if (!llvm::is_contained(n.getLhsBatchingDimensions(), d) && !llvm::is_contained(n.getLhsContractingDimensions(), d)) l[d] = at[k++];
  for (size_t d = 0; d < r.size(); ++d)
    if (!llvm::is_contained(n.getRhsBatchingDimensions(), d) && !llvm::is_contained(n.getRhsContractingDimensions(), d)) r[d] = at[k++];
  SmallVector<int64_t> sizes;
  for (int64_t d : n.getLhsContractingDimensions()) sizes.push_back(shape_of(lhs)[d]);
  double sum = 0;
  for (int64_t i = 0, count = product(sizes); i < count && !exhausted(); ++i) {
    Indices c = unravel(i, sizes);
    for (size_t m = 0; m < c.size(); ++m) l[n.getLhsContractingDimensions()[m]] = r[n.getRhsContractingDimensions()[m]] = c[m];
    double a = get(lhs, l);
    if (a != 0) sum += a * get(rhs, r);
  }
  return sum;
}

double Sampler::reduce(ReduceOp op, unsigned result, ArrayRef<int64_t> at) {
  Operation* reducer = combiner(op.getBody());
  if (op.getNumOperands() != 2 || !reducer) return leaf(op->getResult(result), ravel(at, shape_of(op->getResult(result))));
  Value from = op->getOperand(0);
  Indices source(shape_of(from).size(), 0);
  SmallVector<int64_t> dims(op.getDimensions()), sizes;
  for (int64_t d : dims) sizes.push_back(shape_of(from)[d]);
  for (size_t d = 0, k = 0; d < source.size(); ++d)
    if (!llvm::is_contained(dims, int64_t(d))) source[d] = at[k++];
  double value = get(op->getOperand(1), 0);
  const ElementFunction& combine = function_of(reducer);
  if (!combine) return NAN;
  for (int64_t i = 0, count = product(sizes); i < count && !exhausted(); ++i) {
    Indices c = unravel(i, sizes);
    for (size_t m = 0; m < c.size(); ++m) source[dims[m]] = c[m];
    value = combine({value, get(from, source)});
  }
  return value;
}

double Sampler::gather(GatherOp op, ArrayRef<int64_t> at) {
  auto n = op.getDimensionNumbers();
  Value operand = op.getOperand(), indices = op.getStartIndices();
  int64_t rank = int64_t(shape_of(operand).size());
  // Where in the indices: the dimensions of the result that are not offsets, with the vector's in between.
  Indices place;
  for (size_t d = 0; d < at.size(); ++d)
    if (!llvm::is_contained(n.getOffsetDims(), int64_t(d))) place.push_back(at[d]);
  bool vector = n.getIndexVectorDim() < int64_t(shape_of(indices).size());
  if (vector) place.insert(place.begin() + n.getIndexVectorDim(), 0);
  Indices source(rank, 0);
  for (auto [k, d] : llvm::enumerate(n.getStartIndexMap())) {
    if (vector) place[n.getIndexVectorDim()] = int64_t(k);
    int64_t start = int64_t(get(indices, place));
    source[d] = std::clamp<int64_t>(start, 0, shape_of(operand)[d] - op.getSliceSizes()[d]);
  }
  for (auto [d, from] : llvm::zip(n.getOperandBatchingDims(), n.getStartIndicesBatchingDims())) source[d] = place[from];
  size_t offset = 0;
  for (int64_t d = 0; d < rank; ++d)
    if (!llvm::is_contained(n.getCollapsedSliceDims(), d) && !llvm::is_contained(n.getOperandBatchingDims(), d)) source[d] += at[n.getOffsetDims()[offset++]];
  return get(operand, source);
}

// All updates that hit the element, in their order.
double Sampler::scatter(ScatterOp op, ArrayRef<int64_t> at) {
  Block& body = op.getUpdateComputation().front();
  Operation* combines = combiner(op.getUpdateComputation());
  bool replaces = body.getTerminator()->getOperand(0) == body.getArgument(1);
  if (op.getInputs().size() != 1 || !(replaces || combines)) return leaf(op->getResult(0), ravel(at, shape_of(op->getResult(0))));
  auto n = op.getScatterDimensionNumbers();
  Value updates = op.getUpdates()[0], indices = op.getScatterIndices();
  bool vector = n.getIndexVectorDim() < int64_t(shape_of(indices).size());
  double value = get(op.getInputs()[0], at);
  for (int64_t u = 0, count = product(shape_of(updates)); u < count && !exhausted(); ++u) {
    Indices from = unravel(u, shape_of(updates)), place, target(at.size(), 0);
    for (size_t d = 0; d < from.size(); ++d)
      if (!llvm::is_contained(n.getUpdateWindowDims(), int64_t(d))) place.push_back(from[d]);
    if (vector) place.insert(place.begin() + n.getIndexVectorDim(), 0);
    for (auto [d, batch] : llvm::zip(n.getInputBatchingDims(), n.getScatterIndicesBatchingDims())) target[d] = place[batch];
    size_t window = 0;
    for (int64_t d = 0; d < int64_t(at.size()); ++d)
      if (!llvm::is_contained(n.getInsertedWindowDims(), d) && !llvm::is_contained(n.getInputBatchingDims(), d)) target[d] = from[n.getUpdateWindowDims()[window++]];
    // Indices only where the rest fits.
    bool hits = true;
    for (int64_t d = 0; d < int64_t(at.size()) && hits; ++d) hits = llvm::is_contained(n.getScatterDimsToOperandDims(), d) || target[d] == at[d];
    for (auto [k, d] : llvm::enumerate(n.getScatterDimsToOperandDims())) {
      if (!hits) break;
      if (vector) place[n.getIndexVectorDim()] = int64_t(k);
      hits = target[d] + int64_t(get(indices, place)) == at[d];
    }
    if (!hits) continue;
    double update = get(updates, u);
    if (replaces) value = update;
    else if (const ElementFunction& combine = function_of(combines)) value = combine({value, update});
    else return NAN;
  }
  return value;
}

double Sampler::softmax(CompositeOp op, ArrayRef<int64_t> at) {
  auto dim = op.getCompositeAttributes().getAs<IntegerAttr>("dim");
  if (!dim || at.empty()) return leaf(op->getResult(0), ravel(at, shape_of(op->getResult(0))));
  Value x = op->getOperand(0);
  Indices source(at);
  int64_t n = shape_of(x)[dim.getInt()];
  double m = -INFINITY, sum = 0;
  for (int64_t i = 0; i < n && !exhausted(); ++i) source[dim.getInt()] = i, m = std::max(m, get(x, source));
  if (m == -INFINITY) return NAN;
  for (int64_t i = 0; i < n && !exhausted(); ++i) source[dim.getInt()] = i, sum += std::exp(get(x, source) - m);
  double shifted = get(x, at) - m;
  return op.getName() == "aten.softmax" ? std::exp(shifted) / sum : shifted - std::log(sum);
}

}  // namespace cresset::composite
