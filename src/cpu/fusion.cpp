#include "cpu/fusion.h"

#include "composite/evaluate.h"
#include "cpu/convolution/convolution.h"
#include "cpu/emit/random.h"
#include "cpu/matmul/made_operand.h"
#include "cpu/prepare/rewrite.h"
#include "mlir/IR/Matchers.h"
#include "runtime/thread_pool.h"

namespace cresset::cpu {

using namespace mlir;
using namespace mlir::stablehlo;
namespace {

bool is_splat(Operation* op) {
  auto constant = dyn_cast_or_null<ConstantOp>(op);
  return constant && isa<SplatElementsAttr>(constant.getValue());
}
// An integer that is a sum of positions, each times a number. Whoever sees how it is made reads neighbours as such, and not one by one.
bool is_position(Operation* op, int depth = 0) {
  if (!op || depth > 12) return false;
  if (isa<IotaOp>(op) || is_splat(op)) return true;
  bool sum = isa<AddOp, MulOp, ConvertOp>(op) || is_view(op);
  return sum && isa<IntegerType>(element(op->getResult(0))) && llvm::all_of(op->getOperands(), [&](Value v) { return is_position(v.getDefiningOp(), depth + 1); });
}
bool is_expression(Operation* op) { return is_elementwise(op) || (is_index_operation(op) && (!isa<ConstantOp>(op) || is_splat(op))); }

// Too dear to compute again for each element of a broadcast.
bool is_expensive(Operation* op) {
  if (op->hasAttr(kReaches)) return false;  // a load and a permutation
  return isa<ExpOp, LogOp, TanhOp, LogisticOp, PowOp, SineOp, CosineOp, TanOp, Atan2Op, CbrtOp, Expm1Op, Log1pOp, RsqrtOp, SqrtOp, DivOp,
             RemOp, CustomCallOp, GatherOp, PadOp>(op) || is_random_bits(op);
}
// Whether something expensive is computed on the way to `op`, at as many elements.
bool has_expensive_part(Operation* op, int depth = 0) {
  if (!op || !is_elementwise(op) || depth > 8) return false;
  return is_expensive(op) || llvm::any_of(op->getOperands(), [&](Value v) { return has_expensive_part(v.getDefiningOp(), depth + 1); });
}

// Whether so many operations are on the way to `op`, at as many elements, that a buffer had better hold what many read.
bool has_many_parts(Operation* op) {
  constexpr size_t kMany = 8;
  llvm::SmallSetVector<Operation*, kMany> parts;
  auto add = [&](Operation* part) { if (part && is_elementwise(part) && parts.size() < kMany) parts.insert(part); };
  add(op);
  for (size_t i = 0; i < parts.size(); ++i)
    for (Value v : parts[i]->getOperands()) add(v.getDefiningOp());
  return parts.size() == kMany;
}

// Whether neighbours are read from where they are none, which is worth a copy that is read often.
bool reads_transposed(Operation* op) { return is_elementwise(op) && llvm::any_of(op->getOperands(), [](Value v) { return v.getDefiningOp<TransposeOp>(); }); }

// Whether several windows are read on the way, vectors along their rows: not by what lies along another dimension.
bool reads_windows(Operation* op, int depth = 0) {
  if (!op || !is_elementwise(op) || op->getNumOperands() < 2 || depth > 2) return false;
  return llvm::any_of(op->getOperands(), [&](Value v) { return v.getDefiningOp<SliceOp>() || reads_windows(v.getDefiningOp(), depth + 1); });
}

SmallVector<int64_t> without_trailing_ones(ArrayRef<int64_t> shape) {
  while (!shape.empty() && shape.back() == 1) shape = shape.drop_back();
  return SmallVector<int64_t>(shape);
}

// How many last dimensions of one input it reduces, as a kernel of rows can: one in any case, several if that leaves rows for all threads, of a vector at least. Else 0.
size_t row_rank(Operation* op) {
  constexpr int64_t kLeastElements = 16;
  auto reduce = dyn_cast<ReduceOp>(op);
  if (!reduce || reduce.getInputs().size() != 1 || !simple_reducer(reduce.getBody().front())) return 0;
  ArrayRef<int64_t> shape = shaped(reduce.getInputs()[0]).getShape(), dims = reduce.getDimensions();
  size_t rows = shape.size() - dims.size();
  if (llvm::any_of(dims, [&](int64_t d) { return d < int64_t(rows); })) return 0;
  return dims.size() == 1 || (product(shape.take_front(rows)) >= num_threads() && product(shape.drop_front(rows)) >= kLeastElements) ? dims.size() : 0;
}

class Fuser {
 public:
  Fuser(func::FuncOp main, llvm::function_ref<bool(Operation*)> is_foreign) : main_(main), is_foreign_(is_foreign) {}

  FailureOr<std::vector<Fusion>> run() {
    int position = 0;
    for (Operation& op : main_.getBody().front()) positions_[&op] = position++;
    for (Operation& op : llvm::reverse(main_.getBody().front()))
      if (failed(place(&op))) return failure();
    std::vector<Fusion> result;
    for (auto& fusion : fusions_) {
      settle_rows(*fusion);
      finish(*fusion);
      result.push_back(std::move(*fusion));
    }
    llvm::sort(result, [](const Fusion& a, const Fusion& b) { return a.last < b.last; });
    return result;
  }

 private:
  struct Use {
    Fusion* fusion;
    Operation* user;
    unsigned operand;
  };

  // Where the value is asked for: kernels that emit its users, and whether anybody needs it in memory regardless.
  SmallVector<Use> uses_of(Operation* op, bool& escapes) {
    SmallVector<Use> uses;
    escapes = false;
    for (OpOperand& use : op->getUses()) {
      Operation* user = use.getOwner();
      if (user->getBlock() != op->getBlock()) user = op->getBlock()->findAncestorOpInBlock(*user);
      if (user->hasTrait<OpTrait::IsTerminator>()) escapes = true;
      for (Fusion* fusion : homes_[user]) uses.push_back({fusion, use.getOwner(), use.getOperandNumber()});
    }
    return uses;
  }

