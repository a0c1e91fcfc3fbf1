#include "composite/view.h"

#include <set>

#include "mlir/Dialect/Utils/IndexingUtils.h"

namespace cresset::composite {

using namespace mlir;
using namespace mlir::stablehlo;

static SmallVector<int64_t> permuted(Value v, ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> shape;
  for (int64_t d : permutation) shape.push_back(type_of(v).getShape()[d]);
  return shape;
}

int64_t View::element(ArrayRef<int64_t> at) const {
  Indices moved = unravel(ravel(at, sizes), permuted(value, permutation)), source(moved.size(), 0);
  for (auto [k, d] : llvm::enumerate(permutation)) source[d] = moved[k];
  return ravel(source, type_of(value).getShape());
}

Value View::make(OpBuilder& b) const {
  Value v = value;
  if (Operation* op = v.getDefiningOp()) b.setInsertionPointAfter(op);
  else b.setInsertionPointToStart(v.getParentBlock());
  Type element = type_of(v).getElementType();
  if (!is_identity(permutation)) v = TransposeOp::create(b, v.getLoc(), RankedTensorType::get(permuted(value, permutation), element), v, permutation);
  if (type_of(v).getShape() != ArrayRef<int64_t>(sizes)) v = ReshapeOp::create(b, v.getLoc(), RankedTensorType::get(sizes, element), v);
  return v;
}

Value View::undo(OpBuilder& b, Value viewed) const {
  Type element = type_of(viewed).getElementType();
  SmallVector<int64_t> shape = permuted(value, permutation);
  Value v = viewed;
  if (type_of(v).getShape() != ArrayRef<int64_t>(shape)) v = ReshapeOp::create(b, v.getLoc(), RankedTensorType::get(shape, element), v);
  if (!is_identity(permutation))
    v = TransposeOp::create(b, v.getLoc(), RankedTensorType::get(type_of(value).getShape(), element), v, invertPermutationVector(permutation));
  return v;
}

DenseSet<Operation*> operations_between(const DenseSet<Value>& inputs, Value output) {
  DenseSet<Operation*> region;
  SmallVector<Value> work{output};
  while (!work.empty()) {
    Value v = work.pop_back_val();
    Operation* op = v.getDefiningOp();
    if (!op || inputs.contains(v) || !region.insert(op).second) continue;
    work.append(op->operand_begin(), op->operand_end());
  }
  return region;
}

bool is_closed(const DenseSet<Operation*>& operations, const DenseSet<Value>& inputs) {
  return llvm::all_of(operations, [&](Operation* op) { return llvm::all_of(op->getOperands(), [&](Value v) { return !isa<BlockArgument>(v) || inputs.contains(v); }); });
}

size_t structure_of(Value v, ArrayRef<Value> inputs) {
  llvm::hash_code hash = 0;
  DenseMap<Value, size_t> numbers;
  for (Value u : inputs)
    if (u) numbers.insert({u, numbers.size()}), hash = llvm::hash_combine(hash, u.getType().getAsOpaquePointer());
  SmallVector<Value> work{v};
  while (!work.empty()) {
    Value u = work.pop_back_val();
    auto [it, added] = numbers.insert({u, numbers.size()});
    hash = llvm::hash_combine(hash, it->second, u.getType().getAsOpaquePointer());
    Operation* op = u.getDefiningOp();
    if (!added || !op) continue;
    // A composite's decomposition has a name of its own.
    auto composite = dyn_cast<CompositeOp>(op);
    Attribute attributes = composite ? composite.getCompositeAttributes() : op->getAttrDictionary();
    hash = llvm::hash_combine(hash, op->getName().getAsOpaquePointer(), attributes.getAsOpaquePointer(), cast<OpResult>(u).getResultNumber());
    if (composite) hash = llvm::hash_combine(hash, composite.getName());
    for (Region& region : op->getRegions())
      region.walk([&](Operation* inner) { hash = llvm::hash_combine(hash, inner->getName().getAsOpaquePointer(), inner->getAttrDictionary().getAsOpaquePointer()); });
    work.append(op->operand_begin(), op->operand_end());
  }
  return hash;
}

Value make_operand(OpBuilder& b, const View& view, const DenseSet<Operation*>& readers) {
  if (view.is_value()) return view.value;
  Value v = view.value, made = view.make(b), back = view.undo(b, made);
  v.replaceUsesWithIf(back, [&](OpOperand& use) { return readers.contains(use.getOwner()); });
  return made;
}

Value make_result(OpBuilder& b, const View& view) {
  if (view.is_value()) return view.value;
  Value v = view.value, made = view.make(b), back = view.undo(b, made);
  DenseSet<Operation*> own;
  for (Operation* op = made.getDefiningOp(); op != v.getDefiningOp(); op = op->getOperand(0).getDefiningOp()) own.insert(op);
  v.replaceUsesWithIf(back, [&](OpOperand& use) { return !own.contains(use.getOwner()); });
  return made;
}

std::vector<View> views(Value v, size_t rank) {
  SmallVector<int64_t> core, ones, parts;
  for (auto [d, size] : llvm::enumerate(type_of(v).getShape())) (size == 1 ? ones : core).push_back(int64_t(d));
  std::vector<View> all;
  if (core.size() > rank) return all;
  // The one that is the value itself comes first: dimensions in their order at the end.
  for (size_t k = 0; k < rank; ++k) parts.push_back(k < rank - core.size() ? -1 : core[k - (rank - core.size())]);
  std::set<SmallVector<int64_t>> seen;
  SmallVector<int64_t> order;
  for (size_t k = 0; k < rank; ++k) order.push_back(int64_t(k));
  do {
    SmallVector<int64_t> chosen;
    for (int64_t k : order) chosen.push_back(parts[k]);
    if (!seen.insert(chosen).second) continue;
    View view{v, {}, {}};
    for (int64_t d : chosen) {
      view.sizes.push_back(d < 0 ? 1 : type_of(v).getShape()[d]);
      if (d >= 0) view.permutation.push_back(d);
    }
    // Dimensions of size 1 stay where they are, if the others do.
    if (llvm::is_sorted(view.permutation)) {
      view.permutation.clear();
      for (size_t d = 0; d < type_of(v).getShape().size(); ++d) view.permutation.push_back(int64_t(d));
    } else {
      view.permutation.append(ones);
    }
    all.push_back(std::move(view));
  } while (std::next_permutation(order.begin(), order.end()));
  return all;
}

std::optional<Indices> Path::chase(ArrayRef<int64_t> at, size_t steps) const {
  Indices place(at);
  for (size_t k = 0; k < steps; ++k) {
    Operation* op = values[k].getDefiningOp();
    if (!is_layout(op)) continue;
    auto source = origin(op, place);
    if (!source) return std::nullopt;
    place = *source;
  }
  return place;
}

std::optional<Path> climb(Value from, const std::function<bool(Value)>& found) {
  constexpr size_t kFarthest = 48;
  DenseSet<Value> seen;
  std::function<bool(Value, Path&)> walk = [&](Value v, Path& path) {
    path.values.push_back(v);
    if (found(v)) return true;
    Operation* op = v.getDefiningOp();
    if (op && seen.size() < kFarthest && seen.insert(v).second && (is_layout(op) || is_pointwise(op)))
      for (Value operand : op->getOperands())
        if (is_float(operand) && !constant_number(operand) && walk(operand, path)) return true;
    path.values.pop_back();
    return false;
  };
  Path path;
  return walk(from, path) ? std::optional(path) : std::nullopt;
}

Path same_elements(Value v) {
  constexpr size_t kFarthest = 24;
  Path path{{v}};
  while (path.values.size() < kFarthest) {
    Operation* op = path.values.back().getDefiningOp();
    if (!op) break;
    Value next;
    if (is_layout(op) || isa<NegOp>(op) || (isa<ConvertOp>(op) && is_float(op->getOperand(0)))) next = op->getOperand(0);
    else if (isa<MulOp, DivOp>(op) && constant_number(op->getOperand(1))) next = op->getOperand(0);
    else if (isa<MulOp>(op) && constant_number(op->getOperand(0))) next = op->getOperand(1);
    if (!next || !isa<RankedTensorType>(next.getType())) break;
    path.values.push_back(next);
  }
  return path;
}

}  // namespace cresset::composite
