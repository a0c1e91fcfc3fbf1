// One kernel under construction: an LLVM function over independent tasks, and the small vocabulary the emitters share.
#pragma once

#include <functional>
#include <string>

#include "cpu/target.h"
#include "cpu/emit/types.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "mlir/IR/BuiltinTypes.h"

namespace cresset::cpu {

using IR = llvm::Value*;
using IRs = llvm::SmallVector<IR>;

/// Of a vector; 1 of a scalar.
inline int lanes_of(llvm::Type* t) { return t->isVectorTy() ? int(llvm::cast<llvm::FixedVectorType>(t)->getNumElements()) : 1; }
inline int lanes_of(IR v) { return lanes_of(v->getType()); }

/// Of an array that is this large not much stays in a core's L2.
constexpr int64_t kBytesBeyondL2 = 2 << 20;
/// Of a kernel's arrays that are this large together the caches keep nothing for the next kernel.
constexpr int64_t kBytesBeyondCaches = 32 << 20;
/// Elements up to so far apart are better read as whole vectors, of which lanes are kept, than one by one.
constexpr int64_t kMostStep = 4;

/// What says, as an i64 in front of a packed weight, what a kernel does with it.
struct PackedWeight {
  enum State : int64_t {
    Elsewhere,  ///< packs as if there were none
    Made,       ///< packs into it
    Complete,   ///< reads it
  };
  static constexpr size_t kHeader = 64;
};

/// How a kernel is launched.
struct Kernel {
  std::string name;
  int64_t tasks = 1;
  double cost = 0;           ///< about the bytes moved or operations done, whichever takes longer: decides serial or parallel
  size_t scratch_bytes = 0;  ///< per thread
  size_t packed_bytes = 0;   ///< of a right operand that is a weight, as it is packed: behind the kernel's other buffers, PackedWeight::kHeader bytes before it

  static constexpr double kSecondsPerCost = 0.25e-9;
  static constexpr double kParallelCost = 12000;  ///< 3 us of work, below which a second thread does not pay,
  static constexpr double kTogetherCost = 40000;  ///< and 10 us of a program's, below which it does not pay to call the others (runtime/thread_pool.h)
  bool parallel() const { return cost >= kParallelCost && tasks > 1; }

  /// The place of `bytes` of scratch, with room for a vector that ends beyond them.
  int64_t reserve(int64_t bytes) {
    int64_t at = int64_t(scratch_bytes);
    scratch_bytes += round_up(bytes, 64) + 64;
    return at;
  }
};

/// Builds `void name(ptr buffers, i64 begin, i64 end, ptr scratch)`. Buffers are read from the array once, at entry.
class KernelEmitter {
 public:
  /// `any_size`: the code is to serve other sizes as well, as far as it can: what a size leaves of tiles and vectors is found when it runs.
  KernelEmitter(llvm::Module& module, const Target& target, const std::string& name, int buffers, bool any_size = false);

  llvm::IRBuilder<> b;
  llvm::Module& module;
  const Target& target;
  const bool any_size;
  llvm::DenseSet<mlir::Operation*> uncontracted;  ///< computed without fused multiply-adds: elsewhere, the same operation gives the same number