  // A loop unrolled in Python makes chains of thousands of operations, and LLVM takes more than twice as long for twice the kernel. A kernel so large is bound by arithmetic:
  // writing and reading a buffer between two of them costs nothing beside it.
  static constexpr size_t kMostOperations = 256;
  static bool is_full(const Fusion& fusion) { return fusion.roles.size() >= kMostOperations; }

  static Fusion* first_of(ArrayRef<Use> uses) {
    return llvm::min_element(uses, [](const Use& a, const Use& b) { return a.fusion->last < b.fusion->last; })->fusion;
  }

  LogicalResult place(Operation* op) {
    if (op->hasTrait<OpTrait::IsTerminator>()) return success();
    bool escapes;
    auto uses = uses_of(op, escapes);
    if (uses.empty() && !escapes) return success();
    if (isa<ConstantOp>(op) && !is_splat(op)) return success();  // a buffer of the program
    for (Value v : op->getResults())
      if (auto type = dyn_cast<RankedTensorType>(v.getType()); !type || isa<ComplexType>(type.getElementType()))
        return op->emitOpError("is not supported by the CPU compiler: type ") << v.getType();

    if (isa<DynamicUpdateSliceOp>(op) || scatters_into_array(op) || overwrites_argument(op)) {
      Fusion& fusion = start(op, isa<ScatterOp>(op) ? Fusion::Scatter : Fusion::Update, Fusion::Element);
      fusion.product = op;
      fusion.in_place = true;
      return success();
    }
    if (is_expression(op) && !is_foreign_(op)) return place_expression(op, uses, escapes), success();
    if (row_rank(op)) return place_row_reduction(op, uses), success();
    if (isa<OptimizationBarrierOp>(op)) return op->emitOpError("should have been removed");
    auto kind = llvm::StringSwitch<std::optional<Fusion::Kind>>(op->getName().stripDialect())
                    .Case("reduce", Fusion::Reduce)
                    .Case("concatenate", Fusion::Concatenate)
                    .Case("dot_general", Fusion::Dot)
                    .Case("convolution", Fusion::Convolution)
                    .Case("reduce_window", Fusion::Window)
                    .Case("select_and_scatter", Fusion::SelectAndScatter)
                    .Case("scatter", Fusion::Scatter)
                    .Case("sort", Fusion::Sort)
                    .Case("triangular_solve", Fusion::TriangularSolve)
                    .Case("composite", is_foreign_(op) ? Fusion::Composite : composite_kind(op).value_or(Fusion::Composite))
                    .Default(std::nullopt);
    if (!kind) return op->emitOpError("is not supported by the CPU compiler");
    if (auto made = made_operand(op)) made_[op] = std::move(made->operations);
    if (Fusion* user = epilogue_of(op, uses)) {
      user->kind = *kind;
      user->product = op;
      return join(op, *user, Fusion::Element), success();
    }
    Fusion& fusion = start(op, *kind, Fusion::Element);
    if (llvm::is_contained({Fusion::Dot, Fusion::Convolution, Fusion::Attention, Fusion::AttentionGradient}, *kind)) fusion.product = op;
    if (*kind == Fusion::Reduce) fusion.shape.assign(shaped(op->getOperand(0)).getShape().begin(), shaped(op->getOperand(0)).getShape().end());
    return success();
  }

  // Into one that a buffer holds as it is.
  static bool scatters_into_array(Operation* op) {
    Value v = isa<ScatterOp>(op) ? updated_by(op) : Value();
    return v && !(v.getDefiningOp() && (is_splat(v.getDefiningOp()) || is_same_bytes(v.getDefiningOp())));
  }

  // A part of what the caller gives away and gets back, perhaps with others.
  bool overwrites_argument(Operation* op) {
    auto argument = updated_by(op) ? overwritten_by(op) : BlockArgument();
    auto result = argument && argument.getOwner() == &main_.getBody().front() ? main_.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), "tf.aliasing_output") : IntegerAttr();
    if (!result) return false;
    for (Operation* next = op; (next = next->hasOneUse() ? *op->user_begin() : nullptr) && updated_by(next) == op->getResult(0);) op = next;
    return main_.getBody().front().getTerminator()->getOperand(unsigned(result.getInt())) == op->getResult(0);
  }

  void place_expression(Operation* op, ArrayRef<Use> uses, bool escapes) {
    // Operations that only move elements cost nothing where they are used, however often that is.
    bool free = is_view(op) || is_splat(op) || is_position(op) || llvm::any_of(uses, [&](const Use& u) { return makes_operand(*u.fusion, op) || is_read_converted(op, u); });
    if ((free || is_remade(op, uses)) && !escapes && llvm::all_of(uses, [&](const Use& u) { return takes_inline(u, op); })) {
      for (const Use& u : uses) join(op, *u.fusion, role_in(op, uses, *u.fusion).value_or(Fusion::Inline));
      evaluations_[op] = evaluations(uses);
      if (!free) remade_[op] = times_remade(uses) + 1;
      return;
    }
    if (!uses.empty() && !is_full(*first_of(uses))) {
      Fusion* first = first_of(uses);
      if (auto role = role_in(op, uses, *first)) return join(op, *first, *role);
      bool alone = !escapes && llvm::all_of(uses, [&](const Use& u) { return u.fusion == first && takes_inline(u, op); });
      bool transposed = llvm::any_of(uses, [](const Use& u) { return isa<TransposeOp>(u.user); }), repeated = !is_aligned_reader(*first, uses) || (isa<PadOp>(op) && transposed);
      // A channel's scale, say, or its weights, which all of its positions share.
      int64_t readers = product(first->shape) / std::max<int64_t>(shaped(op->getResult(0)).getNumElements(), 1);
      bool shared = (readers >= 32 && has_expensive_part(op)) || (readers >= 8 && has_many_parts(op)) || (readers >= 4 && reads_transposed(op)) || is_gathered_often(op, *first, uses);
      if (alone && !shared && !(repeated && is_expensive(op)) && !is_epilogue_before_moves(op) && !(transposed && reads_windows(op)) && inline_depth(op, *first) < 24 && evaluations(uses) <= kMostEvaluations) {
        evaluations_[op] = evaluations(uses);
        return join(op, *first, Fusion::Inline);
      }
    }
    if (Fusion* other = reader_of_windows(op, uses)) return join(op, *other, Fusion::Element);
    Fusion& fusion = start(op, Fusion::Rows, Fusion::Element);
    fusion.shape.assign(shaped(op->getResult(0)).getShape().begin(), shaped(op->getResult(0)).getShape().end());
    if (fusion.shape.empty()) fusion.shape.push_back(1);
    fusion.row_rank = std::max<size_t>(row_rank_behind(op), 1);
  }

