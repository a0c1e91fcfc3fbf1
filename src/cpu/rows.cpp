// Rows kernels: element-wise chains, softmax, layer norm and their like. A task is one row (or a chunk of a flat array). The
// row is walked once for each level of reductions; dear values that a later walk needs again are kept in scratch, which
// stays in the L1 cache.
#include <numeric>

#include "cpu/kernels.h"
#include "cpu/random.h"
#include "llvm/IR/IntrinsicsX86.h"

namespace cresset::cpu {

using namespace mlir;
using namespace mlir::stablehlo;
namespace {

constexpr int64_t kChunk = 8192;          // elements of a flat array in one task
constexpr int64_t kBeyondCaches = 32 << 20;  // bytes of an array of which no cache would keep much for the next kernel

bool is_costly(Operation* op) {
  return isa<ExpOp, LogOp, TanhOp, LogisticOp, PowOp, SineOp, CosineOp, CustomCallOp, DivOp, Expm1Op, Log1pOp, GatherOp>(op) || is_random_bits(op);
}

class RowsEmitter {
 public:
  explicit RowsEmitter(KernelContext& c) : c_(c), k_(c.k), f_(c.fusion) {}

  llvm::Error run() {
    rank_ = f_.shape.size();
    columns_ = f_.shape.back();
    rows_ = std::accumulate(f_.shape.begin(), f_.shape.end() - 1, int64_t(1), std::multiplies<>());
    plan_walks();
    flat_ = walks_.size() == 1 && is_flat();
    if (flat_) {
      columns_ *= rows_;
      rows_ = 1;
    }
    // Two vectors at a time; four where sums, or long chains of arithmetic, would wait for themselves.
    int wide = 2 * k_.target.lanes;
    bool chained = llvm::any_of(f_.roles, [](auto& r) { return isa<ExpOp, TanhOp, LogisticOp, CustomCallOp, LogOp, SineOp, CosineOp, ReduceOp>(r.first); });
    bool random = llvm::any_of(f_.roles, [](auto& r) { return is_random_bits(r.first); });  // whose blocks are four vectors
    if (((chained && f_.roles.size() < 40) || random) && (flat_ ? columns_ >= kChunk : columns_ % (2 * wide) == 0)) wide *= 2;
    lanes_ = columns_ % wide == 0 || columns_ >= 4 * wide ? wide : columns_ >= k_.target.lanes ? k_.target.lanes : 1;
    // A lane holds 4 bytes at most; wider elements take more registers and libm calls.
    for (auto& [op, role] : f_.roles)
      if (element(op->getResult(0)).getIntOrFloatBitWidth() == 64 && shaped(op->getResult(0)).getRank() > 0) lanes_ = std::min(lanes_, k_.target.lanes);
    c_.kernel.tasks = flat_ ? (columns_ + kChunk - 1) / kChunk : rows_;
    c_.kernel.cost = double(rows_) * columns_ * (4 + f_.roles.size() * (1 + walks_.size()));

    auto tasks = [&] {
      k_.loop(k_.begin(), k_.end(), [&](IR task) {
        if (flat_) {
          IR lo = k_.b.CreateMul(task, k_.i64(kChunk));
          IR hi = k_.min(k_.b.CreateAdd(lo, k_.i64(kChunk)), k_.i64(columns_));
          row(Indices(rank_ - 1, Index{k_.i64(0), 0, int64_t(1) << 40}), lo, hi);
        } else {
          row(delinearise(k_, ArrayRef(f_.shape).drop_back(), task), k_.i64(0), k_.i64(columns_));
        }
      });
    };
    IR can_stream = plan_streams();
    if (!can_stream) return tasks(), llvm::Error::success();
    k_.when(can_stream, [&] {
      tasks();
      k_.b.CreateIntrinsic(k_.b.getVoidTy(), llvm::Intrinsic::x86_sse_sfence, {});
    });
    past_caches_.clear();
    k_.when(k_.b.CreateNot(can_stream), tasks);
    return llvm::Error::success();
  }

