#include "composite/evaluate.h"

#include <cmath>

#include "composite/catalogue.h"
#include "stablehlo/chlo.h"

namespace cresset::composite {

using namespace mlir;
using namespace mlir::stablehlo;
namespace {

bool is_bool(Value v) {
  auto type = dyn_cast<RankedTensorType>(v.getType());
  return type && type.getElementType().isInteger(1);
}

SmallVector<int64_t> without_ones(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> result;
  for (int64_t d : shape)
    if (d != 1) result.push_back(d);
  return result;
}

struct Formula {
  const Scalar* scalar;
  SmallVector<double, 2> parameters;
  double operator()(double x) const { return scalar->formula(x, parameters.data()).v; }
};
std::optional<double> number_of(Attribute a) {
  if (auto f = dyn_cast_or_null<FloatAttr>(a)) return f.getValueAsDouble();
  if (auto b = dyn_cast_or_null<BoolAttr>(a)) return b.getValue();
  if (auto i = dyn_cast_or_null<IntegerAttr>(a)) return double(i.getInt());
  return std::nullopt;
}
// Whether the attributes have these values. A number that is absent is the default; a text tells formulas of one name apart.
bool have(DictionaryAttr attributes, ArrayRef<Constant> constants) {
  return llvm::all_of(constants, [&](const Constant& c) {
    Attribute a = attributes.get(c.name);
    return std::visit([&](const auto& v) {
      if constexpr (std::is_same_v<std::decay_t<decltype(v)>, std::string>) return isa_and_nonnull<StringAttr>(a) && cast<StringAttr>(a).getValue() == v;
      else return !a || number_of(a) == double(v);
    }, c.value);
  });
}
std::optional<Formula> formula_of(StringRef name, DictionaryAttr attributes) {
  for (const Scalar& s : scalar_references()) {
    if (s.name != name) continue;
    Formula formula{&s, {}};
    bool fits = have(attributes, s.fixed);
    for (const auto& r : s.recover) {
      auto value = number_of(attributes.get(r.attribute));
      fits &= value.has_value();
      formula.parameters.push_back(value.value_or(0));
    }
    if (fits) return formula;
  }
  return std::nullopt;
}
// Of a composite of one operand, or of a custom call by the same name.
std::optional<Formula> formula_of(Operation* op) {
  auto composite = dyn_cast<CompositeOp>(op);
  auto call = dyn_cast<CustomCallOp>(op);
  if ((!composite && !call) || op->getNumOperands() != 1 || op->getNumResults() != 1) return std::nullopt;
  const Entry* entry = find_composite(composite ? composite.getName() : call.getCallTargetName());
  if (!entry) return std::nullopt;
  return formula_of(entry->name, composite ? composite.getCompositeAttributes() : DictionaryAttr::get(op->getContext()));
}

// g · slope(x), of a composite that is the gradient of an element-wise one.
std::optional<std::function<double(double, double)>> gradient_of(Operation* op) {
  auto composite = dyn_cast<CompositeOp>(op);
  if (!composite || op->getNumOperands() != 2 || op->getNumResults() != 1) return std::nullopt;
  const Entry* entry = find_composite(composite.getName());
  if (!entry || !have(composite.getCompositeAttributes(), entry->fixed)) return std::nullopt;
  if (entry->slope) return [entry](double g, double x) { return g * entry->slope(x); };
  for (const Entry& forward : catalogue()) {
    if (forward.backward != entry->name) continue;
    if (auto formula = formula_of(forward.name, composite.getCompositeAttributes()))
      return [formula](double g, double x) { return g * formula->scalar->formula(Dual(x, 1), formula->parameters.data()).d; };
  }
  return std::nullopt;
}

using Unary = double (*)(double);
using Binary = double (*)(double, double);

// Null for others.
Unary unary(Operation* op) {
  if (isa<NegOp>(op)) return [](double x) { return -x; };
  if (isa<ExpOp>(op)) return [](double x) { return std::exp(x); };
  if (isa<Expm1Op>(op)) return [](double x) { return std::expm1(x); };
  if (isa<LogOp>(op)) return [](double x) { return std::log(x); };
  if (isa<Log1pOp>(op)) return [](double x) { return std::log1p(x); };
  if (isa<TanhOp>(op)) return [](double x) { return std::tanh(x); };
  if (isa<LogisticOp>(op)) return [](double x) { return 1 / (1 + std::exp(-x)); };
  if (isa<SqrtOp>(op)) return [](double x) { return std::sqrt(x); };
  if (isa<RsqrtOp>(op)) return [](double x) { return 1 / std::sqrt(x); };
  if (isa<CbrtOp>(op)) return [](double x) { return std::cbrt(x); };
  if (isa<AbsOp>(op)) return [](double x) { return std::fabs(x); };
  if (isa<SignOp>(op)) return [](double x) { return x > 0 ? 1.0 : x < 0 ? -1.0 : x; };
  if (isa<FloorOp>(op)) return [](double x) { return std::floor(x); };
  if (isa<CeilOp>(op)) return [](double x) { return std::ceil(x); };
  if (isa<IsFiniteOp>(op)) return [](double x) { return double(std::isfinite(x)); };
  if (isa<NotOp>(op)) return [](double x) { return double(x == 0); };
  if (isa<ConvertOp>(op)) return [](double x) { return x; };
  if (isa<chlo::ErfOp>(op)) return [](double x) { return std::erf(x); };
  if (isa<chlo::ErfcOp>(op)) return [](double x) { return std::erfc(x); };
  if (isa<chlo::SquareOp>(op)) return [](double x) { return x * x; };
  if (isa<chlo::SinhOp>(op)) return [](double x) { return std::sinh(x); };
  if (isa<chlo::CoshOp>(op)) return [](double x) { return std::cosh(x); };
  return nullptr;
}

Binary binary(Operation* op) {
  if (isa<AddOp>(op)) return [](double x, double y) { return x + y; };
  if (isa<SubtractOp>(op)) return [](double x, double y) { return x - y; };
  if (isa<MulOp>(op)) return [](double x, double y) { return x * y; };
  if (isa<DivOp>(op)) return [](double x, double y) { return x / y; };
  if (isa<PowOp>(op)) return [](double x, double y) { return std::pow(x, y); };
  if (isa<MaxOp>(op)) return [](double x, double y) { return std::isnan(x) || x > y ? x : y; };
  if (isa<MinOp>(op)) return [](double x, double y) { return std::isnan(x) || x < y ? x : y; };
  if (isa<RemOp>(op)) return [](double x, double y) { return std::fmod(x, y); };
  if (isa<XorOp>(op)) return [](double x, double y) { return double((x != 0) != (y != 0)); };
  if (isa<AndOp>(op)) return [](double x, double y) { return double(x != 0 && y != 0); };
  if (isa<OrOp>(op)) return [](double x, double y) { return double(x != 0 || y != 0); };
  if (auto compare = dyn_cast<CompareOp>(op)) {
    switch (compare.getComparisonDirection()) {
      case ComparisonDirection::EQ: return [](double x, double y) { return double(x == y); };
      case ComparisonDirection::NE: return [](double x, double y) { return double(x != y); };
      case ComparisonDirection::LT: return [](double x, double y) { return double(x < y); };
      case ComparisonDirection::LE: return [](double x, double y) { return double(x <= y); };
      case ComparisonDirection::GT: return [](double x, double y) { return double(x > y); };
      case ComparisonDirection::GE: return [](double x, double y) { return double(x >= y); };
    }
  }
  return nullptr;
}

}  // namespace

bool is_float(Value v) {
  auto type = dyn_cast<RankedTensorType>(v.getType());
  return type && type.hasStaticShape() && isa<FloatType>(type.getElementType());
}
bool is_integer(Value v) {
  auto type = dyn_cast<RankedTensorType>(v.getType());
  return type && type.hasStaticShape() && isa<IntegerType>(type.getElementType()) && !type.getElementType().isInteger(1);
}

bool is_pointwise(Operation* op) {
  if (op->getNumResults() != 1) return false;
  if (formula_of(op) || gradient_of(op)) return true;
  if (isa<AndOp, OrOp, NotOp>(op)) return is_bool(op->getResult(0));
  if (auto convert = dyn_cast<ConvertOp>(op)) return is_float(op->getResult(0)) && (is_float(convert.getOperand()) || is_bool(convert.getOperand()));
  if (isa<CompareOp, IsFiniteOp>(op)) return is_float(op->getOperand(0));
  return isa<NegOp, ExpOp, Expm1Op, LogOp, Log1pOp, TanhOp, LogisticOp, SqrtOp, RsqrtOp, CbrtOp, AbsOp, SignOp, FloorOp, CeilOp, AddOp, SubtractOp, MulOp, DivOp, PowOp,
             MaxOp, MinOp, SelectOp, ClampOp, chlo::ErfOp, chlo::ErfcOp, chlo::SquareOp, chlo::SinhOp, chlo::CoshOp>(op) && is_float(op->getResult(0));
}

bool is_elementwise(Operation* op) {
  if (is_pointwise(op)) return true;
  if (op->getNumResults() != 1 || !isa<RankedTensorType>(op->getResult(0).getType())) return false;
  if (isa<AndOp, OrOp, NotOp, XorOp>(op)) return is_bool(op->getResult(0));
  return isa<AddOp, SubtractOp, MulOp, DivOp, RemOp, MaxOp, MinOp, NegOp, AbsOp, SignOp, CompareOp, SelectOp, ClampOp, ConvertOp>(op);
}

ElementFunction element_function(Operation* op) {
  using Operands = ArrayRef<double>;
  if (auto formula = formula_of(op)) return [formula](Operands x) { return (*formula)(x[0]); };
  if (auto gradient = gradient_of(op)) return [gradient](Operands x) { return (*gradient)(x[0], x[1]); };
  if (isa<SelectOp>(op)) return [](Operands x) { return x[0] != 0 ? x[1] : x[2]; };
  if (isa<ClampOp>(op)) return [](Operands x) { return std::min(std::max(x[1], x[0]), x[2]); };
  const bool integers = isa<IntegerType>(type_of(op->getResult(0)).getElementType());
  if (isa<ConvertOp>(op) && integers) {
    if (is_bool(op->getResult(0))) return [](Operands x) { return double(x[0] != 0); };
    return [](Operands x) { return std::trunc(x[0]); };
  }
  if (isa<DivOp>(op) && integers) return [](Operands x) { return std::trunc(x[0] / x[1]); };
  if (auto f = op->getNumOperands() == 1 ? unary(op) : nullptr) return [f](Operands x) { return f(x[0]); };
  if (auto f = op->getNumOperands() == 2 ? binary(op) : nullptr) return [f](Operands x) { return f(x[0], x[1]); };
  return nullptr;
}

// `depth`: of arithmetic that is looked through. A long chain is no constant, and is asked about at each of its links.
static std::optional<double> constant_number(Value v, int depth) {
  while (Operation* op = v.getDefiningOp()) {
    // A float that becomes an integer is another number.
    bool converts = isa<ConvertOp>(op) && (is_float(v) || (is_integer(v) && !is_float(op->getOperand(0))));
    if (isa<BroadcastInDimOp, ReshapeOp>(op) || converts) {
      v = op->getOperand(0);
      continue;
    }
    if (is_pointwise(op) && op->getNumOperands() <= 2) {
      if (depth == 0) return std::nullopt;
      // Arithmetic on constants, as in sqrt(2 / pi). A varying operand ends it at once: one of its sides is looked at first.
      auto last = constant_number(op->getOperand(op->getNumOperands() - 1), depth - 1);
      auto first = !last ? std::nullopt : op->getNumOperands() == 1 ? last : constant_number(op->getOperand(0), depth - 1);
      if (!first || isa<CompositeOp, CustomCallOp>(op)) return std::nullopt;
      if (op->getNumOperands() == 1) {
        Unary f = unary(op);
        return f ? std::optional(f(*first)) : std::nullopt;
      }
      Binary f = binary(op);
      return f ? std::optional(f(*first, *last)) : std::nullopt;
    }
    auto constant = dyn_cast<ConstantOp>(op);
    auto splat = constant ? dyn_cast<SplatElementsAttr>(constant.getValue()) : SplatElementsAttr();
    if (!splat) return std::nullopt;
    if (isa<FloatType>(splat.getElementType())) return splat.getSplatValue<APFloat>().convertToDouble();
    if (splat.getElementType().isInteger(1)) return splat.getSplatValue<bool>() ? 1 : 0;
    if (splat.getElementType().isSignlessInteger()) return double(splat.getSplatValue<APInt>().getSExtValue());
    return std::nullopt;
  }
  return std::nullopt;
}

std::optional<double> constant_number(Value v) { return constant_number(v, 8); }

const Row* Evaluator::get(Value v) {
  auto it = known_.find(v);
  if (it == known_.end()) {
    auto row = compute(v);
    it = known_.insert_or_assign(v, std::move(row)).first;
  }
  return it->second ? &*it->second : nullptr;
}

std::optional<Row> Evaluator::compute(Value v) {
  Operation* op = v.getDefiningOp();
  if (auto number = op && is_pointwise(op) ? std::nullopt : constant_number(v)) return Row{*number};
  auto fail = [&] {
    obstacles_.push_back(v);
    return std::nullopt;
  };
  if (!op || !isa<RankedTensorType>(v.getType())) return fail();
  if (auto broadcast = dyn_cast<BroadcastInDimOp>(op)) {
    if (!llvm::is_sorted(broadcast.getBroadcastDimensions())) return fail();  // a transpose
    const Row* inner = get(broadcast.getOperand());
    if (!inner) return std::nullopt;
    return keeps_rows(broadcast, inner->size() == 1) ? std::optional(*inner) : fail();
  }
  if (auto reshape = dyn_cast<ReshapeOp>(op)) {
    const Row* inner = get(reshape.getOperand());
    if (!inner) return std::nullopt;
    // The numbers of all rows may be laid out in any shape.
    bool numbers = reduces_ && inner->size() == 1 && cast<RankedTensorType>(v.getType()).getNumElements() == space_.rows();
    if (!numbers && without_ones(shape_of(reshape.getOperand())) != without_ones(shape_of(v))) return fail();
    return *inner;
  }
  if (isa<SliceOp>(op)) {
    if (op->getOperand(0).getType() != v.getType()) return fail();
    const Row* inner = get(op->getOperand(0));
    return inner ? std::optional(*inner) : std::nullopt;
  }
  if (auto reduction = dyn_cast<ReduceOp>(op)) {
    auto row = reduces_ ? reduce(reduction) : std::nullopt;
    return row ? row : fail();
  }
  if (auto product = dyn_cast<DotGeneralOp>(op)) {
    auto row = reduces_ ? dot(product) : std::nullopt;
    return row ? row : fail();
  }
  if (!is_pointwise(op)) return fail();

  SmallVector<const Row*, 3> operands;
  size_t n = 1;
  for (Value operand : op->getOperands()) {
    const Row* row = get(operand);
    if (!row) return std::nullopt;
    operands.push_back(row);
    n = std::max(n, row->size());
  }
  // The table may have grown: the pointers are taken again.
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) operands[i] = get(operand);
  // Numbers of all rows with a weight: an element is of one row's number each.
  bool is_weight = reduces_ && n > 1 && type_of(v).getNumElements() != space_.rows() * n_;
  for (auto [row, operand] : llvm::zip(operands, op->getOperands()))
    if (is_weight && row->size() == 1 && !constant_number(operand)) return fail();
  auto function = element_function(op);
  if (!function) return fail();
  Row result(n);
  SmallVector<double, 3> element(operands.size());
  for (size_t i = 0; i < n; ++i) {
    for (auto [x, row] : llvm::zip(element, operands)) x = (*row)[row->size() == 1 ? 0 : i];
    result[i] = function(element);
  }
  return result;
}