  // A kernel that will read the same windows, before anybody needs this: the positions of a pool's largest elements are found by comparing these one after the other, too, and each would be written for it.
  Fusion* reader_of_windows(Operation* op, ArrayRef<Use> uses) {
    for (Value v : op->getOperands())
      if (Operation* windows = v.getDefiningOp(); windows && is_elementwise(windows) && reads_windows(windows))
        for (Operation* user : windows->getUsers()) {
          // Which may not have been placed yet.
          while (homes_[user].empty() && is_elementwise(user) && user->hasOneUse()) user = *user->user_begin();
          for (Fusion* home : homes_[user])
            if (!is_full(*home) && (uses.empty() || first_of(uses)->last > home->last) && role_in(op, uses, *home) == Fusion::Element) return home;
        }
    return nullptr;
  }

  // Whether several kernels read what costs next to nothing to compute again of an array of no more bytes: they had better read that, so that nobody writes this.
  bool is_remade(Operation* op, ArrayRef<Use> uses) {
    constexpr int kMostTimes = 4;  // in a row
    bool several = llvm::any_of(uses, [&](const Use& u) { return u.fusion != uses[0].fusion; }) && llvm::none_of(uses, [](const Use& u) { return is_full(*u.fusion); });
    auto is_shared = [&](const Use& u) { return product(u.fusion->shape) > shaped(op->getResult(0)).getNumElements(); };  // by elements of a row, say
    return several && (is_centred(op) || (is_of_one_array(op) && llvm::none_of(uses, is_shared))) && times_remade(uses) < kMostTimes;
  }
  int times_remade(ArrayRef<Use> uses) {
    int times = 0;
    for (const Use& u : uses) times = std::max(times, remade_.lookup(u.user));
    return times;
  }
  // Whether it is one array, converted, scaled or moved by a number.
  static bool is_of_one_array(Operation* op) {
    if (!is_elementwise(op) || is_expensive(op) || op->getNumResults() != 1 || !isa<FloatType>(element(op->getResult(0)))) return false;
    Value array;
    for (Value v : op->getOperands()) {
      if (is_splat(v.getDefiningOp()) || v == array) continue;
      if (array) return false;
      array = v;
    }
    return array && isa<FloatType>(element(array)) && element_bytes(element(array)) <= element_bytes(element(op->getResult(0)));
  }

  // Whether it is what is in memory less (or times) what that was reduced to, or both, as for a norm.
  static bool is_centred(Operation* op) {
    constexpr int64_t kFew = 64;
    constexpr int kMostSteps = 8;
    if (!isa<SubtractOp, MulOp>(op) || op->getOperand(0) == op->getOperand(1)) return false;
    auto is_reduced = [&](Value v) {
      Operation* from = v.getDefiningOp();
      if (!isa_and_nonnull<BroadcastInDimOp>(from) || shaped(from->getOperand(0)).getNumElements() * kFew > shaped(v).getNumElements()) return false;
      for (int step = 0; step < kMostSteps && from && (isa<BroadcastInDimOp, ReshapeOp>(from) || is_elementwise(from)); ++step) from = from->getOperand(0).getDefiningOp();
      return isa_and_nonnull<ReduceOp>(from);
    };
    for (int64_t i : {0, 1}) {
      Value array = op->getOperand(unsigned(i));
      Operation* maker = array.getDefiningOp();
      bool in_memory = !maker || !is_expression(maker) || (is_elementwise(maker) && !array.hasOneUse()) || (isa<MulOp>(op) && isa<SubtractOp>(maker) && is_centred(maker));
      if (in_memory && is_reduced(op->getOperand(unsigned(1 - i)))) return true;
    }
    return false;
  }

  // Whether gathers read each element several times, as those that resize an image do, what is dear to compute.
  bool is_gathered_often(Operation* op, const Fusion& fusion, ArrayRef<Use> uses) {
    constexpr int64_t kOften = 4;
    bool gathered = llvm::any_of(uses, [](const Use& u) { return isa<GatherOp>(u.user); });
    return gathered && has_expensive_part(op) && evaluations(uses) * product(fusion.shape) >= kOften * shaped(op->getResult(0)).getNumElements();
  }

  // Whether a product's epilogue had better write this, of which others read what lies elsewhere: a pad, windows, a concatenation; or what is transposed, if it is narrower than the product. That keeps them
  // from being parts of the epilogue, and it from what they would take inline. What is narrowest on the way is written.
  static bool is_epilogue_before_moves(Operation* op) {
    constexpr int kMostSteps = 64;
    auto is_moved = [](Operation* op) { return llvm::any_of(op->getUsers(), [](Operation* user) { return isa<PadOp, SliceOp, ConcatenateOp>(user); }); };
    auto is_transposed = [](Operation* op) {
      while (op->hasOneUse() && isa<ReshapeOp>(*op->user_begin())) op = *op->user_begin();
      return op->hasOneUse() && isa<TransposeOp>(*op->user_begin());
    };
    Operation* last = op;
    for (int step = 0; step < kMostSteps && is_elementwise(last) && !is_moved(last) && !is_transposed(last) && last->hasOneUse(); ++step) last = *last->user_begin();
    if (!is_elementwise(last) || !(is_moved(last) || is_transposed(last))) return false;
    int64_t bytes = element_bytes(element(op->getResult(0)));
    auto is_narrow = [&](Operation* product) { return is_moved(last) || bytes < element_bytes(element(product->getResult(0))); };
    for (int step = 0; step < kMostSteps && is_elementwise(op); ++step) {
      auto shape = shaped(op->getResult(0)).getShape();
      auto above = llvm::find_if(op->getOperands(), [&](Value v) {
        Operation* from = before_reshapes(v).getDefiningOp();
        return shaped(v).getNumElements() == product(shape) && from && !is_splat(from) && !isa<BroadcastInDimOp, TransposeOp, SliceOp, DynamicSliceOp>(from);
      });
      if (above == op->getOperands().end()) return false;
      op = before_reshapes(*above).getDefiningOp();
      if (isa<DotGeneralOp, ConvolutionOp>(op)) return product_shape(op).has_value() && is_narrow(op);
      if (element_bytes(element(op->getResult(0))) < bytes) return false;
    }
    return false;
  }

