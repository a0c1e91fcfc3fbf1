#include "cpu/prepare/join_products.h"

#include <map>

#include "cpu/emit/types.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "stablehlo/dialect.h"

namespace cresset::cpu {

using namespace mlir;
using namespace mlir::stablehlo;
namespace {

constexpr int64_t kFew = 32;            // rows, or terms, of each product
constexpr int64_t kLeastMatrix = 16384; // elements: of smaller ones reading costs less than an epilogue gains
constexpr int64_t kMostJoined = 2048;   // rows of a joint product: all of them are in memory at once

// Of two matrices, with one sum.
struct Contraction {
  int64_t lhs, rhs;  // the dimensions that are summed over
  bool operator==(const Contraction&) const = default;
};
std::optional<Contraction> contraction_of(DotGeneralOp op) {
  auto dims = op.getDotDimensionNumbers();
  if (shaped(op.getLhs()).getRank() != 2 || shaped(op.getRhs()).getRank() != 2 || dims.getLhsContractingDimensions().size() != 1 || !dims.getLhsBatchingDimensions().empty() ||
      !isa<FloatType>(element(op)))
    return std::nullopt;
  return Contraction{dims.getLhsContractingDimensions()[0], dims.getRhsContractingDimensions()[0]};
}

// One behind the other along `dim`; of transposed values what they were before, so that whole rows are copied.
Value joined(OpBuilder& b, Location loc, ArrayRef<Value> parts, int64_t dim) {
  auto before = [](Value v) {
    auto transpose = v.getDefiningOp<TransposeOp>();
    return transpose ? transpose.getOperand() : Value();
  };
  if (llvm::all_of(parts, before)) {
    SmallVector<Value> rows(llvm::map_range(parts, before));
    return TransposeOp::create(b, loc, joined(b, loc, rows, 1 - dim), ArrayRef<int64_t>{1, 0});
  }
  SmallVector<int64_t> shape(shaped(parts[0]).getShape());
  shape[dim] = 0;
  for (Value v : parts) shape[dim] += shaped(v).getDimSize(dim);
  return ConcatenateOp::create(b, loc, shaped(parts[0]).clone(shape), parts, dim);
}

// What must be computed before the operation.
void for_each_maker(Operation* op, llvm::function_ref<void(Operation*)> use) {
  op->walk([&](Operation* inner) {
    for (Value v : inner->getOperands())
      if (Operation* maker = v.getDefiningOp(); maker && maker->getBlock() == op->getBlock()) use(maker);
  });
}

// Each operation behind what it needs, otherwise as they were.
void sort(Block& block) {
  SmallVector<Operation*> order;
  DenseSet<Operation*> seen;
  for (Operation& root : block) {
    SmallVector<std::pair<Operation*, bool>> stack{{&root, false}};
    while (!stack.empty()) {
      auto [op, done] = stack.pop_back_val();
      if (done) order.push_back(op);
      else if (seen.insert(op).second) {
        stack.push_back({op, true});
        SmallVector<Operation*> makers;
        for_each_maker(op, [&](Operation* maker) { if (!seen.contains(maker)) makers.push_back(maker); });
        for (Operation* maker : llvm::reverse(makers)) stack.push_back({maker, false});
      }
    }
  }
  for (Operation* op : order) op->moveBefore(&block, block.end());
}

// How many members of the group, itself included, each one waits for; those that wait for equally many don't wait for each other.
std::map<int, SmallVector<DotGeneralOp>> by_level(ArrayRef<DotGeneralOp> members) {
  std::map<int, SmallVector<DotGeneralOp>> levels;
  DenseSet<Operation*> group(members.begin(), members.end());
  DenseMap<Operation*, int> level;
  for (Operation& op : *DotGeneralOp(members[0])->getBlock()) {
    int here = 0;
    for_each_maker(&op, [&](Operation* maker) { here = std::max(here, level.lookup(maker)); });
    if (group.contains(&op)) levels[++here].push_back(cast<DotGeneralOp>(op));
    if (here) level[&op] = here;
  }
  return levels;
}

void join_rows(ArrayRef<DotGeneralOp> members, Contraction c) {
  DotGeneralOp first = members[0];
  OpBuilder b(first);
  Location loc = first.getLoc();
  SmallVector<Value> parts(llvm::map_range(members, [](DotGeneralOp op) -> Value { return op.getLhs(); }));
  Value lhs = joined(b, loc, parts, 1 - c.lhs);
  int64_t rows = shaped(lhs).getDimSize(1 - c.lhs), columns = shaped(first).getDimSize(1), at = 0;
  Value all = DotGeneralOp::create(b, loc, shaped(first).clone({rows, columns}), lhs, first.getRhs(), first.getDotDimensionNumbers(), first.getPrecisionConfigAttr());
  for (DotGeneralOp op : members) {
    int64_t end = at + shaped(op).getDimSize(0);
    Value part = SliceOp::create(b, loc, op.getType(), all, b.getDenseI64ArrayAttr({at, 0}), b.getDenseI64ArrayAttr({end, columns}), b.getDenseI64ArrayAttr({1, 1}));
    op.getResult().replaceAllUsesWith(part);
    at = end;
  }
}

// Few rows by one matrix, which is read once for all of them.
bool join_rows(Block& block) {
  llvm::MapVector<Value, SmallVector<DotGeneralOp>> by_matrix;
  for (auto op : block.getOps<DotGeneralOp>())
    if (int64_t matrix = shaped(op.getRhs()).getNumElements();
        contraction_of(op) && shaped(op).getDimSize(0) <= kFew && matrix >= kLeastMatrix && shaped(op.getLhs()).getNumElements() * 4 <= matrix)
      by_matrix[op.getRhs()].push_back(op);
  bool any = false;
  for (auto& [matrix, products] : by_matrix) {
    llvm::MapVector<std::tuple<Attribute, Type, Type>, SmallVector<DotGeneralOp>> alike;
    for (DotGeneralOp op : products) alike[{op.getDotDimensionNumbers(), element(op), element(op.getLhs())}].push_back(op);
    for (auto& [key, members] : alike) {
      if (members.size() < 2) continue;
      bool here = false;
      for (auto& [level, independent] : by_level(members)) {
        int64_t most = std::max<int64_t>(kMostJoined / kFew, 2);
        for (ArrayRef<DotGeneralOp> rest = independent; rest.size() > 1; rest = rest.drop_front(std::min<size_t>(rest.size(), most)))
          join_rows(rest.take_front(most), *contraction_of(rest[0])), here = true;
      }
      if (here) sort(block), any = true;  // what waits for what has changed
    }
  }
  return any;
}

// The terms of a sum that nobody else reads parts of.
void terms_of(AddOp root, SmallVectorImpl<Value>& terms) {
  SmallVector<std::pair<Value, bool>> stack{{root.getResult(), true}};
  while (!stack.empty()) {
    auto [term, is_root] = stack.pop_back_val();
    auto add = term.getDefiningOp<AddOp>();
    if (!add || !(is_root || term.hasOneUse())) terms.push_back(term);
    else stack.push_back({add.getRhs(), false}), stack.push_back({add.getLhs(), false});
  }
}
bool is_term(AddOp op) { return op->hasOneUse() && isa<AddOp>(*op->user_begin()); }

// Sums of products over few terms, a weight's gradient from the steps it was used in: otherwise each of them would read and write the sum.
bool join_sum(AddOp root) {
  SmallVector<Value> terms;
  terms_of(root, terms);
  using Key = std::tuple<int64_t, int64_t, int64_t, Type, Type>;  // transposed or not
  llvm::MapVector<Key, SmallVector<Value>> groups;
  SmallVector<Value> rest;
  auto product_of = [](Value v) {
    auto transpose = v.getDefiningOp<TransposeOp>();
    return transpose && transpose.getOperand().hasOneUse() ? transpose.getOperand().getDefiningOp<DotGeneralOp>() : v.getDefiningOp<DotGeneralOp>();
  };
  for (Value v : terms) {
    DotGeneralOp op = v.hasOneUse() ? product_of(v) : DotGeneralOp();
    auto c = op ? contraction_of(op) : std::nullopt;
    if (c && shaped(op.getLhs()).getDimSize(c->lhs) <= kFew && shaped(op).getNumElements() >= 2 * (shaped(op.getLhs()).getNumElements() + shaped(op.getRhs()).getNumElements()))
      groups[{v.getDefiningOp<TransposeOp>() ? 1 : 0, c->lhs, c->rhs, element(op.getLhs()), element(op.getRhs())}].push_back(v);
    else rest.push_back(v);
  }
  bool any = false;
  OpBuilder b(root);
  for (auto& [key, members] : groups) {
    if (members.size() < 2) {
      rest.append(members);
      continue;
    }
    auto [transposed, lhs_k, rhs_k, lhs_type, rhs_type] = key;
    SmallVector<Value> lhs, rhs;
    for (Value v : members) lhs.push_back(product_of(v).getLhs()), rhs.push_back(product_of(v).getRhs());
    DotGeneralOp first = product_of(members[0]);
    Value all = DotGeneralOp::create(b, root.getLoc(), first.getType(), joined(b, root.getLoc(), lhs, lhs_k), joined(b, root.getLoc(), rhs, rhs_k), first.getDotDimensionNumbers(),
                                     first.getPrecisionConfigAttr());
    rest.push_back(transposed ? Value(TransposeOp::create(b, root.getLoc(), all, ArrayRef<int64_t>{1, 0})) : all);
    any = true;
  }
  if (!any) return false;
  Value sum = rest[0];
  for (Value v : ArrayRef(rest).drop_front()) sum = AddOp::create(b, root.getLoc(), sum, v);
  root.getResult().replaceAllUsesWith(sum);
  return true;
}

bool join_sums(Block& block) {
  SmallVector<AddOp> roots;
  for (auto op : block.getOps<AddOp>())
    if (shaped(op).getRank() == 2 && isa<FloatType>(element(op)) && !is_term(op)) roots.push_back(op);
  bool any = false;
  for (AddOp op : roots) any |= join_sum(op);
  return any;
}

// What nobody reads any more.
void erase_unused(Block& block) {
  for (Operation& op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op)) op.erase();
}

}  // namespace

bool join_products(func::FuncOp function) {
  Block& block = function.getBody().front();
  bool sums = join_sums(block), rows = join_rows(block);
  if (!sums && !rows) return false;
  sort(block);
  erase_unused(block);
  return true;
}

}  // namespace cresset::cpu
