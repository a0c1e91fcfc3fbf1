// Rows kernels: element-wise chains, softmax, layer norm and their like. A task is one row, which may have several dimensions, or a chunk of a flat array. The
// row is walked once for each level of reductions; dear values that a later walk needs again are kept in scratch, which
// stays in the L1 cache. One loop does the first walk of a row, the second of the row before it and so on: memory and
// arithmetic, which different walks wait for, are busy together.
#include <numeric>

#include "cpu/emit/kernels.h"
#include "cpu/emit/random.h"
#include "llvm/IR/IntrinsicsX86.h"
#include "runtime/thread_pool.h"

namespace cresset::cpu {

using namespace mlir;
using namespace mlir::stablehlo;
namespace {

constexpr int64_t kChunk = 8192;         // elements of a flat array in one task
constexpr int64_t kAhead = 512;          // elements: where rows overlap, what is that far ahead is asked for
constexpr int64_t kLongRow = 64 * 1024;  // elements: of longer rows nothing is asked for, because it would be gone again when its row's turn comes

bool is_transcendental(Operation* op) { return isa<ExpOp, LogOp, TanhOp, LogisticOp, PowOp, SineOp, CosineOp, CustomCallOp, Expm1Op, Log1pOp>(op); }
bool is_costly(Operation* op) { return is_transcendental(op) || isa<DivOp, GatherOp>(op) || is_random_bits(op); }

class RowsEmitter {
 public:
  explicit RowsEmitter(KernelContext& c) : c_(c), k_(c.k), f_(c.fusion) {}

  llvm::Error run() {
    divide_shape();
    plan_walks();
    keep_apart();
    flat_ = walks_.size() == 1 && is_flat();
    if (flat_) {
      columns_ *= rows_;
      rows_ = 1;
    }
    // Two vectors at a time; four where sums, or long chains of arithmetic, would wait for themselves.
    int wide = 2 * k_.target.lanes, half = k_.target.lanes / 2;
    bool chained = llvm::any_of(f_.roles, [](auto& r) { return isa<ExpOp, TanhOp, LogisticOp, CustomCallOp, LogOp, SineOp, CosineOp, ReduceOp>(r.first); });
    bool random = llvm::any_of(f_.roles, [](auto& r) { return is_random_bits(r.first); });  // whose blocks are four vectors
    if (((chained && f_.roles.size() < 40) || random) && (flat_ ? columns_ >= kChunk : k_.divides(2 * wide, columns_))) wide *= 2;
    lanes_ = k_.divides(wide, columns_) || columns_ >= 4 * wide ? wide : columns_ >= k_.target.lanes ? k_.target.lanes : half > 1 && columns_ >= half ? half : 1;
    // A lane holds 4 bytes at most; wider elements take more registers and libm calls.
    for (auto& [op, role] : f_.roles)
      if (element(op->getResult(0)).getIntOrFloatBitWidth() == 64 && shaped(op->getResult(0)).getRank() > 0) lanes_ = std::min(lanes_, k_.target.lanes);
    overlaps_ = may_overlap();
    place_kept();
    c_.kernel.tasks = flat_ ? std::max<int64_t>(ceil_div(columns_ - (lanes_ - 1), kChunk), 1) : rows_;
    c_.kernel.cost = double(rows_) * row_elements() * (4 + f_.roles.size() * (1 + walks_.size()));

    auto tasks = [&] { overlaps_ ? overlapping_rows() : k_.loop(k_.begin(), k_.end(), [&](IR task) { flat_ ? chunk(task) : row(task); }); };
    auto past_caches = [&] {
      tasks();
      k_.b.CreateIntrinsic(k_.b.getVoidTy(), llvm::Intrinsic::x86_sse_sfence, {});
      past_caches_.clear();
    };
    k_.either(plan_streams(), past_caches, tasks);
    return llvm::Error::success();
  }

 private:
  struct Walk {
    SmallVector<ReduceOp> reductions;
    SmallVector<Value> stores;                 // outputs written in this walk
  };
  // One walk of one row.
  struct Visit {
    size_t walk;
    IR row;
    Indices index;
    DenseMap<Value, IR> values = DenseMap<Value, IR>();  // of the row, so far
  };
  struct Written {
    IR value;
    std::function<void(IR)> write;
  };