  // How often a kernel computes this for one of its elements: once for all that read it where they are, once more for each that reads it elsewhere. The steps of a
  // cumulative sum would double it each time.
  static constexpr int64_t kMostEvaluations = 16;
  static constexpr unsigned kMostPartsComputed = 64;  // within a concatenation: each is code of its own there, where alone all of them may share a kernel
  int64_t evaluations(ArrayRef<Use> uses) {
    int64_t here = 0, elsewhere = 0;
    for (const Use& u : uses) {
      int64_t times = std::max<int64_t>(1, evaluations_.lookup(u.user));
      if (is_elementwise(u.user)) here = std::max(here, times);
      else elsewhere += times;
    }
    return here + elsewhere;
  }

  void place_row_reduction(Operation* op, ArrayRef<Use> uses) {
    auto input = shaped(op->getOperand(0));
    const size_t rank = row_rank(op);
    if (!uses.empty() && !is_full(*first_of(uses))) {
      Fusion* first = first_of(uses);
      if (first->kind == Fusion::Rows && ArrayRef<int64_t>(first->shape) == input.getShape() && first->row_rank == rank && role_in(op, uses, *first) == Fusion::Row)
        return join(op, *first, Fusion::Row);
    }
    if (Fusion* sibling = sibling_of(op, uses)) return join(op, *sibling, Fusion::Row);
    bool by_rows = rank == 1 || has_company(op);
    Fusion& fusion = start(op, by_rows ? Fusion::Rows : Fusion::Reduce, by_rows ? Fusion::Row : Fusion::Element);
    fusion.shape.assign(input.getShape().begin(), input.getShape().end());
    if (by_rows) fusion.row_rank = rank;
  }

  // Whether the same rows are reduced for this before, or for others. A sum of planes alone, as for a pool, leaves what it is computed of to the epilogue of a product.
  static bool has_company(Operation* op) {
    const size_t rank = row_rank(op);
    auto reduces_alike = [&](Operation* user) { return user != op && row_rank(user) == rank && shaped(user->getOperand(0)).getShape() == shaped(op->getOperand(0)).getShape(); };
    Operation* input = op->getOperand(0).getDefiningOp();
    if (input && row_rank_behind(input) == rank) return true;
    return llvm::any_of(arrays_behind(op->getOperand(0)), [&](Value v) {
      return llvm::any_of(v.getUsers(), [&](Operation* user) { return reduces_alike(user) || (is_elementwise(user) && llvm::any_of(user->getUsers(), reduces_alike)); });
    });
  }

  // One of the last kernels that reduces rows of what is read or computed for this as well, and does so before anybody needs this.
  Fusion* sibling_of(Operation* op, ArrayRef<Use> uses) {
    constexpr size_t kMostKernels = 16;
    const size_t rank = row_rank(op);
    ArrayRef<int64_t> shape = shaped(op->getOperand(0)).getShape();
    auto arrays = arrays_behind(op->getOperand(0));
    for (auto& fusion : llvm::make_range(fusions_.rbegin(), fusions_.rbegin() + std::min(kMostKernels, fusions_.size()))) {
      if (fusion->kind != Fusion::Rows || is_full(*fusion) || ArrayRef<int64_t>(fusion->shape) != shape || fusion->row_rank != rank) continue;
      bool alike = llvm::any_of(fusion->roles, [&](auto& r) {
        return r.second == Fusion::Row && isa<ReduceOp>(r.first) && llvm::any_of(arrays_behind(r.first->getOperand(0)), [&](Value v) { return arrays.contains(v); });
      });
      if (alike && (uses.empty() || first_of(uses)->last > fusion->last) && role_in(op, uses, *fusion) == Fusion::Row) return fusion.get();
    }
    return nullptr;
  }
  // Itself and arrays of its shape that it is computed of.
  static llvm::SetVector<Value> arrays_behind(Value v) {
    constexpr size_t kMostArrays = 16;
    llvm::SetVector<Value> arrays;
    arrays.insert(v);
    for (size_t i = 0; i < arrays.size() && arrays.size() < kMostArrays; ++i)
      if (Operation* op = arrays[i].getDefiningOp(); op && is_elementwise(op))
        for (Value x : op->getOperands())
          if (shaped(x).getShape() == shaped(v).getShape() && !isa_and_nonnull<ConstantOp, BroadcastInDimOp>(x.getDefiningOp())) arrays.insert(x);
    return arrays;
  }