  IR buffer(int i) const { return buffers_[i]; }
  /// One that is known only when the kernel runs.
  IR buffer_at(IR i) { return b.CreateLoad(b.getPtrTy(), b.CreateInBoundsGEP(b.getPtrTy(), function_->getArg(0), i)); }
  IR begin() const { return function_->getArg(1); }
  IR end() const { return function_->getArg(2); }
  IR scratch() const { return function_->getArg(3); }
  /// An element of the array that begins at that byte of it.
  IR in_scratch(llvm::Type* type, int64_t at, IR index) { return b.CreateInBoundsGEP(type, b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), scratch(), at), index); }
  IR i64(int64_t v) { return b.getInt64(v); }
  /// What other sizes have otherwise: branches on it stay in the code if that is to serve them.
  IR size(int64_t v) { return any_size ? b.CreateFreeze(i64(v)) : i64(v); }
  llvm::Function* function() const { return function_; }

  /// for (iv = lo; iv < hi; iv += step) with values carried from round to round; returns their last values.
  IRs loop(IR lo, IR hi, int64_t step, llvm::ArrayRef<IR> init, const std::function<IRs(IR iv, llvm::ArrayRef<IR>)>& body);
  void loop(IR lo, IR hi, int64_t step, const std::function<void(IR iv)>& body);
  void loop(IR lo, IR hi, const std::function<void(IR iv)>& body) { loop(lo, hi, 1, body); }
  /// All of [0, count): full vectors first, then what is left by halves of one, a quarter, …; `lanes` are a power of two.
  void along(IR count, int lanes, const std::function<void(IR at, int lanes)>& body);
  /// Whether a size has nothing left of parts, as far as the code may know it.
  bool divides(int64_t part, int64_t size) const { return !any_size && size % part == 0; }
  /// Only what is left, if its positions are not those of a full vector.
  void rest_along(IR count, int lanes, const std::function<void(IR at, int lanes)>& body);
  /// The body for 0, 1, … `count` - 1, one after the other.
  void repeat(int64_t count, const std::function<void(IR i)>& body);
  /// Asks for a line of memory, up to the first or the second cache.
  void prefetch(IR address, bool to_write = false, int cache = 1);
  /// No branch where the condition is a constant, here and in the next two.
  void when(IR condition, const std::function<void()>& then);
  /// One of the two.
  void either(IR condition, const std::function<void()>& then, const std::function<void()>& otherwise);
  /// `usual`, or what `rare` makes where the condition holds.
  IR unless(IR condition, IR usual, const std::function<IR()>& rare);
  /// The same of several; what `rare` makes beyond the usual ones is known only there.
  IRs unless(IR condition, IRs usual, const std::function<IRs()>& rare);

  /// The type of an element in memory (bool is a byte) and in registers (f16 and bf16 compute in f32).
  llvm::Type* memory_type(mlir::Type element);
  llvm::Type* compute_type(mlir::Type element);
  llvm::Type* vector(llvm::Type* scalar, int lanes) { return lanes == 1 ? scalar : llvm::FixedVectorType::get(scalar, lanes); }
  IR splat(IR scalar, int lanes) { return lanes == 1 ? scalar : b.CreateVectorSplat(lanes, scalar); }

  /// Elements `offset`, offset + 1, … of an array of `element`s, in the compute type; and back. What goes past the caches are whole lines.
  IR load(mlir::Type element, IR base, IR offset, int lanes);
  void store(mlir::Type element, IR value, IR base, IR offset, int lanes, bool past_caches = false);
  /// Elements `first`, first + step, …; what lies between them is read as well, unless there are masks, one for each of `step` vectors that follow each other.
  IR load_strided(mlir::Type element, IR base, IR first, int lanes, int64_t step, llvm::ArrayRef<IR> masks = {});
  /// Elements at a vector of offsets.
  IR gather(mlir::Type element, IR base, IR offsets, int lanes);
  /// Whether the machine has instructions for it.
  bool can_mask(mlir::Type element) const;
  /// `sum` of f32 and what pairs of bf16, lane by lane of any vectors of its size, make: their low halves' product and their high halves'.
  IR product_of_pairs(IR a, IR b, IR sum);
  /// Lanes (of i1) as load_masked takes them, for elements of four bytes or more: numbers as wide as those where that is what instructions take.
  IR mask(IR lanes, mlir::Type element);
  /// Elements from `first` on, 0 where the mask is not set: those are not touched.
  IR load_masked(mlir::Type element, IR base, IR first, IR mask);
  IR load_masked_as_stored(mlir::Type element, IR base, IR first, IR mask);  ///< in the memory type
  IR from_memory(mlir::Type element, IR value);
  IR to_memory(mlir::Type element, IR value);
  /// A value of the element's compute type in one at least as wide: operands may be narrower than their product.
  IR widened(mlir::Type element, IR value, llvm::Type* to);
  /// Rounds to the element's own precision, as each operation on f16 and bf16 does. Where denormals may become 0, as products of pairs take
  /// them, bf16 is one instruction on machines that have such products, in place of eight.
  IR round(mlir::Type element, IR value, bool flushes = false);
  /// What was rounded to bf16, before that; or the value itself. And notes that for a value which needs no rounding.
  IR exact(IR value) const { return exact_.contains(value) ? exact_.lookup(value) : value; }
  void note_exact(IR value, IR exact) { exact_[value] = exact; }
  /// Whether a value of f16 or bf16 is one that needs no rounding, because it was read as such or made of such without arithmetic, which is noted.
  bool is_narrow(mlir::Type element, IR value) const;
  void note_narrow(IR value) { unrounded_.insert(value); }

  /// Index arithmetic with the constants folded, so that equal indices are equal pointers.
  IR add(IR x, IR y);
  IR mul(IR x, int64_t y);
  IR min(IR x, IR y);  // signed
  /// What parts of `size` leave from `from` on, one of their beginnings: `size`, or less at the end of all.
  IR part(int64_t all, int64_t size, IR from) { return divides(size, all) ? i64(size) : min(i64(size), b.CreateSub(i64(all), from)); }
  /// first, first + step, first + 2 step, …
  IR sequence(IR first, int lanes, int64_t step = 1);
  /// The vector with its lanes `by` further on; what comes from beyond its ends is anything.
  IR moved(IR vector, IR by);
  /// The lanes of a vector made one, half by half.
  IR fold(IR vector, int lanes, llvm::function_ref<IR(IR, IR)> combine);
  /// The same for up to `lanes` vectors, which share instructions, as a vector with a lane for each.
  IR fold_each(IRs vectors, int lanes, llvm::function_ref<IR(IR, IR)> combine);
  IR plus(IR x, IR y);  ///< of floats or integers
  /// The sum of each vector's lanes.
  IRs sums_of(llvm::ArrayRef<IR> vectors, int lanes);
  /// Of two vectors that follow each other, as a vector: the elements from `first` (0 or 1) on that are two apart.
  IR every_second(IR low, IR high, int first);
  /// For lanes (of i1) of load_strided: which lanes of vector `part`, of the `step` that it reads, they are.
  IR spread(IR lanes, int64_t step, int64_t part);
  /// Vectors of one type, one after the other.
  IR concatenate(llvm::ArrayRef<IR> vectors);
  /// As many vectors as each has lanes, turned: a square.
  void transpose(IRs& rows);
  /// Of 16 numbers those that the low 4 bits of each lane name. AVX-512, lanes by sixteens: one instruction for a register.
  IR look_up(llvm::Constant* table, IR places);
  /// With AVX-512, of vectors of 16 floats: exponents, and significands in [1, 2). Those of 0 and inf are -inf and inf, and 1; below 0 the significand is nan.
  std::pair<IR, IR> split_floats(IR x);
  IR alloca_in_entry(llvm::Type* type, int64_t count);
  IR call_libm(llvm::StringRef name, llvm::ArrayRef<IR> args);  // each lane in turn

  void finish();

 private:
  IR widen(mlir::Type element, IR value);
  IR rounded_to_bf16(IR value);
  IR narrowed(IR value, llvm::Type* to);
  IR converted_to_bf16(IR value);
  IR any_denormal(IR value);

  llvm::Function* function_;
  IRs buffers_;
  llvm::DenseMap<IR, std::pair<mlir::Type, IR>> narrow_;  // values of f16 and bf16 as they are in memory
  llvm::DenseMap<IR, IR> exact_;                          // what was rounded to bf16, before that
  llvm::DenseSet<IR> unrounded_;                          // of f16 or bf16, without a form in memory yet
};

/// Bytes of an element in memory.
int64_t element_bytes(mlir::Type element);
bool is_float(mlir::Type t);

}  // namespace cresset::cpu
