// Updates of the same place are applied one after the other, so that the result does not depend on the threads.
#include "cpu/emit/kernels.h"
#include "llvm/IR/Intrinsics.h"

namespace cresset::cpu {

using namespace mlir;
using namespace mlir::stablehlo;
namespace {

constexpr int64_t kSmallestShare = 32;  // elements of a window; each task goes through all indices
constexpr int64_t kMostParts = 16, kLine = 16;  // of a batching dimension; elements of a line of memory

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
    int64_t rank = input_.size();
    for (int64_t d = 0; d < rank; ++d)
      if (!llvm::is_contained(dims_.getInsertedWindowDims(), d) && !llvm::is_contained(dims_.getInputBatchingDims(), d)) windowed_.push_back(d);
    whole_rows_ = updates_whole_rows(op_);
    if (!dims_.getInputBatchingDims().empty() && rank > 1) {
      const int64_t d = dims_.getInputBatchingDims()[0], of_batch = batch_dimension(dims_.getScatterIndicesBatchingDims()[0]), size = input_[d];
      side_ = {d, of_batch, d == 0 ? 1 : std::min(size, round_up(ceil_div(size, kMostParts), kLine))};
    }
    whole_slices_ = !window_.empty() && llvm::all_of(llvm::zip(windowed_, window_), [&](auto d) { return std::get<1>(d) == input_[std::get<0>(d)] && !is_indexed(std::get<0>(d)); });
    if (!side_ && whole_slices_) shares_ = std::clamp<int64_t>(product(window_) / kSmallestShare, 1, 8);
    by_ranges_ = shares_ > 1 && llvm::is_contained(dims_.getInsertedWindowDims(), 0) && is_indexed(0) && product(input_) > 2 * product(update.getShape());
    c_.kernel.tasks = side_ ? ceil_div(input_[side_->input], side_->part) : shares_;
    double updates = 8.0 * product(update.getShape());
    c_.kernel.cost = c_.fusion.in_place ? updates : 4.0 * product(input_) + (c_.kernel.tasks > 1 ? updates : 0);
  }

  void run() {
    k_.loop(k_.begin(), k_.end(), [&](IR task) {
      if (!c_.fusion.in_place) copy_input(task);
      if (batch_.empty()) return update_window(task, {});
      if (whole_slices_ && !side_ && !by_ranges_ && windowed_.back() + 1 < int64_t(input_.size())) return update_places(task);
      // Rows of updates, along the last of their dimensions; of the task's side those that are its part.
      SmallVector<int64_t> rows(ArrayRef(batch_).drop_back());
      const bool along_side = side_ && side_->batch == int64_t(rows.size());
      if (side_ && !along_side) rows[side_->batch] = side_->part;
      IR from = side_ ? k_.mul(task, side_->part) : k_.i64(0);
      k_.loop(k_.i64(0), k_.i64(product(rows)), [&](IR row) {
        Indices at = delinearise(k_, rows, row);
        auto updates = [&] {
          at.push_back({});
          if (along_side && window_.empty()) ask_for(rows, row, from);
          IR begin = along_side ? from : k_.i64(0), count = along_side ? k_.part(batch_.back(), side_->part, from) : k_.i64(batch_.back());
          k_.loop(begin, k_.add(begin, count), [&](IR i) {
            at.back() = {i, 0, 1};
            update_window(task, at);
          });
        };
        if (!side_ || along_side) return updates();
        Index& beside = at[side_->batch];
        beside = {k_.add(from, beside.base), 0, 1};
        if (input_[side_->input] % side_->part == 0) return updates();
        k_.when(b_.CreateICmpSLT(beside.base, k_.i64(input_[side_->input])), updates);
      });
    });
  }

 private:
  // A part of a row is too short for the processor to see what the next ones will read.
  void ask_for(ArrayRef<int64_t> rows, IR row, IR first) {
    constexpr int64_t kRowsAhead = 8, kLineBytes = 64;
    auto e = c_.elements(1);
    Indices at = delinearise(k_, rows, k_.min(k_.add(row, k_.i64(kRowsAhead)), k_.i64(product(rows) - 1)));
    at.push_back({first, 0, 1});
    auto ask = [&](Value v) {
      if (!c_.slots.has(v)) return;
      const int64_t size = element_bytes(element(v)), elements = ceil_div(kLineBytes, size);
      IR offset = e.offset(shaped(v).getShape(), at).base;
      for (int64_t i = 0; i < side_->part; i += elements) k_.prefetch(b_.CreateGEP(k_.memory_type(element(v)), c_.buffer(v), k_.add(offset, k_.i64(i))));
    };
    for (Value v : op_.getUpdates()) ask(v);
    if (dims_.getIndexVectorDim() == shaped(op_.getScatterIndices()).getRank()) ask(op_.getScatterIndices());
  }

