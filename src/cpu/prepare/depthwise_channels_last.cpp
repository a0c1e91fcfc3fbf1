#include "cpu/prepare/depthwise_channels_last.h"

#include "cpu/convolution/convolution.h"
#include "cpu/emit/element.h"
#include "cpu/prepare/channels_last.h"
#include "cpu/prepare/rewrite.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/IRMapping.h"

namespace cresset::cpu {

using namespace mlir;
using namespace mlir::stablehlo;
namespace {

// The permutation that makes [images, …, channels] of [images, channels, …].
SmallVector<int64_t> order_with_channels_last(int64_t rank) {
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  return order;
}
RankedTensorType type_with_channels_last(Value v) { return shaped(v).clone(applyPermutation(shaped(v).getShape(), order_with_channels_last(shaped(v).getRank()))); }

// Of floats, [images, channels, …] to [images, features, …].
bool has_channels_first(ConvolutionOp op) {
  auto dims = op.getDimensionNumbers();
  auto in_order = [](ArrayRef<int64_t> spatial) { return llvm::equal(spatial, llvm::seq<int64_t>(2, 2 + int64_t(spatial.size()))); };
  return shaped(op).getRank() > 2 && shaped(op).getNumElements() > 0 && dims.getInputBatchDimension() == 0 && dims.getInputFeatureDimension() == 1 && dims.getOutputBatchDimension() == 0 && dims.getOutputFeatureDimension() == 1 &&
         in_order(dims.getInputSpatialDimensions()) && in_order(dims.getOutputSpatialDimensions()) && is_plain(op) && isa<FloatType>(element(op)) && !element(op).isF64() && element(op.getLhs()) == element(op) &&
         element(op.getRhs()) == element(op);
}
// Whether it divides otherwise what a single channel is.
bool is_within_channels(ReshapeOp op) {
  auto from = shaped(op.getOperand()).getShape(), to = shaped(op).getShape();
  return from.size() > 2 && to.size() > 2 && from.take_front(2) == to.take_front(2);
}

// Whether a transpose moves the last dimension, channels as those of `v`, to where they are in `v`, in front of what a single image is; or, to_last, from there to the end. Dimensions of 1 are anywhere.
bool moves_channels(TransposeOp op, bool to_last, Value v) {
  auto permutation = llvm::to_vector(op.getPermutation());
  if (to_last) permutation = invertPermutationVector(permutation);
  auto apart = shaped(to_last ? op.getOperand() : op.getResult()).getShape();  // [images, channels, …], each maybe several
  SmallVector<int64_t> order, sizes;
  for (auto [size, from] : llvm::zip(apart, permutation))
    if (size != 1) order.push_back(from), sizes.push_back(size);
  auto channels = llvm::max_element(order);
  if (channels == order.end() || std::next(channels) == order.end()) return false;
  const int64_t place = channels - order.begin();
  order.erase(channels);
  return llvm::is_sorted(order) && product(ArrayRef(sizes).take_front(place)) == shaped(v).getDimSize(0) && sizes[place] == shaped(v).getDimSize(1);
}
// The array with its channels last that this is transposed from; maybe null.
Value transposed_from(Value v) {
  auto reshape = v.getDefiningOp<ReshapeOp>();
  auto transpose = (reshape ? reshape.getOperand() : v).getDefiningOp<TransposeOp>();
  return transpose && moves_channels(transpose, false, v) ? transpose.getOperand() : Value();
}
// The transposes that give it its channels last, if that is what this user is for; empty if it is for something else.
SmallVector<TransposeOp> transposes_to_last(Operation* user, Value v) {
  SmallVector<TransposeOp> all;
  auto takes = [&](Operation* op) {
    auto transpose = dyn_cast<TransposeOp>(op);
    if (!transpose || !moves_channels(transpose, true, v)) return false;
    all.push_back(transpose);
    return true;
  };
  bool all_do = isa<ReshapeOp>(user) ? llvm::all_of(user->getUsers(), takes) : takes(user);
  return all_do ? all : SmallVector<TransposeOp>();
}

// Connected operations of any order of dimensions around depthwise convolutions.
class Regions {
 public:
  explicit Regions(func::FuncOp function) {
    function.walk([&](ConvolutionOp op) {
      if (op->getBlock() == &function.getBody().front() && has_channels_first(op) && is_depthwise(op)) members_.insert(op), connected_.insert(op);
    });
    SmallVector<Operation*> open(members_.begin(), members_.end());
    while (!open.empty()) {
      Operation* op = open.pop_back_val();
      auto may_join = [&](Operation* other) { return other && (members_.contains(other) || (other->getBlock() == op->getBlock() && takes_any_order(other))); };
      auto join = [&](Operation* other) {
        if (members_.insert(other)) connected_.insert(other), open.push_back(other);
        connected_.unionSets(op, other);
      };
      for (Operation* user : op->getUsers())
        if (may_join(user) && llvm::is_contained(arrays(user), op->getResult(0))) join(user);
      for (Value v : arrays(op))
        if (may_join(v.getDefiningOp())) join(v.getDefiningOp());
    }
    // What comes from outside is transposed once for all.
    DenseMap<Value, Operation*> readers;
    for (Operation* op : members_)
      for (Value v : arrays(op))
        if (!members_.contains(v.getDefiningOp())) connected_.unionSets(op, readers.try_emplace(v, op).first->second);
  }