  // The element-wise kernel of a product's first user, if it can work on the sums while they are in registers.
  Fusion* epilogue_of(Operation* op, ArrayRef<Use> uses) {
    auto shape = product_shape(op);
    if (!shape || uses.empty()) return nullptr;
    Fusion* first = first_of(uses);
    if (first->kind != Fusion::Rows) return nullptr;
    for (const Use& u : uses)
      if (u.fusion == first && (first->roles.lookup(u.user) != Fusion::Element || !(is_elementwise(u.user) || isa<ReshapeOp>(u.user)))) return nullptr;
    ArrayRef<int64_t> space = shape->leading(first->shape);
    if (product(space) != shape->rows || product(ArrayRef(first->shape).drop_front(space.size())) != shape->columns) return nullptr;
    for (auto& [other, role] : first->roles)
      if (role == Fusion::Row || !has_columns(other, *first, int64_t(space.size()), op)) return nullptr;
    return first;
  }
  // The dimensions from `merged` on are one for a product: what has the shape of the kernel must not tell them apart.
  bool has_columns(Operation* op, const Fusion& fusion, int64_t merged, Operation* product) {
    if (is_random_bits(op)) return false;  // a tile is too narrow for all words of a block
    if (merged + 1 >= int64_t(fusion.shape.size()) || shaped(op->getResult(0)).getShape() != ArrayRef<int64_t>(fusion.shape)) return true;
    return !tells_apart(op, merged) || (isa<ReshapeOp>(op) && op->getOperand(0).getDefiningOp() == product);
  }
  bool is_in_columns(Operation* op, const Fusion& fusion) {
    return has_columns(op, fusion, int64_t(product_shape(fusion.product)->leading(fusion.shape).size()), fusion.product);
  }
  static bool has_epilogue(const Fusion& fusion) { return fusion.product && fusion.roles.size() > 1 && !fusion.shape.empty(); }
  // The product's own operands and the views they are seen through.
  static bool feeds_product(Operation* op, const Fusion& fusion) {
    return op == fusion.product || ((is_view(op) || isa<ConvertOp>(op) || less_number(op->getResult(0))) && llvm::any_of(op->getUsers(), [&](Operation* user) { return fusion.roles.contains(user) && feeds_product(user, fusion); }));
  }

  // Whether a product does this conversion where it reads an operand: of bytes to wider numbers, and of what a caller gives in half as many bits, which leaves less to be read; of a
  // caller's f32 to bf16, as weights under autocast, for as many rows as read it about twice.
  static bool is_read_converted(Operation* op, const Use& use) {
    constexpr int64_t kMostRows = 1536;
    if (!use.fusion->product || !feeds_product(use.user, *use.fusion)) return false;
    if (op->getNumResults() == 1 && less_number(op->getResult(0))) return use.user == use.fusion->product && use.operand == 0;
    auto convert = dyn_cast<ConvertOp>(op);
    if (!convert) return false;
    if (auto less = less_number(use.user->getResult(0))) return less->bytes == convert;
    if (auto convolution = dyn_cast<ConvolutionOp>(use.fusion->product)) return use.user == convolution && is_channels_last(convolution) && is_byte(element(convert.getOperand())) && (use.operand == 0 || !is_depthwise_channels_last(convolution));
    if (!isa<DotGeneralOp>(use.fusion->product)) return false;
    Type from = element(convert.getOperand()), to = element(convert);
    if (is_byte(from)) return isa<FloatType>(to) || (isa<IntegerType>(to) && to.getIntOrFloatBitWidth() > 8);
    Value base = convert.getOperand();
    while (base.getDefiningOp() && is_view(base.getDefiningOp())) base = base.getDefiningOp()->getOperand(0);
    if (!isa<BlockArgument>(base)) return false;
    return from.isF32() ? to.isBF16() && product_shape(use.fusion->product)->rows <= kMostRows : (from.isBF16() || from.isF16()) && to.isF32();
  }
  // Whether a kernel reads an array more than once, as one that reduces its rows: then elements that are neighbours elsewhere are better brought together before.
  static bool reads_again(Operation* op, const Fusion& fusion) {
    constexpr int64_t kManyBytes = 32 << 10;
    auto type = shaped(op->getResult(0));
    return type.getNumElements() * element_bytes(type.getElementType()) > kManyBytes && llvm::any_of(fusion.roles, [](auto& r) { return r.second == Fusion::Row && isa<ReduceOp>(r.first); });
  }
  // Whether the kernel computes `op` as part of its user.
  bool takes_inline(const Use& use, Operation* op) {
    const bool in_operand = makes_operand(*use.fusion, use.user);
    if (makes_operand(*use.fusion, op) && (in_operand || feeds_product(use.user, *use.fusion))) return true;
    if (in_operand) return is_splat(op) || is_same_bytes(op);
    if (has_epilogue(*use.fusion) && !feeds_product(use.user, *use.fusion)) return is_in_columns(op, *use.fusion);
    if (use.fusion->product && use.operand == 1 && is_splat(op) && less_number(use.user->getResult(0))) return true;
    switch (use.fusion->kind) {
      case Fusion::Rows: return !(isa<TransposeOp>(op) && reads_again(op, *use.fusion));
      case Fusion::Reduce: return true;
      case Fusion::Concatenate: return isa<ReshapeOp>(op) || use.fusion->roles.front().first->getNumOperands() <= kMostPartsComputed;
      case Fusion::Update: return use.user != use.fusion->product || use.operand > 0;
      case Fusion::Dot:
      case Fusion::Attention:
      case Fusion::AttentionGradient:
        if (isa<PadOp>(use.user) && use.operand == 1) return is_splat(op);
        return (is_view(op) || is_read_converted(op, use)) && (use.user != use.fusion->product || reads_window(use.user, use.operand)) && feeds_product(use.user, *use.fusion) && is_strided(op, *use.fusion);
      case Fusion::Convolution: return is_same_bytes(op) || is_read_converted(op, use);
      case Fusion::Composite: return isa<ReshapeOp>(op);
      case Fusion::Window:
        return isa<IotaOp>(op) || is_same_bytes(op);
      case Fusion::Scatter:
        if (use.fusion->in_place && use.user == use.fusion->product && use.operand == 0) return false;
        return (is_splat(op) && use.operand < (use.user->getNumOperands() - 1) / 2) || is_same_bytes(op) || is_made_into_updates(op, use);  // the first: what is scattered into
      case Fusion::Sort:
        return (use.operand > 0 && is_position_in(dyn_cast<SortOp>(use.user), op)) || is_same_bytes(op);
      default: return is_same_bytes(op);
    }
  }
  // Whether only the updates of a scatter are made of it, in vectors. What a row of them shares and is dear to compute is computed before, once.
  static bool is_made_into_updates(Operation* op, const Use& use) {
    int64_t elements = updates_made(use.user, use.operand);
    return elements && (is_view(op) || shaped(op->getResult(0)).getNumElements() >= elements || !has_expensive_part(op));
  }
  // How many updates by rows are made of this operand; 0 if it is used otherwise, too.
  static int64_t updates_made(Operation* user, unsigned operand) {
    if (auto scatter = dyn_cast<ScatterOp>(user)) return operand > scatter.getInputs().size() && updates_whole_rows(scatter) ? shaped(scatter.getUpdates()[0]).getNumElements() : 0;
    int64_t elements = 0;
    for (OpOperand& use : user->getUses())
      if (elements = updates_made(use.getOwner(), use.getOperandNumber()); !elements) return 0;
    return elements;
  }
  // See Slots.
  static bool is_same_bytes(Operation* op) { return isa<ReshapeOp>(op) || (is_splat(op) && shaped(op->getResult(0)).getRank() == 0); }
  // Where each element stands on its line.
  static bool is_position_in(SortOp sort, Operation* op) {
    auto iota = dyn_cast<IotaOp>(op);
    if (!sort || !iota || !isa<IntegerType>(element(iota))) return false;
    int64_t dim = int64_t(sort.getDimension());
    return int64_t(iota.getIotaDimension()) == (dim < 0 ? dim + shaped(iota).getRank() : dim);
  }
  // Whether strides express the whole way from the operation's operand to those of the product.
  bool is_strided(Operation* op, const Fusion& fusion) {
    auto reaches = [&](Value v) {
      Operation* maker = v.getDefiningOp();
      while (maker && maker != op && fusion.roles.contains(maker) && (is_view(maker) || isa<ConvertOp, SubtractOp>(maker))) maker = maker->getOperand(0).getDefiningOp();
      return maker == op;
    };
    auto is_base = [&](Value v) { return v == op->getOperand(0); };
    return llvm::all_of(fusion.product->getOperands(), [&](Value v) {
      if (!reaches(v)) return true;
      auto less = less_number(v);
      return less && !is_base(v) ? less->bytes == op || view_of(less->bytes, is_base, true) : view_of(v, is_base, isa<DotGeneralOp>(fusion.product)).has_value();
    });
  }

