#include "lowering/builder.h"

#include <limits>

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace cresset::lowering {

using namespace mlir;

RankedTensorType type_of(Value v) { return cast<RankedTensorType>(v.getType()); }
ArrayRef<int64_t> shape_of(Value v) { return type_of(v).getShape(); }
Type element_of(Value v) { return type_of(v).getElementType(); }
int64_t rank_of(Value v) { return type_of(v).getRank(); }
bool is_floating(Value v) { return isa<FloatType>(element_of(v)); }

Type element_type(MLIRContext* c, at::ScalarType dtype) {
  switch (dtype) {
    case at::kFloat: return Float32Type::get(c);
    case at::kDouble: return Float64Type::get(c);
    case at::kHalf: return Float16Type::get(c);
    case at::kBFloat16: return BFloat16Type::get(c);
    case at::kBool: return IntegerType::get(c, 1);
    case at::kByte: return IntegerType::get(c, 8, IntegerType::Unsigned);
    case at::kChar: return IntegerType::get(c, 8);
    case at::kShort: return IntegerType::get(c, 16);
    case at::kInt: return IntegerType::get(c, 32);
    case at::kLong: return IntegerType::get(c, 64);
    default: TORCH_CHECK(false, "cresset: dtype ", dtype, " is not lowered");
  }
}

int64_t wrap(int64_t dim, int64_t rank) { return dim < 0 ? dim + std::max<int64_t>(rank, 1) : dim; }
Dims wrap_all(ArrayRef<int64_t> dims, int64_t rank) {
  Dims result;
  if (dims.empty()) for (int64_t d = 0; d < rank; ++d) result.push_back(d);
  for (int64_t d : dims) if (rank > 0) result.push_back(wrap(d, rank));
  llvm::sort(result);
  return result;
}

RankedTensorType Builder::result_type(size_t i) {
  const trace::TensorType& t = node.types()[i];
  return RankedTensorType::get(ArrayRef<int64_t>(t.sizes.data(), t.sizes.size()), element_type(ops.getContext(), t.dtype));
}

Value Builder::constant(const c10::Scalar& v, Type element, ArrayRef<int64_t> shape) {
  auto type = RankedTensorType::get(shape, element);
  if (auto f = dyn_cast<FloatType>(element)) {
    APFloat x(v.toDouble());
    bool lost;
    x.convert(f.getFloatSemantics(), APFloat::rmNearestTiesToEven, &lost);
    return create<hlo::ConstantOp>(DenseElementsAttr::get(type, x));
  }
  int64_t n = v.isBoolean() ? v.toBool() : v.isFloatingPoint() ? int64_t(v.toDouble()) : v.toLong();
  if (element.isInteger(1)) n = v.isFloatingPoint() ? v.toDouble() != 0 : n != 0;
  return create<hlo::ConstantOp>(DenseElementsAttr::get(type, APInt(element.getIntOrFloatBitWidth(), uint64_t(n), false, true)));
}
Value Builder::constant(double v, Type element, ArrayRef<int64_t> shape) { return constant(c10::Scalar(v), element, shape); }

Value Builder::iota(int64_t dim, ArrayRef<int64_t> shape, Type element) {
  return create<hlo::IotaOp>(RankedTensorType::get(shape, element), ops.getI64IntegerAttr(dim));
}
Value Builder::integers(ArrayRef<int64_t> values) {
  return create<hlo::ConstantOp>(DenseElementsAttr::get(RankedTensorType::get({int64_t(values.size())}, ops.getI64Type()), values));
}
Value Builder::numbers(ArrayRef<double> values, Type element, ArrayRef<int64_t> shape) {
  SmallVector<APFloat> rounded;
  for (double v : values) {
    APFloat x(v);
    bool lost;
    x.convert(cast<FloatType>(element).getFloatSemantics(), APFloat::rmNearestTiesToEven, &lost);
    rounded.push_back(x);
  }
  return create<hlo::ConstantOp>(DenseElementsAttr::get(RankedTensorType::get(shape, element), rounded));
}
Value Builder::scalar(const Scalar& s, Type element, ArrayRef<int64_t> shape) {
  return s.operand ? broadcast(convert(s.operand, element), shape) : constant(s.value, element, shape);
}

Value Builder::convert(Value v, Type element) {
  if (element_of(v) == element) return v;
  // PyTorch truncates on the way to an integer and tests against zero on the way to bool; so does StableHLO. Bytes wrap around, by way of i64.
  if (is_floating(v) && element.isUnsignedInteger(8)) v = convert(v, ops.getI64Type());
  return create<hlo::ConvertOp>(RankedTensorType::get(shape_of(v), element), v);
}
Value Builder::rounded(Value v, Type element) {
  Value result = convert(v, element);
  if (is_floating(v) && is_floating(result) && element.getIntOrFloatBitWidth() < element_of(v).getIntOrFloatBitWidth()) result.getDefiningOp()->setAttr("cresset.rounds", ops.getUnitAttr());
  return result;
}
Value Builder::broadcast(Value v, ArrayRef<int64_t> shape) {
  if (shape_of(v) == shape) return v;
  Dims dims;
  for (int64_t d = 0; d < rank_of(v); ++d) dims.push_back(int64_t(shape.size()) - rank_of(v) + d);
  return broadcast(v, shape, dims);
}
Value Builder::broadcast(Value v, ArrayRef<int64_t> shape, ArrayRef<int64_t> dims) {
  if (shape_of(v) == shape && llvm::is_sorted(dims)) return v;
  return create<hlo::BroadcastInDimOp>(RankedTensorType::get(shape, element_of(v)), v, ops.getDenseI64ArrayAttr(dims));
}
Value Builder::reshape(Value v, ArrayRef<int64_t> shape) {
  return shape_of(v) == shape ? v : Value(create<hlo::ReshapeOp>(RankedTensorType::get(shape, element_of(v)), v));
}
Value Builder::transpose(Value v, ArrayRef<int64_t> permutation) {
  return llvm::is_sorted(permutation) ? v : Value(create<hlo::TransposeOp>(v, permutation));
}
Value Builder::swap_last(Value v) {
  Dims p;
  for (int64_t d = 0; d < rank_of(v); ++d) p.push_back(d);
  std::swap(p[p.size() - 1], p[p.size() - 2]);
  return transpose(v, p);
}
Value Builder::slice(Value v, int64_t dim, int64_t start, int64_t limit, int64_t step) {
  if (start == 0 && limit == shape_of(v)[dim] && step == 1) return v;
  Dims lo(rank_of(v), 0), hi(shape_of(v)), steps(rank_of(v), 1);
  lo[dim] = start, hi[dim] = limit, steps[dim] = step;
  return create<hlo::SliceOp>(v, lo, hi, steps);
}
Value Builder::pad(Value v, double value, ArrayRef<int64_t> low, ArrayRef<int64_t> high, ArrayRef<int64_t> interior) {
  Dims inner(interior);
  inner.resize(rank_of(v), 0);
  return create<hlo::PadOp>(v, constant(value, element_of(v)), low, high, inner);
}
Value Builder::concatenate(ArrayRef<Value> values, int64_t dim) { return create<hlo::ConcatenateOp>(ValueRange(values), dim); }
Value Builder::unsqueeze(Value v, int64_t dim) {
  Dims shape(shape_of(v));
  shape.insert(shape.begin() + dim, 1);
  return reshape(v, shape);
}
Value Builder::upcast(Value v) { return element_of(v).isBF16() || element_of(v).isF16() ? convert(v, ops.getF32Type()) : v; }

static at::ScalarType dtype_of(Type t) {
  if (t.isF32()) return at::kFloat;
  if (t.isF64()) return at::kDouble;
  if (t.isF16()) return at::kHalf;
  if (t.isBF16()) return at::kBFloat16;
  if (t.isInteger(1)) return at::kBool;
  if (t.isUnsignedInteger(8)) return at::kByte;
  if (t.isInteger(8)) return at::kChar;
  if (t.isInteger(16)) return at::kShort;
  return t.isInteger(32) ? at::kInt : at::kLong;
}

std::pair<Value, Value> Builder::promoted(Value x, Value y) {
  // A rank-0 operand only raises the category (bool, integer, floating), as in at::result_type.
  at::ScalarType a = dtype_of(element_of(x)), b = dtype_of(element_of(y)), common = at::promoteTypes(a, b);
  auto category = [](at::ScalarType t) { return t == at::kBool ? 0 : at::isIntegralType(t, false) ? 1 : 2; };
  if (rank_of(x) == 0 && rank_of(y) > 0) common = category(a) > category(b) ? a : b;
  if (rank_of(y) == 0 && rank_of(x) > 0) common = category(b) > category(a) ? b : a;
  Dims shape;
  auto sx = shape_of(x), sy = shape_of(y);
  size_t rank = std::max(sx.size(), sy.size());
  for (size_t i = 0; i < rank; ++i) {
    int64_t nx = i + sx.size() >= rank ? sx[i + sx.size() - rank] : 1, ny = i + sy.size() >= rank ? sy[i + sy.size() - rank] : 1;
    shape.push_back(nx == 1 ? ny : nx);
  }
  Type element = element_type(ops.getContext(), common);
  return {broadcast(convert(x, element), shape), broadcast(convert(y, element), shape)};
}

Value Builder::erf(Value x) {
  auto call = create<hlo::CustomCallOp>(TypeRange{x.getType()}, ValueRange{x}, ops.getStringAttr("mhlo.erf"), BoolAttr(), Attribute(), IntegerAttr(),
                                        ArrayAttr(), ArrayAttr(), ArrayAttr(), ArrayAttr());
  call->setAttr("mhlo.attributes", ops.getDictionaryAttr({}));
  call->setAttr("mhlo.version", ops.getI64IntegerAttr(1));
  return call.getResult(0);
}

Value Builder::reduce(Value v, ArrayRef<int64_t> dims, Value init, llvm::function_ref<Value(Builder&, Value, Value)> body) {
  Dims kept;
  for (int64_t d = 0; d < rank_of(v); ++d)
    if (!llvm::is_contained(dims, d)) kept.push_back(shape_of(v)[d]);
  auto op = create<hlo::ReduceOp>(TypeRange{RankedTensorType::get(kept, element_of(v))}, ValueRange{v}, ValueRange{init}, ops.getDenseI64ArrayAttr(dims));
  OpBuilder::InsertionGuard guard(ops);
  Block* block = ops.createBlock(&op.getBody());
  Type scalar = RankedTensorType::get({}, element_of(v));
  block->addArguments({scalar, scalar}, {loc, loc});
  Value result = body(*this, block->getArgument(0), block->getArgument(1));
  create<hlo::ReturnOp>(ValueRange{result});
  return op.getResult(0);
}
Value Builder::sum(Value v, ArrayRef<int64_t> dims) { return dims.empty() ? v : convert(reduce<hlo::AddOp>(upcast(v), dims, 0), element_of(v)); }
Value Builder::lowest(Type t) {
  if (isa<FloatType>(t)) return constant(-std::numeric_limits<double>::infinity(), t);
  return constant(c10::Scalar(t.isUnsignedInteger() || t.isInteger(1) ? int64_t(0) : std::numeric_limits<int64_t>::min() >> (64 - t.getIntOrFloatBitWidth())), t);
}
Value Builder::highest(Type t) {
  if (isa<FloatType>(t)) return constant(std::numeric_limits<double>::infinity(), t);
  return constant(c10::Scalar(t.isInteger(1) ? int64_t(1) : t.isUnsignedInteger() ? int64_t(255) : std::numeric_limits<int64_t>::max() >> (64 - t.getIntOrFloatBitWidth())), t);
}
Value Builder::maximum(Value v, ArrayRef<int64_t> dims) {
  return reduce(v, dims, lowest(element_of(v)), [](Builder& b, Value x, Value y) { return b.max(x, y); });
}
Value Builder::minimum(Value v, ArrayRef<int64_t> dims) {
  return reduce(v, dims, highest(element_of(v)), [](Builder& b, Value x, Value y) { return b.min(x, y); });
}
Value Builder::spread(Value reduced, ArrayRef<int64_t> dims, ArrayRef<int64_t> shape) {
  Dims kept;
  for (int64_t d = 0; d < int64_t(shape.size()); ++d)
    if (!llvm::is_contained(dims, d)) kept.push_back(d);
  return broadcast(reduced, shape, kept);
}
Value Builder::sum_to(Value v, ArrayRef<int64_t> shape) {
  Dims dims;
  int64_t extra = rank_of(v) - int64_t(shape.size());
  for (int64_t d = 0; d < rank_of(v); ++d)
    if (d < extra || (shape[d - extra] == 1 && shape_of(v)[d] != 1)) dims.push_back(d);
  return reshape(sum(v, dims), shape);
}

// What torch.set_float32_matmul_precision asks for, or torch.backends.mkldnn.matmul.fp32_precision, which it sets: "high" and "medium" are at least two bf16 for each f32.
static ArrayAttr precision_of_products(OpBuilder& ops, Value x) {
  auto wanted = at::globalContext().float32Precision(at::Float32Backend::MKLDNN, at::Float32Op::MATMUL);
  if (!element_of(x).isF32() || (wanted != at::Float32Precision::TF32 && wanted != at::Float32Precision::BF16)) return {};
  auto high = hlo::PrecisionAttr::get(ops.getContext(), hlo::Precision::HIGH);
  return ops.getArrayAttr({high, high});
}
Value Builder::dot(Value x, Value y, ArrayRef<int64_t> xc, ArrayRef<int64_t> yc, ArrayRef<int64_t> xb, ArrayRef<int64_t> yb, Type element) {
  if (!element) element = element_of(x);
  Dims shape;
  for (int64_t d : xb) shape.push_back(shape_of(x)[d]);
  for (int64_t d = 0; d < rank_of(x); ++d)
    if (!llvm::is_contained(xb, d) && !llvm::is_contained(xc, d)) shape.push_back(shape_of(x)[d]);
  for (int64_t d = 0; d < rank_of(y); ++d)
    if (!llvm::is_contained(yb, d) && !llvm::is_contained(yc, d)) shape.push_back(shape_of(y)[d]);
  return create<hlo::DotGeneralOp>(RankedTensorType::get(shape, element), x, y, hlo::DotDimensionNumbersAttr::get(ops.getContext(), xb, yb, xc, yc), precision_of_products(ops, x));
}
Value Builder::triangular_solve(Value a, Value b, bool left, bool lower, bool unit_diagonal) {
  return create<hlo::TriangularSolveOp>(b.getType(), a, b, left, lower, unit_diagonal, hlo::Transpose::NO_TRANSPOSE);
}
Value Builder::matmul(Value x, Value y, bool transpose_x, bool transpose_y, Type element) {
  int64_t rank = rank_of(x);
  Dims batch;
  for (int64_t d = 0; d < rank - 2; ++d) batch.push_back(d);
  return dot(x, y, {transpose_x ? rank - 2 : rank - 1}, {transpose_y ? rank - 1 : rank - 2}, batch, batch, element);
}

Value Builder::from_either_end(Value index, int64_t n) {
  return select(compare(Direction::LT, index, like(0, index)), add(index, constant(c10::Scalar(n), element_of(index), shape_of(index))), index);
}
Value Builder::take(Value x, Value index, int64_t dim) {
  Dims offset, sizes(shape_of(x)), shape;
  for (int64_t d = 0; d < rank_of(x); ++d) {
    if (d == dim) {
      shape.append(shape_of(index).begin(), shape_of(index).end());
      continue;
    }
    offset.push_back(int64_t(shape.size()));
    shape.push_back(shape_of(x)[d]);
  }
  sizes[dim] = 1;
  auto numbers = hlo::GatherDimensionNumbersAttr::get(ops.getContext(), offset, {dim}, {}, {}, {dim}, rank_of(index));
  return create<hlo::GatherOp>(RankedTensorType::get(shape, element_of(x)), x, index, numbers, ops.getDenseI64ArrayAttr(sizes), ops.getBoolAttr(false));
}
Value Builder::take_along(Value x, Value index, int64_t dim) {
  int64_t rank = rank_of(x);
  Dims limits(shape_of(index)), others;
  for (int64_t d = 0; d < rank; ++d)
    if (d != dim) others.push_back(d);
  limits[dim] = shape_of(x)[dim];
  if (limits != Dims(shape_of(x))) x = create<hlo::SliceOp>(x, Dims(rank, 0), limits, Dims(rank, 1));
  if (Value slices = rank > 1 ? index_of_slices(index, dim) : Value()) return reshape(take(x, slices, dim), shape_of(index));
  auto numbers = hlo::GatherDimensionNumbersAttr::get(ops.getContext(), {}, {dim}, others, others, {dim}, rank);
  return create<hlo::GatherOp>(RankedTensorType::get(shape_of(index), element_of(x)), x, index, numbers, ops.getDenseI64ArrayAttr(Dims(rank, 1)), ops.getBoolAttr(false));
}

Value Builder::places_in(Value rows, Value values, bool right) {
  mlir::Type i64 = ops.getI64Type();
  int64_t n = shape_of(rows).back(), count = type_of(values).getNumElements(), total = type_of(rows).getNumElements();
  Value x = reshape(values, {count});
  auto number = [&](int64_t k) { return constant(c10::Scalar(k), i64, {count}); };
  Value found = number(0);
  if (n == 0 || count == 0) return reshape(found, shape_of(values));
  Value flat = reshape(rows, {total}), start = found;
  if (total != n) start = mul(div(iota(0, {count}, i64), number(count / (total / n))), number(n));
  int64_t step = 1;
  while (step * 2 <= n) step *= 2;
  for (; step > 0; step /= 2) {
    Value probe = add(found, number(step - 1)), exists = compare(Direction::LT, probe, number(n));
    auto [at, sought] = promoted(take(flat, add(start, min(probe, number(n - 1))), 0), x);
    Value before = logical_and(exists, logical_not(compare(right ? Direction::GT : Direction::GE, at, sought)));
    found = select(before, add(found, number(step)), found);
  }
  return reshape(found, shape_of(values));
}

Value Builder::scatter(Value target, Value index, Value updates, hlo::ScatterDimensionNumbersAttr numbers, llvm::function_ref<Value(Value, Value)> combine,
                       bool unique) {
  auto op = create<hlo::ScatterOp>(mlir::TypeRange{target.getType()}, mlir::ValueRange{target}, index, mlir::ValueRange{updates}, numbers, ops.getBoolAttr(false),
                                   ops.getBoolAttr(unique));
  mlir::OpBuilder::InsertionGuard guard(ops);
  auto* block = ops.createBlock(&op.getUpdateComputation());
  mlir::Type scalar = RankedTensorType::get({}, element_of(target));
  block->addArguments({scalar, scalar}, {loc, loc});
  create<hlo::ReturnOp>(mlir::ValueRange{combine(block->getArgument(0), block->getArgument(1))});
  return op.getResult(0);
}
Value Builder::scatter_slices(Value target, int64_t dim, Value index, Value updates, llvm::function_ref<Value(Value, Value)> combine, bool unique) {
  Dims window;
  for (int64_t d = 0; d < rank_of(target); ++d)
    if (d != dim) window.push_back(d);
  auto numbers = hlo::ScatterDimensionNumbersAttr::get(ops.getContext(), window, {dim}, {}, {}, {dim}, 1);
  return scatter(target, reshape(index, {type_of(index).getNumElements(), 1}), updates, numbers, combine, unique);
}
// Whether what is here is seen to be the same at all positions along the dimension.
static bool is_same_along(Value v, int64_t dim, int depth = 0) {
  auto shape = shape_of(v);
  if (shape[dim] == 1) return true;
  Operation* op = v.getDefiningOp();
  if (!op || depth > 12) return false;
  if (auto constant = dyn_cast<hlo::ConstantOp>(op)) return isa<SplatElementsAttr>(constant.getValue());
  if (auto broadcast = dyn_cast<hlo::BroadcastInDimOp>(op)) {
    auto from = llvm::find(broadcast.getBroadcastDimensions(), dim);
    return from == broadcast.getBroadcastDimensions().end() || is_same_along(broadcast.getOperand(), from - broadcast.getBroadcastDimensions().begin(), depth + 1);
  }
  if (auto iota = dyn_cast<hlo::IotaOp>(op)) return int64_t(iota.getIotaDimension()) != dim;
  if (auto slice = dyn_cast<hlo::SliceOp>(op)) return is_same_along(slice.getOperand(), dim, depth + 1);
  bool elementwise = isa<hlo::ConvertOp, hlo::AddOp, hlo::SubtractOp, hlo::MulOp, hlo::CompareOp, hlo::SelectOp, hlo::MaxOp, hlo::MinOp>(op);
  return elementwise && llvm::all_of(op->getOperands(), [&](Value x) { return shape_of(x) == shape && is_same_along(x, dim, depth + 1); });
}
Value Builder::index_of_slices(Value index, int64_t dim) {
  for (int64_t d = 0; d < rank_of(index); ++d)
    if (d != dim && (shape_of(index)[d] == 0 || !is_same_along(index, d))) return {};
  Dims limits(rank_of(index), 1);
  limits[dim] = shape_of(index)[dim];
  Value first = create<hlo::SliceOp>(index, Dims(limits.size(), 0), limits, Dims(limits.size(), 1));
  return reshape(first, {limits[dim]});
}
Value Builder::scatter_elements(Value target, int64_t dim, Value index, Value updates, llvm::function_ref<Value(Value, Value)> combine) {
  int64_t rank = rank_of(target);
  updates = create<hlo::SliceOp>(updates, Dims(rank, 0), Dims(shape_of(index)), Dims(rank, 1));
  Dims others;
  for (int64_t d = 0; d < rank; ++d)
    if (d != dim) others.push_back(d);
  if (llvm::all_of(others, [&](int64_t d) { return shape_of(index)[d] == shape_of(target)[d]; })) {
    if (Value slices = rank > 1 ? index_of_slices(index, dim) : Value()) return scatter_slices(target, dim, slices, updates, combine);
    return scatter(target, index, updates, hlo::ScatterDimensionNumbersAttr::get(ops.getContext(), {}, {dim}, others, others, {dim}, rank), combine);
  }
  // The index leaves out the ends of other dimensions.
  mlir::Type i64 = ops.getI64Type();
  int64_t stride = 1;
  Value place = constant(c10::Scalar(0), i64, shape_of(index));
  for (int64_t d = rank - 1; d >= 0; stride *= shape_of(target)[d--])
    place = add(place, mul(d == dim ? convert(index, i64) : iota(d, shape_of(index), i64), constant(c10::Scalar(stride), i64, shape_of(index))));
  return reshape(scatter_slices(flat(target), 0, flat(place), flat(updates), combine), shape_of(target));
}
Value Builder::scatter_rows(Value target, Value index, Value updates, bool accumulate, bool unique) {
  return scatter_slices(target, 0, index, updates, [&](Value x, Value y) { return accumulate ? add(x, y) : y; }, unique);
}

Value Builder::composite(StringRef name, ValueRange operands, Type result, DictionaryAttr attributes, llvm::function_ref<Value(Builder&, ValueRange)> body) {
  auto module = ops.getInsertionBlock()->getParentOp()->getParentOfType<ModuleOp>();
  std::string function_name = (name + ".impl").str();
  for (NamedAttribute a : attributes) function_name += '_' + std::to_string(cast<IntegerAttr>(a.getValue()).getInt());
  for (int64_t d : cast<RankedTensorType>(result).getShape()) function_name += '_' + std::to_string(d);
  auto type = ops.getFunctionType(operands.getTypes(), {result});
  func::FuncOp function;
  std::string stem = function_name;
  for (int i = 1; (function = module.lookupSymbol<func::FuncOp>(function_name)) && function.getFunctionType() != type; ++i) function_name = stem + '.' + std::to_string(i);
  if (!function) {
    OpBuilder::InsertionGuard guard(ops);
    ops.setInsertionPointToEnd(module.getBody());
    function = create<func::FuncOp>(function_name, type);
    function.setPrivate();
    Block* block = function.addEntryBlock();
    ops.setInsertionPointToEnd(block);
    Value v = body(*this, block->getArguments());
    create<func::ReturnOp>(v);
  }
  return create<hlo::CompositeOp>(result, operands, name, attributes, function.getName(), 1u).getResult(0);
}

Values Builder::repeat(int64_t rounds, Values values, llvm::function_ref<Values(Value, llvm::ArrayRef<Value>)> body) {
  auto number = [&](int64_t v) { return constant(c10::Scalar(v), ops.getI64Type()); };
  values.insert(values.begin(), number(0));
  auto loop = create<hlo::WhileOp>(mlir::TypeRange(mlir::ValueRange(values)), values);
  mlir::OpBuilder::InsertionGuard guard(ops);
  auto block = [&](mlir::Region& region) {
    mlir::Block* block = ops.createBlock(&region);
    for (Value v : values) block->addArgument(v.getType(), loc);
    return Values(block->getArguments());
  };
  Values now = block(loop.getCond());
  create<hlo::ReturnOp>(mlir::ValueRange{compare(Direction::LT, now[0], number(rounds))});
  now = block(loop.getBody());
  Values next = body(now[0], llvm::ArrayRef(now).drop_front());
  next.insert(next.begin(), add(now[0], number(1)));
  create<hlo::ReturnOp>(mlir::ValueRange(next));
  return Values(loop->getResults().drop_front());
}

Value Builder::one_hot(Value index, int64_t n) {
  Dims shape(shape_of(index)), dims;
  for (int64_t d = 0; d < rank_of(index); ++d) dims.push_back(d);
  shape.push_back(n);
  return compare(Direction::EQ, broadcast(index, shape, dims), iota(int64_t(shape.size()) - 1, shape, element_of(index)));
}

}  // namespace cresset::lowering