  // Where neighbours in memory are places that the indices choose among, each position of the window meets all updates before the next one does.
  void update_places(IR task) {
    in_window(task, [&](const Indices& position, int lanes) {
      k_.loop(k_.i64(0), k_.i64(product(batch_)), [&](IR i) {
        Indices at = delinearise(k_, batch_, i);
        IRs start = window_start(at);
        k_.when(begins_inside(start), [&] { update(at, start, position, lanes); });
      });
    });
  }

  void update_window(IR task, const Indices& at) {
    IRs start = window_start(at);
    auto each = [&] { in_window(task, [&](const Indices& position, int lanes) { update(at, start, position, lanes); }); };
    if (!whole_slices_) return each();
    IR ours = begins_inside(start);
    if (by_ranges_) {
      auto [begin, end] = share(task, input_[0], 1);
      ours = b_.CreateAnd(ours, b_.CreateAnd(b_.CreateICmpSGE(start[0], begin), b_.CreateICmpSLT(start[0], end)));
    }
    k_.when(ours, each);
  }

  // Of batch_ the one that is this dimension of the indices.
  int64_t batch_dimension(int64_t of_indices) { return of_indices - (of_indices > dims_.getIndexVectorDim()); }
  // Whether the indices say where the window begins along this dimension of the input.
  bool is_indexed(int64_t d) { return llvm::is_contained(dims_.getScatterDimsToOperandDims(), d); }

  // The task's share of `size` positions, in whole vectors.
  std::pair<IR, IR> share(IR task, int64_t size, int64_t vector) {
    if (shares_ == 1) return {k_.i64(0), k_.i64(size)};
    int64_t each = ceil_div(ceil_div(size, shares_), vector) * vector;
    IR begin = k_.min(k_.mul(task, each), k_.i64(size));
    return {begin, k_.min(k_.add(begin, k_.i64(each)), k_.i64(size))};
  }
  // The positions of a window that are the task's, row by row in vectors if they are whole ones.
  void in_window(IR task, const std::function<void(const Indices&, int lanes)>& body) {
    ArrayRef<int64_t> rows = whole_rows_ ? ArrayRef(window_).drop_back() : ArrayRef(window_);
    bool by_rows = product(rows) > 1 || !whole_rows_;
    auto part = [&](int64_t size, int64_t vector) { return by_ranges_ ? std::pair(k_.i64(0), k_.i64(size)) : share(task, size, vector); };
    auto [first, last] = by_rows ? part(product(rows), 1) : std::pair(k_.i64(0), k_.i64(1));
    k_.loop(first, last, [&](IR row) {
      Indices at = delinearise(k_, rows, row);
      if (!whole_rows_) return body(at, 1);
      auto [begin, end] = by_rows ? std::pair(k_.i64(0), k_.i64(window_.back())) : part(window_.back(), k_.target.lanes);
      k_.along(b_.CreateSub(end, begin), k_.target.lanes, [&, begin = begin](IR column, int lanes) {
        at.push_back({k_.add(begin, column), lanes > 1 ? 1 : 0, lanes});
        body(at, lanes);
        at.pop_back();
      });
    });
  }

  // The task's part of it.
  void copy_input(IR task) {
    auto copy = [&](const Indices& at, int lanes) {
      auto e = c_.elements(lanes);
      for (auto [from, to] : llvm::zip(op_.getInputs(), op_.getResults())) k_.store(element(to), e.emit(from, at), c_.buffer(to), e.offset(input_, at).base, lanes);
    };
    if (shares_ > 1 && !by_ranges_) {
      SmallVector<int64_t> places(input_);
      for (int64_t d : windowed_) places[d] = 1;
      if (places.back() > 1)  // neighbours, all of which belong to the task
        return in_window(task, [&](const Indices& position, int) {
          k_.loop(k_.i64(0), k_.i64(product(ArrayRef(places).drop_back())), [&](IR place) {
            Indices at = delinearise(k_, ArrayRef(places).drop_back(), place);
            at.push_back({});
            for (auto [d, i] : llvm::zip(windowed_, position)) at[d] = i;
            k_.along(k_.i64(places.back()), k_.target.lanes, [&](IR i, int lanes) {
              at.back() = {i, lanes > 1 ? 1 : 0, lanes};
              copy(at, lanes);
            });
          });
        });
      k_.loop(k_.i64(0), k_.i64(product(places)), [&](IR place) {
        Indices at = delinearise(k_, places, place);
        in_window(task, [&](const Indices& position, int lanes) {
          for (auto [d, i] : llvm::zip(windowed_, position)) at[d] = i;
          copy(at, lanes);
        });
      });
      return;
    }
    // Rows of neighbours: all elements, a range of slices or, for each place before that dimension, the task's part of what is side by side.
    auto row = [&](IR begin, IR count) {
      const bool from_0 = isa<llvm::ConstantInt>(begin);
      k_.along(count, k_.target.lanes, [&](IR i, int lanes) {
        Indices at(input_.size(), constant_index(k_, 0));
        if (!at.empty()) at.back() = {k_.add(begin, i), lanes > 1 ? 1 : 0, from_0 ? lanes : 1};
        copy(at, lanes);
      });
    };
    if (side_) {
      const int64_t size = input_[side_->input], slice = product(input_.drop_front(side_->input + 1));
      IR first = k_.mul(task, side_->part), count = k_.mul(k_.part(size, side_->part, first), slice);
      return k_.loop(k_.i64(0), k_.i64(product(input_.take_front(side_->input))), [&](IR place) { row(k_.mul(k_.add(k_.mul(place, size), first), slice), count); });
    }
    const int64_t slice = input_.empty() ? 1 : product(input_.drop_front());
    if (!by_ranges_) return row(k_.i64(0), k_.i64(product(input_)));
    auto [first, last] = share(task, input_[0], 1);
    row(k_.mul(first, slice), k_.mul(b_.CreateSub(last, first), slice));
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
    for (auto [d, from] : llvm::zip(dims_.getInputBatchingDims(), dims_.getScatterIndicesBatchingDims())) start[d] = batch[batch_dimension(from)].base;
    return start;
  }