  // Rows, their segments and columns. Dimensions that nothing tells apart are one: those of a row, and the last ones of what has no rows, where vectors would not fill the last alone.
  void divide_shape() {
    constexpr int64_t kShort = 64;
    ArrayRef<int64_t> shape = f_.shape;
    size_t rank = f_.row_rank;
    if (llvm::none_of(f_.roles, [](auto& r) { return r.second == Fusion::Row; })) {
      for (; shape.size() > 1 && shape.back() == 1; shape = shape.drop_back()) ++ones_;
      while (rank < shape.size() && product(shape.take_back(rank)) < kShort && product(shape.drop_back(rank + 1)) >= num_threads() && !are_apart(shape.size() - rank - 1)) ++rank;
    }
    outer_ = shape.drop_back(rank), inner_ = shape.take_back(rank).drop_back();
    columns_ = shape.back(), segments_ = product(inner_), rows_ = product(outer_);
    if (!are_apart(outer_.size())) columns_ *= segments_, segments_ = 1;
  }
  // Whether anything of the kernel's shape tells the dimensions from `first` on apart.
  bool are_apart(size_t first) {
    SmallVector<Value> values;
    for (auto& [op, role] : f_.roles)
      if (shaped(op->getResult(0)).getShape() == ArrayRef(f_.shape)) values.push_back(op->getResult(0));
    return tells_apart(f_, values, f_.shape.size() - first);
  }

  // The walk in which each value is known: a reduction's result only after the walk that folds it.
  void plan_walks() {
    DenseMap<Value, int> level;
    auto level_of = [&](Value v) { return level.count(v) ? level[v] : 0; };
    int last = 0;
    for (auto& [op, role] : f_.roles) {
      int l = 0;
      for (Value v : op->getOperands()) l = std::max(l, level_of(v));
      if (isa<ReduceOp>(op)) l += 1;
      for (Value v : op->getResults()) level[v] = l;
      last = std::max(last, l);
    }
    walks_.resize(last + 1);
    for (auto& [op, role] : f_.roles) {
      int l = level[op->getResult(0)];
      if (auto reduce = dyn_cast<ReduceOp>(op)) {
        walks_[l - 1].reductions.push_back(reduce);
        row_ops_[l].push_back(op);
      } else if (role == Fusion::Row) {
        row_ops_[l].push_back(op);
      } else if (role == Fusion::Element && f_.outputs.contains(op->getResult(0))) {
        walks_[l].stores.push_back(op->getResult(0));
      }
    }
    // What each walk computes; a dear value that two of them need is kept.
    DenseMap<Operation*, int> first_walk;
    for (auto [w, walk] : llvm::enumerate(walks_)) {
      llvm::SetVector<Operation*> needed;
      std::function<void(Value)> need = [&](Value v) {
        Operation* op = v.getDefiningOp();
        auto it = op ? f_.roles.find(op) : f_.roles.end();
        if (it == f_.roles.end() || it->second == Fusion::Row || !needed.insert(op)) return;
        if (kept_.count(v)) return;
        for (Value operand : op->getOperands()) need(operand);
      };
      for (Value v : walk.stores) need(v);
      for (ReduceOp r : walk.reductions) need(r.getInputs()[0]);
      for (Operation* op : needed) {
        auto [it, fresh] = first_walk.insert({op, int(w)});
        if (!fresh && f_.roles.lookup(op) == Fusion::Element && is_costly(op)) kept_.insert({op->getResult(0), {it->second, 0}});
      }
    }
    passes_ = walks_.size() - (walks_.size() > 1 && walks_.back().stores.empty() && walks_.back().reductions.empty());
  }

  void place_kept() {
    int64_t scratch = 0;
    for (auto& [v, place] : kept_) {
      place.second = scratch;
      scratch += copies(v) * kept_bytes(v);
    }
    if (scratch > (1 << 20)) kept_.clear(), scratch = 0;
    c_.kernel.scratch_bytes = scratch;
  }

