// Partitions a program into kernels. One pass from the last operation to the first: an operation joins the kernel of its
// users when it can be computed there, so each value is written to memory only where someone else needs it.
#pragma once

#include <vector>

#include "cpu/emit/types.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "cpu/view.h"
#include "stablehlo/dialect.h"

namespace cresset::cpu {

struct Fusion {
  enum Kind {
    Rows,         ///< element-wise over `shape`, with reductions of its last dimensions: one pass for each row
    Reduce,       ///< any other reduction
    Concatenate,
    Dot,
    Convolution,
    Attention,    ///< aten.scaled_dot_product_attention, whole
    AttentionGradient,
    Window,       ///< reduce_window
    SelectAndScatter,
    Scatter,      ///< in place: of an argument of the program whose buffer the result may take over
    Sort,
    TriangularSolve,
    Alignment,    ///< cresset.alignment_scores
    Update,       ///< dynamic_update_slice: writes the slice alone, over what it is part of if nobody needs that any more, else over a copy
    Composite,    ///< run whole by somebody's kernel
  };
  /// How an operation lives in a Rows kernel.
  enum Role {
    Element,  ///< at the kernel's own index: may be written out, kept for a later pass over the row
    Row,      ///< once for each row
    Inline,   ///< at whatever index its user asks for
  };
  Kind kind;
  int last = 0;                                   ///< position of its last operation: kernels run in this order
  llvm::SmallVector<int64_t> shape;               ///< of Rows, Reduce, and of what a product's epilogue writes
  size_t row_rank = 1;                            ///< how many of the last dimensions of Rows are one row
  mlir::Operation* product = nullptr;             ///< dot, convolution, attention or its gradient; with roles beside it, these are its epilogue; if it is in place the operation
  bool in_place = false;                          ///< an Update, or a Scatter into an array
  llvm::MapVector<mlir::Operation*, Role> roles;  ///< program order after fuse()
  llvm::SetVector<mlir::Value> outputs, inputs;   ///< buffers written and read
};

/// Bytes as i32, or as f32 where depthwise convolutions of channels that are neighbours read them, less a number of at most as many bits: what such a product reads as bytes where it is its left operand.
struct LessNumber {
  mlir::stablehlo::ConvertOp bytes;
  int64_t number;
};
std::optional<LessNumber> less_number(mlir::Value v);
/// Whether a product's operand comes from bytes that kSevenBits is said of.
bool has_seven_bits(mlir::Value operand);

/// Rows and columns that a product's result, or what its epilogue writes, amounts to; columns are neighbours in memory.
struct ProductShape {
  int64_t rows, columns;
  /// The leading dimensions of `space` that are the rows; none (whose product is 1) if it has no such.
  llvm::ArrayRef<int64_t> leading(llvm::ArrayRef<int64_t> space) const {
    while (!space.empty() && product(space) != rows) space = space.drop_back();
    return space;
  }
};
std::optional<ProductShape> product_shape(mlir::Operation* product);

/// The kind of kernel for this composite, if there is one, so that it need not be decomposed.
std::optional<Fusion::Kind> composite_kind(mlir::Operation* op);
std::optional<Fusion::Kind> attention_kind(mlir::Operation* op);
/// Leaves to other kernels what the kernel of attention's gradient does not do itself: the last sums of the mask's gradient, and of the query's where parts of the keys are computed side by side.
void split_attention_gradient(mlir::stablehlo::CompositeOp op);
/// Attention and its gradient write results in an order to which readers transpose them.
void write_results_in_order(mlir::stablehlo::CompositeOp op);
/// Attention reads keys and values of heads that were repeated for it where they were before, and those of one position once for all heads that share them.
/// Returns the composite, which may be another.
mlir::stablehlo::CompositeOp share_heads(mlir::stablehlo::CompositeOp op);
/// Whether it is cresset.alignment_scores of numbers that a kernel computes with.
bool is_alignment(mlir::Operation* op);
/// Whether it is aten._grouped_mm with groups: a product that the compiler has a kernel for.
bool is_grouped_product(mlir::Operation* op);

/// Whether the product reads this operand through strides: everything but an attention's mask and seed, and the ends of groups.
bool reads_window(mlir::Operation* product, unsigned operand);

/// In the order of execution; `is_foreign` tells the composites that somebody else's kernel runs. Fails, with an error at it, on an
/// operation that no kernel can hold.
mlir::FailureOr<std::vector<Fusion>> fuse(mlir::func::FuncOp main, llvm::function_ref<bool(mlir::Operation*)> is_foreign);

/// Whether more of the dimensions from `first` on matters to the operation than the place that they make together: not to what is element-wise, one number, or repeated along all of them.
bool tells_apart(mlir::Operation* op, int64_t first);
/// Whether what the kernel computes these values of needs more than that of their last `count` dimensions. What is moved along other dimensions does not; memory may have others there.
bool tells_apart(const Fusion& fusion, llvm::ArrayRef<mlir::Value> values, size_t count);

/// How many last dimensions of what the operation computes are rows, because the nearest reduction that it is computed of, of arrays of this shape, reduces them; 0 if there is none.
size_t row_rank_behind(mlir::Operation* op);

/// What a dynamic_update_slice, or a scatter of one array, writes parts of; null for other operations.
mlir::Value updated_by(mlir::Operation* op);
/// Where the slice begins, moved to where it lies in the array; nothing if only the run says.
std::optional<llvm::SmallVector<int64_t>> constant_starts(mlir::stablehlo::DynamicUpdateSliceOp op);
/// The argument of which such an update, with those before it whose results nobody else reads, overwrites parts; null if it is none.
mlir::BlockArgument overwritten_by(mlir::Operation* update);

/// Whether a reduction's body is one binary operation of its two arguments; that operation.
mlir::Operation* simple_reducer(mlir::Block& body);

}  // namespace cresset::cpu