  // Whether the kernel's product makes its operand by this operation, among others.
  bool makes_operand(const Fusion& fusion, Operation* op) {
    auto made = made_.find(fusion.product);
    return made != made_.end() && made->second.contains(op);
  }
  bool is_aligned_reader(const Fusion& fusion, ArrayRef<Use> uses) {
    return llvm::all_of(uses, [&](const Use& u) { return !isa<BroadcastInDimOp, GatherOp>(u.user) && (fusion.kind != Fusion::Rows || fusion.roles.lookup(u.user) == Fusion::Element || is_elementwise(u.user)); });
  }
  // How many operations of the kernel follow each other behind this one.
  int inline_depth(Operation* op, const Fusion& fusion) {
    int depth = 1;
    for (Operation* user = op; user->hasOneUse() && fusion.roles.contains(*user->user_begin()) && depth < 64; user = *user->user_begin()) ++depth;
    return depth;
  }

  // Element or Row if every use within the kernel allows it.
  std::optional<Fusion::Role> role_in(Operation* op, ArrayRef<Use> uses, const Fusion& fusion) {
    if (fusion.kind != Fusion::Rows && !has_epilogue(fusion)) return std::nullopt;
    if (has_epilogue(fusion) && !is_in_columns(op, fusion)) return std::nullopt;
    ArrayRef<int64_t> shape = shaped(op->getResult(0)).getShape(), space = fusion.shape;
    auto role_of = [&](Operation* user) { auto it = fusion.roles.find(user); return it == fusion.roles.end() ? Fusion::Inline : it->second; };
    bool reduction = isa<ReduceOp>(op);
    if (!reduction && shape == space &&
        llvm::all_of(uses, [&](const Use& u) {
          return u.fusion != &fusion || (role_of(u.user) == Fusion::Element && is_elementwise(u.user)) ||
                 (isa<ReduceOp>(u.user) && role_of(u.user) == Fusion::Row && u.operand == 0);
        }))
      return Fusion::Element;
    if (has_epilogue(fusion)) return std::nullopt;
    if (space.size() < fusion.row_rank || shape.size() > space.size() || without_trailing_ones(shape) != without_trailing_ones(space.drop_back(fusion.row_rank))) return std::nullopt;
    if (!reduction && !is_elementwise(op) && !isa<ReshapeOp>(op)) return std::nullopt;
    bool fits = llvm::all_of(uses, [&](const Use& u) {
      if (u.fusion != &fusion) return true;
      if (auto broadcast = dyn_cast<BroadcastInDimOp>(u.user)) {
        if (role_of(u.user) != Fusion::Element) return false;
        for (auto [k, d] : llvm::enumerate(broadcast.getBroadcastDimensions()))
          if (int64_t(k) != d || (d < int64_t(space.size() - fusion.row_rank) && shape[k] != space[d])) return false;
        return true;
      }
      return role_of(u.user) == Fusion::Row && !isa<ReduceOp>(u.user);
    });
    return fits ? std::optional(Fusion::Row) : std::nullopt;
  }

  Fusion& start(Operation* op, Fusion::Kind kind, Fusion::Role role) {
    fusions_.push_back(std::make_unique<Fusion>());
    Fusion& fusion = *fusions_.back();
    fusion.kind = kind;
    fusion.last = positions_[op];
    join(op, fusion, role);
    return fusion;
  }
  void join(Operation* op, Fusion& fusion, Fusion::Role role) {
    if (!fusion.roles.insert({op, role}).second) return;
    homes_[op].insert(&fusion);
  }

  // Rows of several dimensions that nobody has joined are none.
  void settle_rows(Fusion& fusion) {
    if (fusion.kind != Fusion::Rows || fusion.row_rank == 1) return;
    int64_t of_rows = llvm::count_if(fusion.roles, [](auto& r) { return r.second == Fusion::Row; });
    bool alone = of_rows == 1 && row_rank(fusion.roles.front().first) && llvm::none_of(fusion.roles, [&](auto& r) { return r.second == Fusion::Element && written_for_others(r.first); });
    if (alone) {
      fusion.kind = Fusion::Reduce;
      for (auto& [op, role] : llvm::drop_begin(fusion.roles)) role = Fusion::Inline;
    }
    if (alone || !of_rows) fusion.row_rank = 1;
  }