  // Whether the input has this element. A row of the window is one of the input.
  IR is_inside(const Indices& at) {
    IR inside = b_.getTrue();
    for (auto [size, i] : llvm::zip(whole_rows_ ? input_.drop_back() : input_, at))
      inside = b_.CreateAnd(inside, b_.CreateAnd(b_.CreateICmpSGE(i.base, k_.i64(0)), b_.CreateICmpSLT(i.base, k_.i64(size))));
    return inside;
  }

  IR begins_inside(const IRs& start) {
    Indices first;
    for (IR i : start) first.push_back({i, 0, 1});
    return is_inside(first);
  }

  // The elements at this place of the window, if the input has them.
  void update(const Indices& batch, const IRs& start, const Indices& in_window, int lanes) {
    Indices from(batch_dims_.size() + window_dims_.size()), to;
    for (auto [d, i] : llvm::zip(batch_dims_, batch)) from[d] = i;
    for (auto [d, i] : llvm::zip(window_dims_, in_window)) from[d] = i;
    for (IR first : start) to.push_back({first, 0, 1});
    for (auto [d, i] : llvm::zip(windowed_, in_window)) to[d] = {k_.add(start[d], i.base), i.step, 1};
    auto combine = [&] {
      auto e = c_.elements(lanes);
      IR offset = e.offset(input_, to).base;
      IRs arguments;
      for (Value r : op_.getResults()) arguments.push_back(k_.load(element(r), c_.buffer(r), offset, lanes));
      for (Value u : op_.getUpdates()) arguments.push_back(e.emit(u, from));
      IRs values = e.region(op_.getUpdateComputation().front(), arguments);
      for (auto [r, v] : llvm::zip(op_.getResults(), values)) k_.store(element(r), v, c_.buffer(r), offset, lanes);
    };
    if (whole_slices_) combine();
    else k_.when(is_inside(to), combine);
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
  struct Side {
    int64_t input, batch;  // a batching dimension, and which one of batch_ it is
    int64_t part;          // of it, of a task
  };
  std::optional<Side> side_;                           // each task has its own part of the input
  bool whole_slices_ = false;                          // the window is all of the input but where the indices say
  int64_t shares_ = 1;                                 // of such a window, one for each task
  bool by_ranges_ = false;                             // or of the input's slices, where copying them is most of the work: what is side by side belongs to one task
};

}  // namespace

bool updates_whole_rows(ScatterOp op) {
  auto dims = op.getScatterDimensionNumbers();
  auto input = shaped(op.getInputs()[0]), update = shaped(op.getUpdates()[0]);
  ArrayRef<int64_t> window = dims.getUpdateWindowDims();
  int64_t last = input.getRank() - 1;
  auto takes = [&](ArrayRef<int64_t> list) { return llvm::is_contained(list, last); };
  return !window.empty() && window.back() == update.getRank() - 1 && !takes(dims.getInsertedWindowDims()) && !takes(dims.getInputBatchingDims()) &&
         !takes(dims.getScatterDimsToOperandDims()) && update.getDimSize(window.back()) == input.getDimSize(last);
}

llvm::Error emit_scatter(KernelContext& c) {
  auto op = cast<ScatterOp>(c.fusion.roles.back().first);
  for (Value to : op.getResults())
    if (!c.slots.has(to)) return llvm::createStringError("stablehlo.scatter: every result must be used");
  ScatterEmitter(c).run();
  return llvm::Error::success();
}

}  // namespace cresset::cpu