// From a row's one number, or from a row that is the same everywhere else (a weight), to the full space; or within either.
bool Evaluator::keeps_rows(BroadcastInDimOp op, bool is_number) {
  ArrayRef<int64_t> from = shape_of(op.getOperand()), to = shape_of(op);
  if (!reduces_) return without_ones(from) == without_ones(to);
  if (to != ArrayRef<int64_t>(space_.shape)) {
    // Within the numbers of rows: only dimensions of size 1 come or go.
    return without_ones(from) == without_ones(to);
  }
  bool row = false, rest = false, all_row = true, all_rest = true;
  SmallVector<int64_t> moved(to.size(), 1);
  for (auto [k, d] : llvm::enumerate(op.getBroadcastDimensions())) moved[d] = from[k];
  for (size_t d = 0; d < to.size(); ++d) {
    if (to[d] == 1) continue;
    bool present = moved[d] != 1;
    if (space_.is_reduced(int64_t(d))) row |= present, all_row &= present;
    else rest |= present, all_rest &= present;
  }
  // In a square a number's dimension looks like a weight's.
  return (all_row && all_rest) || (is_number ? !row && all_rest : !rest && all_row);
}

std::optional<Row> Evaluator::reduce(ReduceOp op) {
  if (op.getNumOperands() != 2) return std::nullopt;
  ArrayRef<int64_t> from = shape_of(op->getOperand(0));
  SmallVector<int64_t> dims(op.getDimensions());
  llvm::sort(dims);
  bool whole = from == ArrayRef<int64_t>(space_.shape) && dims == space_.reduced;
  // Over dimensions of size 1 a reduction is a reshape.
  if (!whole && !llvm::all_of(dims, [&](int64_t d) { return from[d] == 1; })) return std::nullopt;
  Operation* reducer = combiner(op.getBody());
  if (!isa_and_nonnull<AddOp, MaxOp, MinOp>(reducer)) return std::nullopt;
  const Row* found = get(op->getOperand(0));
  if (!found) return std::nullopt;
  Row row = *found;
  auto init = constant_number(op->getOperand(1));
  if (!init) return std::nullopt;
  if (isa<AddOp>(reducer) && *init != 0) return std::nullopt;
  Binary combine = binary(reducer);
  if (!whole) {
    for (double& v : row) v = combine(*init, v);
    return row;
  }
  double result = *init;
  for (int64_t i = 0; i < n_; ++i) result = combine(result, row[row.size() == 1 ? 0 : size_t(i)]);
  return Row{result};
}

