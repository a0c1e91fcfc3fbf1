// Updates of the same place are applied one after the other, so that the result does not depend on the threads.
#include "cpu/emit/kernels.h"
#include "llvm/IR/Intrinsics.h"

namespace cresset::cpu {

using namespace mlir;
using namespace mlir::stablehlo;
namespace {

class ScatterEmitter {
 public:
  explicit ScatterEmitter(KernelContext& c)
      : c_(c), k_(c.k), b_(c.k.b), op_(cast<ScatterOp>(c.fusion.roles.back().first)), dims_(op_.getScatterDimensionNumbers()), input_(shaped(op_.getInputs()[0]).getShape()) {
    auto update = shaped(op_.getUpdates()[0]);
    for (int64_t d = 0; d < update.getRank(); ++d) {
      bool in_window = llvm::is_contained(dims_.getUpdateWindowDims(), d);
      (in_window ? window_dims_ : batch_dims_).push_back(d);
      (in_window ? window_ : batch_).push_back(update.getDimSize(d));
    }
    int64_t rank = input_.size(), last = rank - 1;
    for (int64_t d = 0; d < rank; ++d)
      if (!llvm::is_contained(dims_.getInsertedWindowDims(), d) && !llvm::is_contained(dims_.getInputBatchingDims(), d)) windowed_.push_back(d);
    whole_rows_ = !window_.empty() && window_dims_.back() == update.getRank() - 1 && windowed_.back() == last && window_.back() == input_[last] && !is_indexed(last);
    side_by_side_ = !dims_.getInputBatchingDims().empty() && dims_.getInputBatchingDims()[0] == 0 && dims_.getScatterIndicesBatchingDims()[0] == 0 && dims_.getIndexVectorDim() != 0 && rank > 1;
    bool slices = !side_by_side_ && llvm::is_contained(dims_.getInsertedWindowDims(), 0) && is_indexed(0);
    if (slices) ranges_ = std::clamp<int64_t>(product(window_) / 64, 1, 8);
    first_size_ = rank ? input_[0] : 1;
    c_.kernel.tasks = side_by_side_ ? first_size_ : ranges_;
    c_.kernel.cost = 4.0 * product(input_) + (c_.kernel.tasks > 1 ? 8.0 * product(update.getShape()) : 0);
  }

  void run() {
    SmallVector<int64_t> batch = batch_;
    if (side_by_side_) batch.front() = 1;
    k_.loop(k_.begin(), k_.end(), [&](IR task) {
      copy_input(task);
      k_.loop(k_.i64(0), k_.i64(product(batch)), [&](IR which) {
        Indices at = delinearise(k_, batch, which);
        if (side_by_side_) at.front() = {task, 0, 1};
        IRs start = window_start(at);
        if (ranges_ == 1) return update_window(at, start);
        IR is_ours = b_.CreateAnd(b_.CreateICmpSGE(start[0], begin_of(task)), b_.CreateICmpSLT(start[0], end_of(task)));
        k_.when(is_ours, [&] { update_window(at, start); });
      });
    });
  }

 private:
  // Whether the indices say where the window begins along this dimension of the input.
  bool is_indexed(int64_t d) { return llvm::is_contained(dims_.getScatterDimsToOperandDims(), d); }
  IR begin_of(IR range) { return k_.min(k_.mul(range, ceil_div(first_size_, ranges_)), k_.i64(first_size_)); }
  IR end_of(IR range) { return begin_of(k_.add(range, k_.i64(1))); }

  // The task's part of it.
  void copy_input(IR task) {
    int64_t elements = product(input_), slice = elements / first_size_;
    IR begin = k_.i64(0), count = k_.i64(side_by_side_ ? slice : elements);
    if (ranges_ > 1) begin = k_.mul(begin_of(task), slice), count = b_.CreateSub(k_.mul(end_of(task), slice), begin);
    for (auto [from, to] : llvm::zip(op_.getInputs(), op_.getResults()))
      k_.along(count, k_.target.lanes, [&, from = from, to = to](IR i, int lanes) {
        Indices at(input_.size(), constant_index(k_, 0));
        if (!at.empty()) at.back() = {k_.add(begin, i), lanes > 1 ? 1 : 0, ranges_ > 1 ? 1 : lanes};
        if (side_by_side_) at.front() = {task, 0, 1};
        auto e = c_.elements(lanes);
        k_.store(element(to), e.emit(from, at), c_.buffer(to), e.offset(input_, at).base, lanes);
      });
  }

