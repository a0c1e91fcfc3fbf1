// The value of a tensor at an index, as code: element-wise operations, and operations that only move elements (broadcast,
// transpose, slice, pad, gather, …) as arithmetic on the index. Fusion is nothing else than emitting one of these
// expressions where another one asks for its operand.
#pragma once

#include <functional>
#include <map>

#include "cpu/emit/emitter.h"
#include "cpu/emit/types.h"
#include "stablehlo/dialect.h"

namespace cresset::cpu {

struct Fusion;

/// Position along one dimension for all lanes of a vector: base + lane * step, or any positions (`lanes`, a vector of i64).
struct Index {
  IR base = nullptr;
  int64_t step = 0;
  int64_t multiple = 1;  ///< base is known to be a multiple of this
  IR lanes = nullptr;
};
using Indices = llvm::SmallVector<Index>;
/// The same position for all lanes.
Index constant_index(KernelEmitter& k, int64_t position);

/// A position that lies within [low, high].
struct BoundedIndex {
  Index index;
  int64_t low, high;
};

/// Marks an exponential whose argument is never above 0 (by simplify()).
inline constexpr llvm::StringLiteral kAtMostZero = "cresset.at_most_zero";

/// Marks a conversion of floats to i32 that are none beyond it, of which only the last byte is kept (by simplify()); that of nan is any.
inline constexpr llvm::StringLiteral kWithinI32 = "cresset.within_i32";

/// Marks a conversion to i32 of unsigned bytes that are at most 127 (by simplify()): two products of these with signed bytes sum up within 16 bits.
inline constexpr llvm::StringLiteral kSevenBits = "cresset.seven_bits";

/// Marks a product of floats that is used more than once: added to something in one kernel, or walk, and not in another, it would be rounded in one place only.
inline constexpr llvm::StringLiteral kShared = "cresset.shared";

/// On a sort: how many of each line's first elements somebody reads (by simplify()).
inline constexpr llvm::StringLiteral kFirstWanted = "cresset.first_wanted";

/// On a gather along rows whose constant positions never decrease (by mark_row_gathers()): how far the last of so many that follow each other lies behind the first one at most, for kLeastReach and
/// each power of two up to kMostReach.
inline constexpr llvm::StringLiteral kReaches = "cresset.reaches";
inline constexpr int kLeastReach = 4, kMostReach = 64;

/// Whether the operation can be emitted as an element expression.
bool is_elementwise(mlir::Operation* op);
bool is_index_operation(mlir::Operation* op);

/// Whether lanes at such an offset are read as whole vectors, of which at least every fourth element is taken, and not one by one.
bool is_read_by_vectors(const Index& offset);

class ElementEmitter {
 public:
  /// Gives a value that is already computed (a loaded buffer, a row's sum), or null to have the operation emitted in place.
  using Leaf = std::function<IR(ElementEmitter&, mlir::Value, const Indices&)>;
  ElementEmitter(KernelEmitter& k, const Fusion& fusion, int lanes, Leaf leaf) : k_(k), fusion_(fusion), lanes_(lanes), leaf_(std::move(leaf)) {}

  /// The elements of `v` at these indices in the compute type; a vector if lanes > 1.
  IR emit(mlir::Value v, const Indices& at);
  /// An element-wise operation on operands that are already computed.
  IR compute(mlir::Operation* op, llvm::ArrayRef<IR> operands);
  /// A region of rank-0 operations (reducers, comparators) on values.
  IRs region(mlir::Block& block, llvm::ArrayRef<IR> arguments);
  /// Loads from a dense row-major array.
  IR load(mlir::Value v, IR base, const Indices& at);

  Index plus(const Index& x, const Index& y);
  /// Row-major offset; `lanes` set if the lanes don't follow each other.
  Index offset(llvm::ArrayRef<int64_t> shape, const Indices& at);
  /// Where a slice begins along a dimension in which it may begin at 0 to `highest`; `at`: of the start's dimensions.
  Index clamped_start(mlir::Value start, const Indices& at, int64_t highest);
  /// Where an operation that only moves elements takes them from; no value of others.
  std::optional<Indices> through(mlir::Operation* op, const Indices& at);

 private:
  IR emit_operation(mlir::Operation* op, const Indices& at);
  IR emit_pad(mlir::stablehlo::PadOp op, const Indices& at);
  IR emit_pad(mlir::stablehlo::PadOp op, const Indices& at, std::optional<std::pair<int64_t, Index>> whole);
  IR emit_gather(mlir::stablehlo::GatherOp op, const Indices& at);
  /// By vectors of which lanes are picked; null if they are read one by one.
  IR emit_row_gather(mlir::stablehlo::GatherOp op, const Indices& at);
  IR picked(IR from, IR places);
  IR emit_random_bits(mlir::stablehlo::CompositeOp op, const Indices& at);
  Indices through_reshape(llvm::ArrayRef<int64_t> from, llvm::ArrayRef<int64_t> to, const Indices& at);
  Index times(const Index& x, int64_t factor);
  IR as_lanes(const Index& x);
  std::optional<BoundedIndex> position(mlir::Value v, const Indices& at);
  IR all_lanes(IR condition) { return lanes_ > 1 && !condition->getType()->isVectorTy() ? k_.splat(condition, lanes_) : condition; }

  KernelEmitter& k_;
  const Fusion& fusion_;
  int lanes_;
  Leaf leaf_;
  std::map<std::pair<void*, std::vector<int64_t>>, IR> memo_;
  std::map<std::vector<int64_t>, Index> whole_;  // of indices that are parts of one: of which
};

}  // namespace cresset::cpu