  // Program order, buffers read and written.
  void finish(Fusion& fusion) {
    SmallVector<std::pair<Operation*, Fusion::Role>> ordered(fusion.roles.begin(), fusion.roles.end());
    llvm::sort(ordered, [&](auto& a, auto& b) { return positions_[a.first] < positions_[b.first]; });
    fusion.roles.clear();
    for (auto& [op, role] : ordered) fusion.roles.insert({op, role});
    auto is_computed_here = [&](Value v) { return v.getDefiningOp() && fusion.roles.count(v.getDefiningOp()); };
    auto is_product_operand = [&](Value v) {
      return fusion.product && llvm::any_of(v.getUses(), [&](OpOperand& use) {
        bool is_number = isa<SubtractOp>(use.getOwner()) && use.getOperandNumber() == 1;
        return !is_number && fusion.roles.contains(use.getOwner()) && feeds_product(use.getOwner(), fusion);
      });
    };
    // Like products these read their operands from memory; everybody else writes a repeated number into the code.
    const bool from_memory = llvm::is_contained({Fusion::Composite, Fusion::Sort, Fusion::TriangularSolve, Fusion::Alignment}, fusion.kind);
    auto read = [&](Value v) {
      if (!is_computed_here(v) && (from_memory || is_product_operand(v) || !is_splat(v.getDefiningOp()))) fusion.inputs.insert(v);
    };
    for (auto& [op, role] : ordered) {
      for (Value v : op->getOperands()) read(v);
      for (Region& region : op->getRegions())
        region.walk([&](Operation* inner) {
          for (Value v : inner->getOperands())
            if (v.getParentBlock() == op->getBlock()) read(v);
        });
      if (role == Fusion::Inline) continue;
      for (Value v : op->getResults())
        if (llvm::any_of(v.getUsers(), [&](Operation* user) {
              if (user->getBlock() != op->getBlock()) user = op->getBlock()->findAncestorOpInBlock(*user);
              return user->hasTrait<OpTrait::IsTerminator>() ||
                     llvm::any_of(homes_[user], [&](Fusion* home) { return home != &fusion && !homes_[op].contains(home); });
            }) || (fusion.kind != Fusion::Rows && !has_epilogue(fusion) && role == Fusion::Element && !is_expression(op)))
          if (!is_free_here(op)) fusion.outputs.insert(v);
    }
  }
  // Emitted again wherever it is used, so never written for others.
  bool is_free_here(Operation* op) {
    return homes_[op].size() > 1 || ((is_view(op) || is_splat(op) || is_position(op)) && homes_[op].size() == 1 && !written_for_others(op));
  }
  bool written_for_others(Operation* op) {
    for (Operation* user : op->getUsers()) {
      if (user->hasTrait<OpTrait::IsTerminator>()) return true;
      for (Fusion* home : homes_[user])
        if (!homes_[op].contains(home)) return true;
    }
    return false;
  }

  DenseMap<Operation*, DenseSet<Operation*>> made_;  // by products: see MadeOperand
  func::FuncOp main_;
  llvm::function_ref<bool(Operation*)> is_foreign_;
  std::vector<std::unique_ptr<Fusion>> fusions_;
  DenseMap<Operation*, int> positions_;
  DenseMap<Operation*, llvm::SmallSetVector<Fusion*, 2>> homes_;
  DenseMap<Operation*, int64_t> evaluations_;  // of what is computed as part of its users
  DenseMap<Operation*, int> remade_;           // how often in a row: see is_remade()
};

}  // namespace

bool tells_apart(Operation* op, int64_t first) {
  if (is_elementwise(op) || is_splat(op)) return false;
  auto broadcast = dyn_cast<BroadcastInDimOp>(op);
  return !broadcast || llvm::any_of(llvm::enumerate(broadcast.getBroadcastDimensions()), [&](auto d) {
    return d.value() >= first && shaped(broadcast.getOperand()).getDimSize(d.index()) != 1;
  });
}

// Whether the last dimensions of what it moves, from `first` on, are those of its result. Of the first of them a slice may take a part: it is one run of memory, too.
static bool moves_others(Operation* op, int64_t first) {
  auto shape = shaped(op->getResult(0)).getShape();
  const auto last = llvm::seq<int64_t>(first, int64_t(shape.size()));
  if (auto slice = dyn_cast<SliceOp>(op)) return llvm::all_of(slice.getStrides().drop_front(first), [](int64_t step) { return step == 1; }) && shape.drop_front(first + 1) == shaped(slice.getOperand()).getShape().drop_front(first + 1);
  if (auto pad = dyn_cast<PadOp>(op)) return llvm::all_of(last, [&](int64_t d) { return !pad.getEdgePaddingLow()[d] && !pad.getEdgePaddingHigh()[d] && !pad.getInteriorPadding()[d]; });
  if (auto reverse = dyn_cast<ReverseOp>(op)) return llvm::all_of(reverse.getDimensions(), [&](int64_t d) { return d < first; });
  if (auto transpose = dyn_cast<TransposeOp>(op)) return llvm::all_of(last, [&](int64_t d) { return transpose.getPermutation()[d] == d; });
  return false;
}
bool tells_apart(const Fusion& fusion, ArrayRef<Value> values, size_t count) {
  llvm::SetVector<Value> reached(values.begin(), values.end());
  for (size_t i = 0; i < reached.size(); ++i) {
    Operation* op = reached[i].getDefiningOp();
    if (!op || !fusion.roles.contains(op) || is_splat(op)) continue;
    const int64_t first = shaped(reached[i]).getRank() - int64_t(count);
    if (is_elementwise(op)) {
      for (Value v : op->getOperands())
        if (shaped(v).getShape() == shaped(reached[i]).getShape()) reached.insert(v);
    } else if (isa<ReshapeOp>(op)) {
      if (Operation* from = op->getOperand(0).getDefiningOp(); from && fusion.roles.contains(from)) return true;
    } else if (moves_others(op, first)) {
      reached.insert(op->getOperand(0));
    } else if (tells_apart(op, first)) {
      return true;
    }
  }
  return false;
}