  // Where the window of this update begins in the input, for each input dimension.
  IRs window_start(const Indices& batch) {
    IRs start(input_.size(), k_.i64(0));
    Value indices = op_.getScatterIndices();
    int64_t vector_dim = dims_.getIndexVectorDim();
    for (auto [component, d] : llvm::enumerate(dims_.getScatterDimsToOperandDims())) {
      Indices at(batch);
      if (vector_dim < shaped(indices).getRank()) at.insert(at.begin() + vector_dim, constant_index(k_, component));
      IR v = c_.elements(1).emit(indices, at);
      start[d] = element(indices).isUnsignedInteger() ? b_.CreateZExtOrTrunc(v, b_.getInt64Ty()) : b_.CreateSExtOrTrunc(v, b_.getInt64Ty());
    }
    for (auto [d, from] : llvm::zip(dims_.getInputBatchingDims(), dims_.getScatterIndicesBatchingDims())) start[d] = batch[from - (from > vector_dim)].base;
    return start;
  }

  void update_window(const Indices& batch, const IRs& start) {
    if (!whole_rows_) return k_.loop(k_.i64(0), k_.i64(product(window_)), [&](IR i) { update(batch, start, delinearise(k_, window_, i), 1); });
    ArrayRef<int64_t> rows = ArrayRef(window_).drop_back();
    k_.loop(k_.i64(0), k_.i64(product(rows)), [&](IR row) {
      k_.along(k_.i64(window_.back()), k_.target.lanes, [&](IR column, int lanes) {
        Indices in_window = delinearise(k_, rows, row);
        in_window.push_back({column, lanes > 1 ? 1 : 0, lanes});
        update(batch, start, in_window, lanes);
      });
    });
  }

  // The elements at this place of the window, if the input has them.
  void update(const Indices& batch, const IRs& start, const Indices& in_window, int lanes) {
    Indices from(batch_dims_.size() + window_dims_.size()), to;
    for (auto [d, i] : llvm::zip(batch_dims_, batch)) from[d] = i;
    for (auto [d, i] : llvm::zip(window_dims_, in_window)) from[d] = i;
    for (IR first : start) to.push_back({first, 0, 1});
    for (auto [d, i] : llvm::zip(windowed_, in_window)) to[d] = {k_.add(start[d], i.base), i.step, 1};
    IR inside = b_.getTrue();
    for (auto [size, i] : llvm::zip(whole_rows_ ? input_.drop_back() : input_, to))
      inside = b_.CreateAnd(inside, b_.CreateAnd(b_.CreateICmpSGE(i.base, k_.i64(0)), b_.CreateICmpSLT(i.base, k_.i64(size))));
    k_.when(inside, [&] {
      auto e = c_.elements(lanes);
      IR offset = e.offset(input_, to).base;
      IRs arguments;
      for (Value r : op_.getResults()) arguments.push_back(k_.load(element(r), c_.buffer(r), offset, lanes));
      for (Value u : op_.getUpdates()) arguments.push_back(e.emit(u, from));
      IRs values = e.region(op_.getUpdateComputation().front(), arguments);
      for (auto [r, v] : llvm::zip(op_.getResults(), values)) k_.store(element(r), v, c_.buffer(r), offset, lanes);
    });
  }

  KernelContext& c_;
  KernelEmitter& k_;
  llvm::IRBuilder<>& b_;
  ScatterOp op_;
  ScatterDimensionNumbersAttr dims_;
  ArrayRef<int64_t> input_;                            // sizes
  SmallVector<int64_t> batch_, window_;                // sizes of an update: which one, and where in its window
  SmallVector<int64_t> batch_dims_, window_dims_;      // these dimensions of it
  SmallVector<int64_t> windowed_;                      // the input's dimension for each of the window
  bool whole_rows_ = false;                            // a row of the window is one of the input: updated in vectors
  bool side_by_side_ = false;                          // each task has its own part of the input
  // Or ranges of slices that are updated as a whole: each task looks through all updates for its own, which only pays for long ones.
  int64_t ranges_ = 1, first_size_ = 1;
};

}  // namespace

llvm::Error emit_scatter(KernelContext& c) {
  auto op = cast<ScatterOp>(c.fusion.roles.back().first);
  for (Value to : op.getResults())
    if (!c.slots.has(to)) return llvm::createStringError("stablehlo.scatter: every result must be used");
  ScatterEmitter(c).run();
  return llvm::Error::success();
}

}  // namespace cresset::cpu