  // What is compared with its own extreme, or divided by it, is computed in two walks, and has to be the same number in both: a multiply-add might be contracted in one of them only.
  void keep_apart() {
    std::function<void(Value)> apart = [&](Value v) {
      Operation* op = v.getDefiningOp();
      if (op && f_.roles.contains(op) && k_.uncontracted.insert(op).second)
        for (Value operand : op->getOperands()) apart(operand);
    };
    for (auto& [op, role] : f_.roles)
      if (auto reduce = dyn_cast<ReduceOp>(op); reduce && isa<MaxOp, MinOp>(simple_reducer(reduce.getBody().front())) && is_compared(reduce.getResult(0))) apart(reduce.getInputs()[0]);
  }
  bool is_compared(Value v) {
    return llvm::any_of(v.getUsers(), [&](Operation* user) {
      return f_.roles.contains(user) && (isa<CompareOp, DivOp>(user) || (isa<BroadcastInDimOp, ReshapeOp, ConvertOp>(user) && is_compared(user->getResult(0))));
    });
  }

  // Where a kernel's arrays do not fit into the caches, its outputs go past them, so that their lines need not be read first: if they begin with a line and overwrite
  // nothing that has been read just then.
  IR plan_streams() {
    int64_t all_bytes = 0;
    for (auto* arrays : {&f_.inputs, &f_.outputs})
      for (Value v : *arrays) all_bytes += std::min(shaped(v).getNumElements(), product(f_.shape)) * element_bytes(element(v));
    if (all_bytes < kBytesBeyondCaches) return k_.b.getFalse();
    IR result = k_.b.getTrue();
    for (const Walk& walk : walks_)
      for (Value v : walk.stores) {
        int64_t bytes = element_bytes(element(v));
        if (shaped(v).getShape() != ArrayRef(f_.shape) || columns_ * bytes % 64 || lanes_ * bytes % 64) continue;
        past_caches_.insert(v);
        IR address = k_.b.CreatePtrToInt(c_.buffer(v), k_.b.getInt64Ty());
        result = k_.b.CreateAnd(result, k_.b.CreateICmpEQ(k_.b.CreateAnd(address, k_.i64(63)), k_.i64(0)));
        for (Value input : f_.inputs) result = k_.b.CreateAnd(result, k_.b.CreateICmpNE(c_.buffer(v), c_.buffer(input)));
      }
    return past_caches_.empty() ? k_.b.getFalse() : result;
  }

  // Where a walk computes while others wait for memory, and registers hold what all of them need.
  bool may_overlap() {
    return passes_ > 1 && lanes_ > 1 && k_.target.registers == 32 && llvm::any_of(f_.roles, [](auto& r) { return r.second == Fusion::Element && is_transcendental(r.first); });
  }

  // In vectors that are lines of memory each, if the array begins with one.
  bool written_whole(Value v) { return k_.target.lanes == 16 && columns_ * element_bytes(element(v)) % 64 == 0; }

  // One contiguous array: every operation is at the same index, every buffer has the same shape or is a scalar.
  bool is_flat() {
    auto same = [&](Value v) { return shaped(v).getRank() == 0 || shaped(v).getShape() == ArrayRef<int64_t>(f_.shape); };
    for (auto& [op, role] : f_.roles) {
      bool scalar_broadcast = isa<BroadcastInDimOp>(op) && shaped(op->getOperand(0)).getRank() == 0;
      bool scalar = shaped(op->getResult(0)).getRank() == 0;
      if (role == Fusion::Row || !(is_elementwise(op) || isa<ConstantOp>(op) || is_random_bits(op) || scalar_broadcast || scalar)) return false;
      for (Value v : op->getOperands())
        if (!same(v)) return false;
    }
    return true;
  }

  int64_t row_elements() const { return segments_ * columns_; }