  // In the order of the program: of the regions that take away more transposes than they need.
  SmallVector<Operation*> chosen() {
    DenseMap<Operation*, int64_t> bytes;
    DenseSet<Value> seen;
    for (Operation* op : members_) {
      int64_t& gain = bytes[connected_.getLeaderValue(op)];
      for (Value v : arrays(op))
        if (!members_.contains(v.getDefiningOp()) && seen.insert(v).second) gain += read_by_members(v) && transposed_from(v) ? bytes_of(v) : -bytes_of(v);
      Value v = op->getResult(0);
      bool returned = false;
      for (Operation* user : v.getUsers()) {
        if (members_.contains(user)) continue;
        if (!transposes_to_last(user, v).empty()) gain += bytes_of(v);
        else returned = true;
      }
      if (returned) gain -= bytes_of(v);
    }
    SmallVector<Operation*> all;
    for (Operation* op : members_)
      if (bytes[connected_.getLeaderValue(op)] > 0) all.push_back(op);
    llvm::sort(all, [](Operation* x, Operation* y) { return x->isBeforeInBlock(y); });
    return all;
  }

  // The operands that are as large as what is computed, and not repeated for it.
  static SmallVector<Value> arrays(Operation* op) {
    if (isa<ConvolutionOp>(op)) return {op->getOperand(0)};
    return llvm::filter_to_vector(op->getOperands(), [](Value v) { return shaped(v).getRank() > 0 && !splat(v) && !v.getDefiningOp<BroadcastInDimOp>(); });
  }

 private:
  static int64_t bytes_of(Value v) { return shaped(v).getNumElements() * element_bytes(element(v)); }
  static bool takes_any_order(Operation* op) {
    if (auto convolution = dyn_cast<ConvolutionOp>(op)) return has_channels_first(convolution) && convolution.getFeatureGroupCount() == 1 && is_pointwise(convolution);
    if (auto reshape = dyn_cast<ReshapeOp>(op)) return is_within_channels(reshape);
    return op->getNumResults() == 1 && shaped(op->getResult(0)).getRank() > 2 && (is_elementwise(op) || isa<SliceOp>(op));
  }
  // Whether nobody else needs what is transposed.
  bool read_by_members(Value v) const {
    auto are_members = [&](Value v) { return llvm::all_of(v.getUsers(), [&](Operation* user) { return members_.contains(user); }); };
    auto reshape = v.getDefiningOp<ReshapeOp>();
    return are_members(v) && (!reshape || reshape.getOperand().hasOneUse());
  }

  llvm::SetVector<Operation*> members_;
  llvm::EquivalenceClasses<Operation*> connected_;
};

class Rewrite {
 public:
  explicit Rewrite(MLIRContext* context) : b_(context) {}

  void redo(Operation* op) {
    b_.setInsertionPoint(op);
    if (auto convolution = dyn_cast<ConvolutionOp>(op)) return void(last_[op->getResult(0)] = convolved(convolution));
    IRMapping map;
    for (Value v : op->getOperands()) map.map(v, with_channels_last(v));
    Operation* again = b_.clone(*op, map);
    again->getResult(0).setType(type_with_channels_last(op->getResult(0)));
    if (auto slice = dyn_cast<SliceOp>(again)) {
      auto order = order_with_channels_last(shaped(op->getResult(0)).getRank());
      slice.setStartIndices(applyPermutation(slice.getStartIndices(), order)), slice.setLimitIndices(applyPermutation(slice.getLimitIndices(), order)), slice.setStrides(applyPermutation(slice.getStrides(), order));
    }
    last_[op->getResult(0)] = again->getResult(0);
  }

  // Of what has been done: others read what they want of it.
  void replace(Operation* op) {
    Value v = op->getResult(0), last = last_[v];
    for (Operation* user : llvm::make_early_inc_range(v.getUsers()))
      for (TransposeOp transpose : transposes_to_last(user, v)) {
        b_.setInsertionPoint(transpose);
        transpose.getResult().replaceAllUsesWith(ReshapeOp::create(b_, op->getLoc(), transpose.getType(), last));
        transpose.erase();
      }
    b_.setInsertionPointAfter(op);
    if (!v.use_empty()) v.replaceAllUsesWith(transposed(last, invertPermutationVector(order_with_channels_last(shaped(v).getRank())), b_));
    op->erase();
  }

 private:
  Value with_channels_last(Value v) {
    auto order = order_with_channels_last(shaped(v).getRank());
    if (Value done = last_.lookup(v)) return done;
    if (shaped(v).getRank() == 0) return v;
    if (Value same = broadcast_in_order(v, order, b_)) return same;
    Value from = transposed_from(v);
    return from ? Value(ReshapeOp::create(b_, v.getLoc(), type_with_channels_last(v), from)) : transposed(v, order, b_);
  }
  // One of single positions becomes a product of matrices afterwards (channels_first.h).
  Value convolved(ConvolutionOp op) {
    Value image = with_channels_last(op.getLhs());
    if (is_depthwise(op)) return depthwise_with_channels_last(op, image, kernel_with_places_first(op, op.getRhs(), b_), element(op), b_);
    return convolution_with_channels_last(op, image, kernel_with_channels_last(op, op.getRhs(), b_), element(op), b_);
  }

  OpBuilder b_;
  DenseMap<Value, Value> last_;  // of values, these with their channels last
};

}  // namespace

bool use_channels_last_within_transposes(func::FuncOp function) {
  auto chosen = Regions(function).chosen();
  Rewrite rewrite(function.getContext());
  for (Operation* op : chosen) rewrite.redo(op);
  for (Operation* op : llvm::reverse(chosen)) rewrite.replace(op);
  return !chosen.empty();
}

}  // namespace cresset::cpu