 private:
  struct Walk {
    SmallVector<ReduceOp> reductions;
    SmallVector<Value> stores;                 // outputs written in this walk
    SmallVector<Operation*> rows;              // row values known after it
  };

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
        if (!fresh && f_.roles.lookup(op) == Fusion::Element && is_costly(op) && !kept_.count(op->getResult(0))) {
          kept_[op->getResult(0)] = {it->second, scratch_};
          scratch_ += (columns_ * 4 * (element(op->getResult(0)).getIntOrFloatBitWidth() == 64 ? 2 : 1) + 63) / 64 * 64;
        }
      }
    }
    if (scratch_ > (1 << 20)) kept_.clear(), scratch_ = 0;
    c_.kernel.scratch_bytes = scratch_;
  }

  // Large outputs go past the caches, so that their lines need not be read first: if they begin with a line and overwrite nothing that has been read just then.
  IR plan_streams() {
    IR result = nullptr;
    for (const Walk& walk : walks_)
      for (Value v : walk.stores) {
        int64_t bytes = element_bytes(element(v));
        if (shaped(v).getShape() != ArrayRef(f_.shape) || rows_ * columns_ * bytes < kBeyondCaches || columns_ * bytes % 64 || lanes_ * bytes % 64) continue;
        past_caches_.insert(v);
        IR ok = k_.b.CreateICmpEQ(k_.b.CreateAnd(k_.b.CreatePtrToInt(c_.buffer(v), k_.b.getInt64Ty()), k_.i64(63)), k_.i64(0));
        for (Value input : f_.inputs) ok = k_.b.CreateAnd(ok, k_.b.CreateICmpNE(c_.buffer(v), c_.buffer(input)));
        result = result ? k_.b.CreateAnd(result, ok) : ok;
      }
    return result;
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

  Indices at(const Indices& row, IR column, int step) {
    Indices result(row);
    result.push_back({column, step, step ? lanes_of_index_ : 1});
    return result;
  }

  void row(const Indices& row_index, IR lo, IR hi) {
    row_values_.clear();
    ElementEmitter scalar(k_, 1, [&](Value v, const Indices& i) -> IR {
      if (auto it = row_values_.find(v); it != row_values_.end()) return it->second;
      if (c_.slots.has(v) && !(v.getDefiningOp() && f_.roles.count(v.getDefiningOp())))
        return ElementEmitter(k_, 1, nullptr).load(v, c_.buffer(v), i);
      return nullptr;
    });
    auto finish_rows = [&](int level) {
      for (Operation* op : row_ops_[level]) {
        Value v = op->getResult(0);
        Indices i(row_index.begin(), row_index.begin() + std::min<size_t>(row_index.size(), shaped(v).getRank()));
        i.resize(shaped(v).getRank(), Index{k_.i64(0), 0, 1});
        if (!row_values_.count(v)) row_values_[v] = scalar.emit(v, i);
        if (f_.outputs.contains(v)) k_.store(element(v), row_values_[v], c_.buffer(v), scalar.offset(shaped(v).getShape(), i).base, 1);
      }
    };
    finish_rows(0);
    for (size_t w = 0; w < walks_.size(); ++w) {
      Walk& walk = walks_[w];
      if (walk.stores.empty() && walk.reductions.empty()) {
        finish_rows(w + 1);
        continue;
      }
      // Full vectors first, then what is left one by one.
      IRs vectors, scalars;
      for (ReduceOp r : walk.reductions) {
        Operation* reducer = simple_reducer(r.getBody().front());
        auto* type = k_.compute_type(element(r.getInputs()[0]));
        vectors.push_back(neutral(k_, reducer, k_.vector(type, lanes_)));
        if (notes_nan(r)) vectors.push_back(llvm::Constant::getNullValue(k_.vector(k_.b.getInt32Ty(), lanes_ / 2)));
        scalars.push_back(neutral(k_, reducer, type));
      }
      IR split = lo;
      if (lanes_ > 1) {
        IR count = k_.b.CreateSub(hi, lo);
        split = k_.b.CreateAdd(lo, k_.b.CreateAnd(count, k_.i64(-int64_t(lanes_))));
        vectors = this->walk(w, row_index, lo, split, lanes_, vectors);
        const IR* next = vectors.begin();
        for (auto [i, r] : llvm::enumerate(walk.reductions)) {
          Operation* reducer = simple_reducer(r.getBody().front());
          if (notes_nan(r)) {
            scalars[i] = k_.fold(next[0], lanes_, [&](IR x, IR y) { return extreme(reducer, x, y); });
            scalars[i] = nan_if_noted(next[1], scalars[i]);
            next += 2;
          } else {
            scalars[i] = fold_lanes(k_, scalar, reducer, *next++, lanes_);
          }
        }
      }
      if (lanes_ == 1 || flat_ || columns_ % lanes_ != 0) scalars = this->walk(w, row_index, split, hi, 1, scalars);
      for (auto [i, r] : llvm::enumerate(walk.reductions)) {
        IR init = scalar.emit(r.getInitValues()[0], {});
        row_values_[r.getResult(0)] = scalar.region(r.getBody().front(), {init, scalars[i]})[0];
      }
      finish_rows(w + 1);
    }
  }

  IRs walk(size_t w, const Indices& row_index, IR lo, IR hi, int lanes, ArrayRef<IR> init) {
    Walk& walk = walks_[w];
    lanes_of_index_ = lanes;
    return k_.loop(lo, hi, lanes, init, [&](IR column, ArrayRef<IR> carried) {
      Indices here = at(row_index, column, lanes > 1 ? 1 : 0);
      ElementEmitter* self = nullptr;
      ElementEmitter e(k_, lanes, [&](Value v, const Indices& i) -> IR {
        if (auto it = row_values_.find(v); it != row_values_.end()) return k_.splat(it->second, lanes);
        Operation* op = v.getDefiningOp();
        bool computed_here = op && f_.roles.count(op);
        if (computed_here && kept_.count(v) && kept_[v].first < int(w)) return load_kept(v, column, lanes);
        if (c_.slots.has(v) && !computed_here) {
          if (w == 0 && shaped(v).getShape() == ArrayRef<int64_t>(f_.shape)) streamed_.insert(v);
          return self->load(v, c_.buffer(v), i);
        }
        return nullptr;
      });
      self = &e;
      // The first walk waits for memory, the second computes: there the next row is asked for, beyond what the hardware foresees, and the lines that a
      // later walk writes, all at once, are made ours, unless vectors are whole lines, of which nothing has to be read.
      if (w == 1 && lanes > 1) {
        IR place = e.offset(f_.shape, here).base;
        for (Value v : streamed_) prefetch(v, k_.add(place, k_.i64(columns_)), lanes, false);
        for (const Walk& later : ArrayRef(walks_).drop_front(2))
          for (Value v : later.stores)
            if (shaped(v).getShape() == ArrayRef(f_.shape) && !past_caches_.contains(v) && !written_whole(v)) prefetch(v, place, lanes, true);
      }
      for (auto& [v, place] : kept_)
        if (place.first == int(w)) store_kept(v, e.emit(v, here), column, lanes);
      for (Value v : walk.stores) {
        Indices i = shaped(v).getRank() == 0 ? Indices() : here;
        k_.store(element(v), e.emit(v, i), c_.buffer(v), e.offset(shaped(v).getShape(), i).base, lanes, lanes > 1 && past_caches_.contains(v));
      }
      IRs next;
      for (ReduceOp r : walk.reductions) {
        Operation* reducer = simple_reducer(r.getBody().front());
        IR sum = carried[next.size()], x = e.emit(r.getInputs()[0], here);
        if (lanes > 1 && notes_nan(r)) {
          IR noted = carried[next.size() + 1];
          next.push_back(extreme(reducer, sum, x));
          next.push_back(note_nan(noted, x, lanes));
        } else {
          next.push_back(e.compute(reducer, {sum, x}));
        }
      }
      return next;
    });
  }

  // The extreme of floats is nan if one of them is. In vectors that is noted aside, two of them at a time: the extreme itself is then one instruction,
  // not four that wait for each other.
  bool notes_nan(ReduceOp r) {
    return lanes_ > 1 && isa<MaxOp, MinOp>(simple_reducer(r.getBody().front())) && k_.compute_type(element(r.getInputs()[0]))->isFloatTy();
  }
  IR extreme(Operation* reducer, IR x, IR y) {
    return k_.b.CreateSelect(isa<MaxOp>(reducer) ? k_.b.CreateFCmpOGT(x, y) : k_.b.CreateFCmpOLT(x, y), x, y);
  }
  IR note_nan(IR noted, IR x, int lanes) {
    SmallVector<int> low(lanes / 2), high(lanes / 2);
    std::iota(low.begin(), low.end(), 0);
    std::iota(high.begin(), high.end(), lanes / 2);
    IR either = k_.b.CreateFCmpUNO(k_.b.CreateShuffleVector(x, low), k_.b.CreateShuffleVector(x, high));
    return k_.b.CreateOr(noted, k_.b.CreateSExt(either, noted->getType()));
  }
  IR nan_if_noted(IR noted, IR extreme) {
    IR any = k_.b.CreateICmpNE(k_.b.CreateOrReduce(noted), k_.b.getInt32(0));
    return k_.b.CreateSelect(any, llvm::ConstantFP::getNaN(extreme->getType()), extreme);
  }

  // Every other line: the hardware fetches the one beside it.
  void prefetch(Value v, IR offset, int lanes, bool to_write) {
    for (int64_t at = 0, step = 128 / element_bytes(element(v)); at < lanes; at += step)
      k_.prefetch(k_.b.CreateInBoundsGEP(k_.memory_type(element(v)), c_.buffer(v), k_.add(offset, k_.i64(at))), to_write);
  }
  IR kept_address(Value v, IR column) {
    IR base = k_.b.CreateConstInBoundsGEP1_64(k_.b.getInt8Ty(), k_.scratch(), kept_[v].second);
    return k_.b.CreateInBoundsGEP(stored_type(v), base, column);
  }
  llvm::Type* stored_type(Value v) {
    auto* type = k_.compute_type(element(v));
    return type->isIntegerTy(1) ? k_.b.getInt8Ty() : type;
  }
  void store_kept(Value v, IR x, IR column, int lanes) {
    if (x->getType()->getScalarType()->isIntegerTy(1)) x = k_.b.CreateZExt(x, k_.vector(k_.b.getInt8Ty(), lanes));
    k_.b.CreateAlignedStore(x, kept_address(v, column), llvm::Align(1));
  }
  IR load_kept(Value v, IR column, int lanes) {
    IR x = k_.b.CreateAlignedLoad(k_.vector(stored_type(v), lanes), kept_address(v, column), llvm::Align(1));
    return k_.compute_type(element(v))->isIntegerTy(1) ? k_.b.CreateTrunc(x, k_.vector(k_.b.getInt1Ty(), lanes)) : x;
  }

  KernelContext& c_;
  KernelEmitter& k_;
  const Fusion& f_;
  size_t rank_ = 0;
  int64_t rows_ = 1, columns_ = 1, scratch_ = 0;
  int lanes_ = 1;
  int64_t lanes_of_index_ = 1;
  bool flat_ = false;
  SmallVector<Walk> walks_;
  std::map<int, SmallVector<Operation*>> row_ops_;
  llvm::MapVector<Value, std::pair<int, int64_t>> kept_;  // walk that computes it, place in scratch
  DenseMap<Value, IR> row_values_;
  llvm::DenseSet<Value> past_caches_;  // outputs that are not to stay in them
  llvm::SetVector<Value> streamed_;  // what the first walk reads along the row
};

}  // namespace

llvm::Error emit_rows(KernelContext& c) { return emit_transposition(c) ? llvm::Error::success() : RowsEmitter(c).run(); }

}  // namespace cresset::cpu