// A row's product with another, as einsum writes a sum of squares.
std::optional<Row> Evaluator::dot(DotGeneralOp op) {
  if (!is_row_product(op)) return std::nullopt;
  auto n = op.getDotDimensionNumbers();
  SmallVector<int64_t> dims(n.getLhsContractingDimensions());
  llvm::sort(dims);
  if (shape_of(op.getLhs()) != ArrayRef<int64_t>(space_.shape) || dims != space_.reduced) return std::nullopt;
  const Row *found = get(op.getLhs()), *other = found ? get(op.getRhs()) : nullptr;
  if (!other) return std::nullopt;
  found = get(op.getLhs());
  double sum = 0;
  for (int64_t i = 0; i < n_; ++i) sum += (found->size() == 1 ? (*found)[0] : (*found)[i]) * (other->size() == 1 ? (*other)[0] : (*other)[i]);
  return Row{sum};
}

Operation* combiner(Region& region) {
  Block& body = region.front();
  Operation& op = body.front();
  if (body.getNumArguments() != 2 || !llvm::hasNItems(body, 2) || op.getNumResults() != 1 || body.getTerminator()->getOperand(0) != op.getResult(0)) return nullptr;
  if (!isa<AddOp, MulOp, MaxOp, MinOp, AndOp, OrOp, XorOp>(op)) return nullptr;
  Value a = op.getOperand(0), b = op.getOperand(1), first = body.getArgument(0), second = body.getArgument(1);
  return (a == first && b == second) || (a == second && b == first) ? &op : nullptr;
}

bool is_norm_root(Operation& op) {
  if (isa<RsqrtOp, SqrtOp>(op)) return is_float(op.getResult(0)) && !constant_number(op.getResult(0));
  auto exponent = isa<PowOp>(op) ? constant_number(op.getOperand(1)) : std::nullopt;
  return exponent && std::fabs(*exponent) == 0.5 && is_float(op.getResult(0));
}

bool is_row_product(Operation* op) {
  auto product = dyn_cast<DotGeneralOp>(op);
  if (!product || !is_float(product) || product.getLhs().getType() != product.getRhs().getType()) return false;
  auto n = product.getDotDimensionNumbers();
  return n.getLhsBatchingDimensions() == n.getRhsBatchingDimensions() && n.getLhsContractingDimensions() == n.getRhsContractingDimensions() &&
         !n.getLhsContractingDimensions().empty() && llvm::is_sorted(n.getLhsBatchingDimensions()) &&
         n.getLhsBatchingDimensions().size() + n.getLhsContractingDimensions().size() == shape_of(product.getLhs()).size();
}

}  // namespace cresset::composite