  // The last chunk has what would not fill a vector of one more, too.
  void chunk(IR task) {
    IR lo = k_.b.CreateMul(task, k_.i64(kChunk)), is_last = k_.b.CreateICmpEQ(task, k_.i64(c_.kernel.tasks - 1));
    SmallVector<Visit> visits{{0, k_.i64(0), Indices(outer_.size(), constant_index(k_, 0))}};
    pass(visits, lo, k_.b.CreateSelect(is_last, k_.i64(columns_), k_.b.CreateAdd(lo, k_.i64(kChunk))));
  }
  void row(IR row) {
    for (size_t w = 0; w < passes_; ++w) pass_rows(k_.add(row, k_.i64(w)), w);
  }
  void overlapping_rows() {
    SmallVector<size_t> all;
    for (size_t w = passes_; w-- > 0;) all.push_back(w);
    k_.loop(k_.begin(), k_.b.CreateAdd(k_.end(), k_.i64(passes_ - 1)), [&](IR first) {
      IR are_all = k_.b.CreateAnd(k_.b.CreateICmpSGE(k_.b.CreateSub(first, k_.i64(passes_ - 1)), k_.begin()), k_.b.CreateICmpSLT(first, k_.end()));
      auto one_by_one = [&] {
        for (size_t w : all) {
          IR row = k_.b.CreateSub(first, k_.i64(w));
          k_.when(k_.b.CreateAnd(k_.b.CreateICmpSGE(row, k_.begin()), k_.b.CreateICmpSLT(row, k_.end())), [&] { pass_rows(first, w); });
        }
      };
      k_.either(are_all, [&] { pass_rows(first, all); }, one_by_one);
    });
  }

  // Walk w of the row `first` - w for each of these, later walks first: what they have kept may then be written over.
  void pass_rows(IR first, ArrayRef<size_t> walks) {
    SmallVector<Visit> visits;
    for (size_t w : walks) {
      IR row = k_.b.CreateSub(first, k_.i64(w));
      visits.push_back({w, row, delinearise(k_, outer_, row)});
      if (w == 0) continue;
      for (Value v : values_before(w)) visits.back().values[v] = k_.b.CreateLoad(k_.compute_type(element(v)), slot(v, w));
    }
    pass(visits, k_.i64(0), k_.size(columns_));
    for (Visit& visit : visits)
      if (visit.walk + 1 < passes_)
        for (Value v : values_before(visit.walk + 1)) k_.b.CreateStore(visit.values[v], slot(v, visit.walk + 1));
  }
  SmallVector<Value> values_before(size_t walk) {
    SmallVector<Value> values;
    for (size_t level = 0; level <= walk; ++level)
      for (Operation* op : row_ops_[level]) values.push_back(op->getResult(0));
    return values;
  }
  // Where a row's value waits for that walk of it.
  IR slot(Value v, size_t walk) {
    IR& slot = slots_[{v.getAsOpaquePointer(), walk}];
    return slot ? slot : slot = k_.alloca_in_entry(k_.compute_type(element(v)), 1);
  }

  // The row's values that are known once `level` walks are through.
  void finish_level(Visit& visit, ElementEmitter& scalar, size_t level) {
    for (Operation* op : row_ops_[level]) {
      Value v = op->getResult(0);
      Indices i(visit.index.begin(), visit.index.begin() + std::min<size_t>(visit.index.size(), shaped(v).getRank()));
      i.resize(shaped(v).getRank(), Index{k_.i64(0), 0, 1});
      if (!visit.values.count(v)) visit.values[v] = scalar.emit(v, i);
      if (f_.outputs.contains(v)) k_.store(element(v), visit.values[v], c_.buffer(v), scalar.offset(shaped(v).getShape(), i).base, 1);
    }
  }