size_t row_rank_behind(Operation* op) {
  constexpr size_t kMostSteps = 64;
  ArrayRef<int64_t> shape = shaped(op->getResult(0)).getShape();
  llvm::SetVector<Operation*> found;
  found.insert(op);
  for (size_t i = 0; i < found.size() && i < kMostSteps; ++i) {
    if (isa<ReduceOp>(found[i])) {
      if (size_t rank = row_rank(found[i]); rank && shaped(found[i]->getOperand(0)).getShape() == shape) return rank;
    } else if (is_elementwise(found[i]) || isa<BroadcastInDimOp, ReshapeOp>(found[i])) {
      for (Value v : found[i]->getOperands())
        if (Operation* before = v.getDefiningOp()) found.insert(before);
    }
  }
  return 0;
}

Value updated_by(Operation* op) {
  if (auto scatter = dyn_cast<ScatterOp>(op); scatter && scatter.getInputs().size() == 1) return scatter.getInputs()[0];
  auto update = dyn_cast<DynamicUpdateSliceOp>(op);
  return update ? update.getOperand() : Value();
}
std::optional<SmallVector<int64_t>> constant_starts(DynamicUpdateSliceOp op) {
  SmallVector<int64_t> starts;
  for (auto [start, whole, part] : llvm::zip(op.getStartIndices(), shaped(op).getShape(), shaped(op.getUpdate()).getShape())) {
    llvm::APInt first;
    if (!matchPattern(start, m_ConstantInt(&first))) return std::nullopt;
    int64_t at = is_unsigned(element(start)) ? int64_t(first.getLimitedValue(std::numeric_limits<int64_t>::max())) : first.getSExtValue();
    starts.push_back(std::clamp<int64_t>(at, 0, whole - part));
  }
  return starts;
}
BlockArgument overwritten_by(Operation* update) {
  while (Value v = updated_by(update)) {
    if (auto argument = dyn_cast<BlockArgument>(v)) return argument;
    update = v.getDefiningOp();
    if (!v.hasOneUse()) break;
  }
  return {};
}

Operation* simple_reducer(Block& body) {
  Operation* op = composite::combiner(*body.getParent());
  return isa_and_nonnull<AddOp, MulOp, MaxOp, MinOp, AndOp, OrOp>(op) ? op : nullptr;
}

std::optional<LessNumber> less_number(Value v) {
  auto is_within_channels = [](Operation* user) { return isa<ConvolutionOp>(user) && is_depthwise_channels_last(cast<ConvolutionOp>(user)); };
  auto subtract = v.getDefiningOp<SubtractOp>();
  const bool is_taken = subtract && (element(v).isInteger(32) || (element(v).isF32() && llvm::all_of(v.getUsers(), is_within_channels)));
  auto convert = is_taken ? subtract.getLhs().getDefiningOp<ConvertOp>() : ConvertOp();
  auto constant = convert && is_byte(element(convert.getOperand())) ? subtract.getRhs().getDefiningOp<ConstantOp>() : ConstantOp();
  auto number = constant ? dyn_cast<SplatElementsAttr>(constant.getValue()) : SplatElementsAttr();
  if (!number) return std::nullopt;
  double exact = element(v).isF32() ? number.getSplatValue<APFloat>().convertToDouble() : double(number.getSplatValue<APInt>().getSExtValue());
  int64_t n = int64_t(exact);
  return n == exact && n >= -255 && n <= 255 ? std::optional(LessNumber{convert, n}) : std::nullopt;  // what is left has 16 bits
}

bool has_seven_bits(Value operand) {
  Operation* op = operand.getDefiningOp();
  if (auto less = less_number(operand)) op = less->bytes;
  while (op && is_view(op)) op = op->getOperand(0).getDefiningOp();
  return op && op->hasAttr(kSevenBits);
}

std::optional<Fusion::Kind> composite_kind(Operation* op) {
  if (is_grouped_product(op)) return Fusion::Dot;
  return is_alignment(op) ? std::optional(Fusion::Alignment) : attention_kind(op);
}

std::optional<ProductShape> product_shape(Operation* op) {
  if (is_grouped_product(op)) {
    int64_t columns = shaped(op->getResult(0)).getShape().back();
    return ProductShape{shaped(op->getResult(0)).getNumElements() / columns, columns};
  }
  if (auto dot = dyn_cast<DotGeneralOp>(op)) {
    auto dims = dot.getDotDimensionNumbers();
    auto rhs = shaped(dot.getRhs());
    int64_t columns = rhs.getNumElements();
    for (ArrayRef<int64_t> taken : {dims.getRhsBatchingDimensions(), dims.getRhsContractingDimensions()})
      for (int64_t d : taken) columns /= rhs.getDimSize(d);
    return ProductShape{shaped(dot).getNumElements() / columns, columns};
  }
  if (auto convolution = dyn_cast<ConvolutionOp>(op)) {
    auto dims = convolution.getDimensionNumbers();
    auto shape = shaped(convolution).getShape();
    if (is_channels_last(convolution)) return ProductShape{product(shape.drop_back()), shape.back()};
    if (!llvm::is_sorted(dims.getOutputSpatialDimensions())) return std::nullopt;
    if (dims.getOutputBatchDimension() == 0 && dims.getOutputFeatureDimension() == 1 && convolution.getBatchGroupCount() == 1)
      return ProductShape{shape[0] * shape[1], product(shape.drop_front(2))};
    // The gradient of a kernel: positions of all "images" are neighbours.
    if (dims.getOutputFeatureDimension() == 0 && dims.getOutputBatchDimension() == 1) return ProductShape{shape[0], product(shape.drop_front(1))};
  }
  return std::nullopt;
}

FailureOr<std::vector<Fusion>> fuse(func::FuncOp main, llvm::function_ref<bool(Operation*)> is_foreign) { return Fuser(main, is_foreign).run(); }

}  // namespace cresset::cpu
