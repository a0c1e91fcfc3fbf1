// Reductions that are not of the last dimension alone. Lanes run along the result's last dimension where
// that is the input's (bias gradients), otherwise along the innermost reduced dimension (batch statistics).
#include "cpu/emit/kernels.h"
#include "runtime/thread_pool.h"

namespace cresset::cpu {

using namespace mlir;
using namespace mlir::stablehlo;
namespace {

class ReduceEmitter {
 public:
  explicit ReduceEmitter(KernelContext& c)
      : c_(c), k_(c.k), op_(cast<ReduceOp>(c.fusion.roles.back().first)), input_(shaped(op_.getInputs()[0])), output_(shaped(op_.getResult(0))), reduced_(op_.getDimensions()) {
    llvm::sort(reduced_);
    for (int64_t d = 0; d < input_.getRank(); ++d)
      if (!llvm::is_contained(reduced_, d)) kept_.push_back(d);
    if (op_.getInputs().size() == 1) simple_ = simple_reducer(op_.getBody().front());
    int64_t last = input_.getRank() - 1, lanes = k_.target.lanes;
    along_output_ = simple_ && !kept_.empty() && kept_.back() == last && input_.getDimSize(last) >= lanes;
    along_input_ = simple_ && !along_output_ && !reduced_.empty() && reduced_.back() == last && input_.getDimSize(last) >= lanes;
    if (along_output_ || along_input_) lanes_ = int(lanes);
  }

  void run() {
    c_.kernel.cost = double(input_.getNumElements()) * 8;
    SmallVector<int64_t> outer(output_.getShape());
    if (!along_output_) {
      c_.kernel.tasks = product(outer);
      return k_.loop(k_.begin(), k_.end(), [&](IR task) { reduce(delinearise(k_, outer, task), k_.i64(0)); });
    }
    // A task covers some vectors of columns, each with its own accumulator: whole lines of memory, and sums that don't wait for each other.
    int64_t columns = outer.pop_back_val(), threads = c_.kernel.cost >= Kernel::kParallelCost ? num_threads() : 1;
    int64_t bits = input_.getElementTypeBitWidth(), most = bits == 1 ? 1 : c_.fusion.roles.size() > 8 || bits == 64 ? 4 : 8;  // that registers hold
    vectors_ = std::clamp<int64_t>(product(outer) * columns / (lanes_ * 2 * threads), 1, std::min<int64_t>(most, columns / lanes_));
    int64_t part = vectors_ * lanes_, blocks = ceil_div(columns, part);
    c_.kernel.tasks = product(outer) * blocks;
    k_.loop(k_.begin(), k_.end(), [&](IR task) {
      Indices row = delinearise(k_, outer, k_.b.CreateUDiv(task, k_.i64(blocks)));
      IR column = k_.mul(k_.b.CreateURem(task, k_.i64(blocks)), part);
      if (columns % part) column = k_.min(column, k_.i64(columns - part));  // the last block begins earlier and computes some columns again
      reduce(row, column);
    });
  }

 private:
  // One element of the output or, along it, a task's vectors from this column of a row on.
  void reduce(const Indices& row, IR column) {
    Indices at(input_.getRank());
    for (auto [d, i] : llvm::zip(kept_, row)) at[d] = i;
    auto scalar = c_.elements(1);
    auto write = [&](Value v, IR value, IR column) {
      Indices to(row);
      if (along_output_) to.push_back({column, 0, 1});
      if (c_.slots.has(v)) k_.store(element(v), value, c_.buffer(v), scalar.offset(output_.getShape(), to).base, along_output_ ? lanes_ : 1);
    };
    if (simple_) {
      IRs none(vectors_, neutral(k_, simple_, k_.vector(k_.compute_type(input_.getElementType()), lanes_)));
      IRs sums = with_initial(scalar, sums_from(0, at, column, none));
      for (auto [v, sum] : llvm::enumerate(sums)) write(op_.getResult(0), sum, vector_from(column, v));
    } else {
      IRs initial;
      for (Value v : op_.getInitValues()) initial.push_back(scalar.emit(v, {}));
      IRs values = sums_from(0, at, column, initial);
      for (auto [v, value] : llvm::zip(op_.getResults(), values)) write(v, value, column);
    }
  }

  // What the loops over this reduced dimension and those behind it make of the sums.
  IRs sums_from(size_t depth, Indices& at, IR column, ArrayRef<IR> sums) {
    if (depth == reduced_.size()) return next_sums(at, column, sums);
    int64_t d = reduced_[depth], size = input_.getDimSize(d);
    bool by_vectors = along_input_ && depth + 1 == reduced_.size();
    int64_t rest = by_vectors ? size % lanes_ : 0;
    IRs found = k_.loop(k_.i64(0), k_.i64(size - rest), by_vectors ? lanes_ : 1, sums, [&](IR i, ArrayRef<IR> inner) {
      at[d] = {i, by_vectors ? 1 : 0, by_vectors ? lanes_ : 1};
      return sums_from(depth + 1, at, column, inner);
    });
    if (!by_vectors || (rest == 0 && !k_.any_size)) return found;
    at[d] = {k_.i64(size - lanes_), 1, 1};  // the last vector begins earlier: its first elements have been taken
    auto e = c_.elements(lanes_);
    IR last = k_.b.CreateSelect(last_lanes(k_, k_.i64(rest), lanes_), e.emit(op_.getInputs()[0], at), neutral(k_, simple_, found[0]->getType()));
    return {e.compute(simple_, {found[0], last})};
  }
  IRs next_sums(Indices& at, IR column, ArrayRef<IR> sums) {
    auto e = c_.elements(lanes_);
    IRs next(sums.begin(), sums.end());
    if (!simple_) {
      for (Value v : op_.getInputs()) next.push_back(e.emit(v, at));
      return e.region(op_.getBody().front(), next);
    }
    for (auto [v, sum] : llvm::enumerate(next)) {
      if (along_output_) at.back() = {vector_from(column, v), 1, 1};
      sum = e.compute(simple_, {sum, e.emit(op_.getInputs()[0], at)});
    }
    return next;
  }
  IR vector_from(IR column, size_t v) { return k_.add(column, k_.i64(int64_t(v) * lanes_)); }
  IRs with_initial(ElementEmitter& scalar, IRs sums) {
    if (along_input_) sums[0] = fold_lanes(k_, scalar, simple_, sums[0], lanes_);
    int width = along_output_ ? lanes_ : 1;
    IR initial = k_.splat(scalar.emit(op_.getInitValues()[0], {}), width);
    auto e = c_.elements(width);
    for (IR& sum : sums) sum = e.compute(simple_, {initial, sum});
    return sums;
  }

  KernelContext& c_;
  KernelEmitter& k_;
  ReduceOp op_;
  RankedTensorType input_, output_;
  SmallVector<int64_t> reduced_, kept_;   // dimensions of the input
  Operation* simple_ = nullptr;           // if one operation is all that is done
  bool along_output_ = false, along_input_ = false;
  int lanes_ = 1;
  int64_t vectors_ = 1;  // of the output, in one task
};

}  // namespace

llvm::Error emit_reduce(KernelContext& c) {
  if (reduces_planes(c.fusion, c.k.target)) emit_plane_reduction(c);
  else ReduceEmitter(c).run();
  return llvm::Error::success();
}

}  // namespace cresset::cpu