  void pass(MutableArrayRef<Visit> visits, IR lo, IR hi) {
    auto emitter = [&](Visit& visit) {
      return ElementEmitter(k_, f_, 1, [&](ElementEmitter& e, Value v, const Indices& i) -> IR {
        if (auto it = visit.values.find(v); it != visit.values.end()) return it->second;
        if (c_.slots.has(v) && !(v.getDefiningOp() && f_.roles.count(v.getDefiningOp())))
          return e.load(v, c_.buffer(v), i);
        return nullptr;
      });
    };
    std::vector<ElementEmitter> scalar;
    IRs sums;
    for (Visit& visit : visits) {
      scalar.push_back(emitter(visit));
      if (visit.walk == 0) finish_level(visit, scalar.back(), 0);
      for (ReduceOp r : walks_[visit.walk].reductions) {
        sums.push_back(neutral(k_, simple_reducer(r.getBody().front()), k_.vector(k_.compute_type(element(r.getInputs()[0])), lanes_)));
        if (notes_nan(r)) sums.push_back(llvm::Constant::getNullValue(k_.vector(k_.b.getInt32Ty(), lanes_ / 2)));
      }
    }
    sums = walk(visits, lo, hi, sums);
    const IR* next = sums.begin();
    for (auto [i, visit] : llvm::enumerate(visits)) {
      for (ReduceOp r : walks_[visit.walk].reductions) {
        Operation* reducer = simple_reducer(r.getBody().front());
        IR sum = *next++, init = scalar[i].emit(r.getInitValues()[0], {});
        if (notes_nan(r)) sum = nan_if_noted(*next++, k_.fold(sum, lanes_, [&](IR x, IR y) { return extreme(reducer, x, y); }));
        else if (lanes_ > 1) sum = fold_lanes(k_, scalar[i], reducer, sum, lanes_);
        visit.values[r.getResult(0)] = scalar[i].region(r.getBody().front(), {init, sum})[0];
      }
      size_t known = visit.walk + 1 == passes_ ? walks_.size() : visit.walk + 1;
      for (size_t level = visit.walk + 1; level <= known; ++level) finish_level(visit, scalar[i], level);
    }
  }

  // Along each segment from `lo` to `hi`. The last vector begins earlier than where full ones end. It is computed first, before something is written where its inputs lie, and is written at last.
  IRs walk(MutableArrayRef<Visit> visits, IR lo, IR hi, ArrayRef<IR> init) {
    IR rest = lanes_ > 1 && (flat_ || k_.any_size) ? k_.b.CreateAnd(k_.b.CreateSub(hi, lo), k_.i64(lanes_ - 1)) : k_.i64(columns_ % lanes_);
    IR has_rest = k_.b.CreateICmpNE(rest, k_.i64(0)), last = k_.b.CreateSub(hi, k_.i64(lanes_));
    auto segment = [&](IR segment, ArrayRef<IR> init) {
      Indices within = segments_ > 1 ? delinearise(k_, inner_, segment) : Indices(inner_.size(), constant_index(k_, 0));
      IR first = k_.mul(segment, columns_);
      auto step = [&](const Index& column, ArrayRef<IR> carried, IR is_new, std::vector<Written>& written) {
        IRs next;
        Indices here(within);
        here.push_back(column);
        here.append(ones_, constant_index(k_, 0));
        for (Visit& visit : visits) {
          walk_step(visit, here, k_.add(first, column.base), carried, is_new, next, written);
          if (is_new) continue;
          for (Written& w : written) w.write(w.value);
          written.clear();
        }
        return next;
      };
      std::vector<Written> at_last;
      IRs sums = k_.unless(has_rest, IRs(init), [&] {
        IRs found = step({last, 1, 1}, init, last_lanes(k_, rest, lanes_), at_last);
        for (Written& w : at_last) found.push_back(w.value);
        return found;
      });
      IRs held(sums.begin() + init.size(), sums.end());
      sums.truncate(init.size());
      std::vector<Written> written;
      sums = k_.loop(lo, k_.b.CreateSub(hi, rest), lanes_, sums, [&](IR column, ArrayRef<IR> carried) { return step({column, lanes_ > 1 ? 1 : 0, lanes_}, carried, nullptr, written); });
      k_.when(has_rest, [&] {
        for (auto [w, value] : llvm::zip(at_last, held)) w.write(value);
      });
      return sums;
    };
    return segments_ == 1 ? segment(k_.i64(0), init) : k_.loop(k_.i64(0), k_.i64(segments_), 1, init, segment);
  }

