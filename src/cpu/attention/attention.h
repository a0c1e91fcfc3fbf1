// What attention and its gradient have in common: operands head by head, products of their widths, scale and masks.
#pragma once

#include <array>

#include "cpu/matmul/panels.h"

namespace cresset::cpu {

/// [batch, heads, positions, width], or without the width, as a strided array.
struct HeadArray {
  View view;
  mlir::Type type;
  IR base;
  int64_t heads() const { return view.shape[1]; }
  int64_t length() const { return view.shape[2]; }
  int64_t width() const { return view.shape[3]; }
  bool is_dense() const { return view.strides[3] == 1; }
};

/// The operands of both composites by their meaning. Those of one variety of ATen's operators lie before what the forward saved, those of the other behind it.
struct AttentionOperands {
  mlir::Value gradient, query, key, value, out, logsumexp;
  mlir::Value mask;          ///< may be null
  mlir::Value seed, offset;  ///< of dropout; null without it
  double dropout = 0;
};
/// None for composites of another form.
std::optional<AttentionOperands> attention_operands(mlir::stablehlo::CompositeOp op);

/// How the gradient of the mask is computed: whoever shares a part of the mask adds to one sum, or to one of a few if there would be too little to do in parallel.
struct MaskGradient {
  explicit MaskGradient(const AttentionOperands& operands);
  int64_t batches, heads;   ///< of the mask: its own, or 1
  int64_t own_heads;        ///< of keys and values
  int64_t shared = 1;       ///< how many heads of keys and values share a part
  int64_t independent = 1;  ///< how many don't
  int64_t sums = 1;         ///< for each part
  /// f32 [sums, batches, heads, queries, keys up to whole vectors].
  mlir::RankedTensorType type;
};

/// Which of batch, heads, positions and width each dimension of this result is (see write_results_in_order), and its type in this usual order.
llvm::ArrayRef<int64_t> result_order(mlir::Operation* op, unsigned result);
mlir::RankedTensorType type_in_usual_order(mlir::stablehlo::CompositeOp op, unsigned result);

/// Strided arrays of operands.
llvm::Expected<llvm::SmallVector<HeadArray>> head_arrays(KernelContext& c, llvm::ArrayRef<mlir::Value> operands);

class AttentionEmitter {
 protected:
  AttentionEmitter(KernelContext& c, const AttentionOperands& operands, HeadArray query, HeadArray key, HeadArray value, bool may_use_tiles = false);

  IR f32(double x) { return llvm::ConstantFP::get(b_.getFloatTy(), x); }
  int64_t reserve(int64_t floats) { return c_.kernel.reserve(floats * 4); }
  IR scratch(int64_t at, IR index) { return k_.in_scratch(b_.getFloatTy(), at, index); }
  IR load(IR address, int lanes) { return b_.CreateAlignedLoad(k_.vector(b_.getFloatTy(), lanes), address, llvm::Align(4)); }
  void store(IR x, IR address) { b_.CreateAlignedStore(x, address, llvm::Align(4)); }
  /// Columns [n, n + lanes) of row i of sums that lie in panels of `height` rows.
  IR sums(const Panels& p, int64_t at, int64_t height, IR i, IR n) {
    IR panel = b_.CreateSub(n, b_.CreateURem(n, k_.i64(p.nr)));
    return scratch(at, b_.CreateAdd(k_.mul(panel, height), b_.CreateAdd(k_.mul(i, p.nr), b_.CreateSub(n, panel))));
  }

  /// The place of an element. `head` is the query's, flat over batch and heads, also where several share keys and values.
  IR offset(const HeadArray& operand, IR head, IR position, IR column);
  /// Where a row of a result begins, its heads counted over the batch.
  IR row_of_result(unsigned result, IR head, IR position);
  /// rows · columnsᵀ, head by head.
  MatmulSpec product_of_widths(const HeadArray& rows, const HeadArray& columns);
  /// Weights · rows, head by head; `count` rows of weights.
  MatmulSpec product_with_rows(int64_t count, const HeadArray& rows, mlir::Type weights);
  /// Packed rows from m to m + group times the `seen` packed columns, to [row - m][pitch].
  void multiply_widths(Panels& p, int64_t width, int64_t rows_at, IR m, int64_t group, int64_t columns_at, IR seen, int64_t to, int64_t pitch);

  /// Keys [n0, n0 + count) and the queries [m0, m0 + rows) of a head, in groups.
  struct Block {
    IR head, m0, rows, n0, count;
    int64_t group, keys;  ///< queries of a group, keys of any block but the last one
  };
  struct Keys {
    IR begin, end;
  };
  Keys all_keys() { return {k_.i64(0), k_.i64(scores_.n)}; }
  /// The blocks of up to `keys` keys that some of the queries [m0, m0 + rows) see, as far as causality tells.
  void each_block(IR head, IR m0, IR rows, int64_t group, int64_t keys, Keys among, const std::function<void(const Block& block)>& body);
  /// Calls `body` for the groups of which some query sees a key of the block: where it begins, counted from m0, how many queries it has, and after how many keys causality lets none of them see more.
  /// Blocks that the mask hides are left out; `prepare` comes before the first group.
  void groups_that_see(const Block& block, const std::function<void()>& prepare, const std::function<void(IR m, IR here, IR seen)>& body);
  /// Whether blocks of so many keys are looked up in the mask.
  bool mask_may_hide(int64_t keys) const;

  /// How many keys from n0 on the query sees of the first `seen` ones.
  IR visible_keys(IR row, IR n0, IR seen);
  /// Whether the column, counted from n0, is one of them, lane by lane.
  IR is_visible(IR column, IR visible);
  /// The product of a query and keys from n0 + column on, scaled and masked; -inf where it is not visible.
  IR score(IR product, IR head, IR row, IR n0, IR column, IR is_visible);

  /// Rows that are computed together: with dropout as many as share random numbers.
  int64_t rows_together() const { return seed_ ? 4 : 1; }
  /// Which weights dropout keeps, of rows_together() rows from `row` and keys from n0 + column on; nulls without dropout.
  std::array<IR, 4> kept(IR head, IR row, IR n0, IR column);

  KernelContext& c_;
  KernelEmitter& k_;
  llvm::IRBuilder<>& b_;
  HeadArray query_, key_, value_;
  mlir::Value mask_;
  double dropout_;
  IR seed_ = nullptr, offset_ = nullptr;
  /// What weights that are kept are multiplied by.
  double kept_scale() const { return !seed_ ? 1 : dropout_ < 1 ? 1 / (1 - dropout_) : 0; }
  bool may_use_tiles_;
  MatmulSpec scores_;
  Panels s_;
  bool causal_ = false;
  double scale_ = 1;

 private:
  std::pair<IR, IR> place(IR head);
  IR masked(IR score, IR head, IR row, IR column);
  bool mask_varies_by_key() const { return mlir::cast<mlir::RankedTensorType>(mask_.getType()).getShape().back() != 1; }
  IR offset_in_mask(IR head, IR row, IR column);
  IR row_sees(IR head, IR row, IR from, int64_t keys);
  IR some_row_sees(IR head, IR first, IR end, IR n0, int64_t keys);
};

}  // namespace cresset::cpu
