// One emitter for each kind of fusion. Each fills in the body of its kernel and says how it is to be launched.
#pragma once

#include "cpu/emit/element.h"
#include "cpu/emit/emitter.h"
#include "cpu/fusion.h"

namespace cresset::cpu {

/// Where a kernel finds its values: positions in its array of buffers, outputs first, then inputs.
class Slots {
 public:
  explicit Slots(const Fusion& fusion) {
    for (mlir::Value v : fusion.outputs) slots_[v] = int(slots_.size());
    for (mlir::Value v : fusion.inputs) slots_.insert({v, int(slots_.size())});
  }
  int count() const { return int(slots_.size()); }
  /// Of the value itself or, where only memory will do, of the one whose reshape it is.
  int at(mlir::Value v) const { return *find(v); }
  /// Nothing if neither is in memory.
  std::optional<int> find(mlir::Value v) const {
    while (!has(v)) {
      auto reshape = v.getDefiningOp<mlir::stablehlo::ReshapeOp>();
      if (!reshape) return std::nullopt;
      v = reshape.getOperand();
    }
    return slots_.lookup(v);
  }
  bool has(mlir::Value v) const { return slots_.count(v); }

 private:
  llvm::DenseMap<mlir::Value, int> slots_;
};

/// What every emitter works with.
struct KernelContext {
  KernelEmitter& k;
  const Fusion& fusion;
  const Slots& slots;
  Kernel& kernel;

  IR buffer(mlir::Value v) const { return k.buffer(slots.at(v)); }
  /// Whether the value is in memory before.
  bool reads(mlir::Value v) const { return slots.has(v) && !fusion.outputs.contains(v); }
  /// Where the panels of a right operand that is a weight may be kept, behind the values; null if they are not.
  IR packed_weight() const;
  /// Reads materialised values; leaves the rest to be emitted in place.
  ElementEmitter elements(int lanes) const;
};

/// Writes what a product's fusion writes at one row and `lanes` columns of its result, whose elements `sum` has.
void emit_epilogue(KernelContext& c, IR row, IR column, IR sum, int lanes);
/// Asks for the lines that it will read there, of arrays as large as the result.
void prefetch_epilogue(KernelContext& c, IR row, IR column, bool to_write);
/// The arrays as large as the result that this reads and writes, and the bytes of the widest one's elements.
struct EpilogueStreams {
  int count = 0;
  int64_t widest = 1;
};
EpilogueStreams epilogue_streams(const Fusion& fusion);

llvm::Error emit_rows(KernelContext& c);
/// Does it, if it reads along another dimension than it writes.
bool emit_transposition(KernelContext& c);
llvm::Error emit_reduce(KernelContext& c);
/// Of the last dimensions as one: whether emit_plane_reduction does it.
bool reduces_planes(const Fusion& fusion, const Target& target);
void emit_plane_reduction(KernelContext& c);
llvm::Error emit_concatenate(KernelContext& c);
llvm::Error emit_dot(KernelContext& c);
llvm::Error emit_convolution(KernelContext& c);
llvm::Error emit_attention(KernelContext& c);
llvm::Error emit_attention_gradient(KernelContext& c);
llvm::Error emit_window(KernelContext& c);
llvm::Error emit_select_and_scatter(KernelContext& c);
llvm::Error emit_scatter(KernelContext& c);
/// Whether a row of an update is one of the input, so that it is done in vectors.
bool updates_whole_rows(mlir::stablehlo::ScatterOp op);
llvm::Error emit_sort(KernelContext& c);
/// With the matrix on the left; simplify() brings it there.
llvm::Error emit_triangular_solve(KernelContext& c);
llvm::Error emit_alignment(KernelContext& c);
llvm::Error emit_update(KernelContext& c);

/// The neutral element of a simple reducer.
IR neutral(KernelEmitter& k, mlir::Operation* reducer, llvm::Type* type);
/// The last `rest` lanes: what is new in a vector that begins earlier, so as to end with a row.
IR last_lanes(KernelEmitter& k, IR rest, int lanes);
/// Folds the lanes of a vector into one value.
IR fold_lanes(KernelEmitter& k, ElementEmitter& scalar, mlir::Operation* reducer, IR vector, int lanes);
/// Splits a flat index into positions along `shape`.
Indices delinearise(KernelEmitter& k, llvm::ArrayRef<int64_t> shape, IR flat);
/// The same for a number of tasks in each dimension: code for other sizes has all of them, also where there is one.
Indices place_of_task(KernelEmitter& k, llvm::ArrayRef<int64_t> counts, IR task);

}  // namespace cresset::cpu