  // One vector of a row, which begins at `place` of it. Appends what is carried on to `next`, and what is to be written to `written`. Of the last vector, only the lanes that are new count.
  void walk_step(Visit& visit, const Indices& within, IR place, ArrayRef<IR> carried, IR is_new, IRs& next, std::vector<Written>& written) {
    Walk& walk = walks_[visit.walk];
    int w = int(visit.walk);
    Indices here(visit.index);
    llvm::append_range(here, within);
    ElementEmitter e(k_, f_, lanes_, [&](ElementEmitter& e, Value v, const Indices& i) -> IR {
      if (auto it = visit.values.find(v); it != visit.values.end()) return k_.splat(it->second, lanes_);
      Operation* op = v.getDefiningOp();
      bool computed_here = op && f_.roles.count(op);
      if (computed_here && kept_.count(v) && kept_[v].first < w) return load_kept(v, visit, place);
      if (c_.slots.has(v) && !computed_here) {
        if (w == 0 && shaped(v).getShape() == ArrayRef<int64_t>(f_.shape)) streamed_.insert(v);
        return e.load(v, c_.buffer(v), i);
      }
      return nullptr;
    });
    for (auto& [v, kept] : kept_)
      if (kept.first == w) written.push_back({e.emit(v, here), [this, v = v, &visit, place](IR x) { store_kept(v, x, visit, place); }});
    // One may be written where another one's input lies: all of them are read for before.
    auto place_of = [&](Value v) { return shaped(v).getRank() == 0 ? Indices() : here; };
    for (Value v : walk.stores)
      written.push_back({e.emit(v, place_of(v)), [this, v, at = place_of(v), streams = !is_new && lanes_ > 1 && past_caches_.contains(v)](IR x) {
                           k_.store(element(v), x, c_.buffer(v), c_.elements(1).offset(shaped(v).getShape(), at).base, lanes_, streams);
                         }});
    for (ReduceOp r : walk.reductions) {
      Operation* reducer = simple_reducer(r.getBody().front());
      IR sum = carried[next.size()], x = e.emit(r.getInputs()[0], here);
      if (is_new) x = k_.b.CreateSelect(is_new, x, neutral(k_, reducer, x->getType()));
      if (notes_nan(r)) {
        IR noted = carried[next.size() + 1];
        next.push_back(extreme(reducer, sum, x));
        next.push_back(note_nan(noted, x));
      } else {
        next.push_back(e.compute(reducer, {sum, x}));
      }
    }
    if (lanes_ == 1 || is_new) return;
    // What comes next is asked for, beyond what the hardware foresees. A first walk alone waits for memory, the second computes: there the next row is.
    IR offset = e.offset(f_.shape, here).base;
    if (w == (overlaps_ ? 0 : 1) && row_elements() <= kLongRow)
      for (Value v : streamed_) prefetch(v, k_.add(offset, k_.i64(overlaps_ ? std::min(row_elements(), kAhead) : row_elements())), false);
    // The lines that a later walk writes, all at once, are made ours, unless vectors are whole lines, of which nothing has to be read.
    if (w == 1 && row_elements() <= kLongRow)
      for (const Walk& later : ArrayRef(walks_).drop_front(2))
        for (Value v : later.stores)
          if (shaped(v).getShape() == ArrayRef(f_.shape) && !past_caches_.contains(v) && !written_whole(v)) prefetch(v, offset, true);
  }

  // The extreme of floats is nan if one of them is. In vectors that is noted aside, two of them at a time: the extreme itself is then one instruction,
  // not four that wait for each other.
  bool notes_nan(ReduceOp r) {
    return lanes_ > 2 && isa<MaxOp, MinOp>(simple_reducer(r.getBody().front())) && k_.compute_type(element(r.getInputs()[0]))->isFloatTy();
  }
  IR extreme(Operation* reducer, IR x, IR y) {
    return k_.b.CreateSelect(isa<MaxOp>(reducer) ? k_.b.CreateFCmpOGT(x, y) : k_.b.CreateFCmpOLT(x, y), x, y);
  }
  IR note_nan(IR noted, IR x) {
    SmallVector<int> low(lanes_ / 2), high(lanes_ / 2);
    std::iota(low.begin(), low.end(), 0);
    std::iota(high.begin(), high.end(), lanes_ / 2);
    IR either = k_.b.CreateFCmpUNO(k_.b.CreateShuffleVector(x, low), k_.b.CreateShuffleVector(x, high));
    return k_.b.CreateOr(noted, k_.b.CreateSExt(either, noted->getType()));
  }
  IR nan_if_noted(IR noted, IR extreme) {
    IR any = k_.b.CreateICmpNE(k_.b.CreateOrReduce(noted), k_.b.getInt32(0));
    return k_.b.CreateSelect(any, llvm::ConstantFP::getNaN(extreme->getType()), extreme);
  }

  // Every other line: the hardware fetches the one beside it.
  void prefetch(Value v, IR offset, bool to_write) {
    for (int64_t at = 0, step = 128 / element_bytes(element(v)); at < lanes_; at += step)
      k_.prefetch(k_.b.CreateInBoundsGEP(k_.memory_type(element(v)), c_.buffer(v), k_.add(offset, k_.i64(at))), to_write);
  }
  int64_t kept_bytes(Value v) { return round_up(row_elements() * (element(v).getIntOrFloatBitWidth() == 64 ? 8 : 4), 64); }
  // Rows that are kept at a time: the place of one is then another's.
  int64_t copies(Value v) { return overlaps_ ? int64_t(passes_) - 1 - kept_[v].first : 1; }
  IR kept_address(Value v, const Visit& visit, IR place) {
    IR base = k_.b.CreateConstInBoundsGEP1_64(k_.b.getInt8Ty(), k_.scratch(), kept_[v].second);
    if (copies(v) > 1) base = k_.b.CreateInBoundsGEP(k_.b.getInt8Ty(), base, k_.mul(k_.b.CreateURem(visit.row, k_.i64(copies(v))), kept_bytes(v)));
    return k_.b.CreateInBoundsGEP(stored_type(v), base, place);
  }
  llvm::Type* stored_type(Value v) {
    auto* type = k_.compute_type(element(v));
    return type->isIntegerTy(1) ? k_.b.getInt8Ty() : type;
  }
  void store_kept(Value v, IR x, const Visit& visit, IR place) {
    if (x->getType()->getScalarType()->isIntegerTy(1)) x = k_.b.CreateZExt(x, k_.vector(k_.b.getInt8Ty(), lanes_));
    k_.b.CreateAlignedStore(x, kept_address(v, visit, place), llvm::Align(1));
  }
  IR load_kept(Value v, const Visit& visit, IR place) {
    IR x = k_.b.CreateAlignedLoad(k_.vector(stored_type(v), lanes_), kept_address(v, visit, place), llvm::Align(1));
    return k_.compute_type(element(v))->isIntegerTy(1) ? k_.b.CreateTrunc(x, k_.vector(k_.b.getInt1Ty(), lanes_)) : x;
  }

  KernelContext& c_;
  KernelEmitter& k_;
  const Fusion& f_;
  ArrayRef<int64_t> outer_, inner_;  // dimensions of rows, and within one but the columns
  size_t ones_ = 0;                  // dimensions of one element behind the columns
  int64_t rows_ = 1, segments_ = 1, columns_ = 1;  // of a row as many segments of so many elements, one after the other; one segment if nothing tells them apart
  int lanes_ = 1;
  bool flat_ = false, overlaps_ = false;
  SmallVector<Walk> walks_;
  size_t passes_ = 1;  // walks that do something: all or all but the last
  std::map<int, SmallVector<Operation*>> row_ops_;
  llvm::MapVector<Value, std::pair<int, int64_t>> kept_;  // walk that computes it, place in scratch
  std::map<std::pair<void*, size_t>, IR> slots_;  // of a row's value for a walk
  llvm::DenseSet<Value> past_caches_;  // outputs that are not to stay in them
  llvm::SetVector<Value> streamed_;  // what the first walk reads along the row
};

}  // namespace

llvm::Error emit_rows(KernelContext& c) { return emit_transposition(c) ? llvm::Error::success() : RowsEmitter(c).run(); }

}  // namespace cresset::cpu
