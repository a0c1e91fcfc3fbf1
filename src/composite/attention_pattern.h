// Attention as programs write it: where in two products and the softmax between them batch, heads, positions and widths are, and what stands for its operands.
#pragma once

#include "composite/raise_attention.h"

namespace cresset::composite {

// softmax(scale · q kᵀ + mask) v, as it is written.
class AttentionPattern {
 public:
  // `verified`: what came of structures that were evaluated already, as in another layer.
  AttentionPattern(Program& program, mlir::stablehlo::DotGeneralOp second, bool weights_left, AttentionEvaluations& verified)
      : program_(program), second_(second), weights_left_(weights_left), verified_(verified) {}

  // Whether there is a softmax with a product above it; then what differs from attention, or nothing.
  bool find();
  std::string understand();
  RaisedAttention outline(RaiseReport& report);

 private:
  // One dimension of size > 1 of the scores (the first product's result), and where it is in what it is computed from. -1: nowhere.
  struct Axis {
    int64_t size = 1;
    int query = -1, key = -1, value = -1, result = -1;  // dimensions of the products' operands and of the second one's result
  };

  // What was added to the scores, or put in their place.
  struct Mask {
    mlir::Operation* op;
    mlir::Value value;  // added, or an i1
    bool keeps;         // an i1: where it is true the scores stay
    size_t step;        // how far up the path from the softmax
    double low = 0;     // what takes the place of scores
  };

  // An operand of a product, and its dimensions.
  struct Side {
    mlir::Value value;
    llvm::ArrayRef<int64_t> batch, summed;
    llvm::SmallVector<int64_t> free;
  };
  static Side side(mlir::stablehlo::DotGeneralOp product, bool left);
  Side query() const { return side(first_, query_left_); }
  Side key() const { return side(first_, !query_left_); }
  Side weights() const { return side(second_, weights_left_); }
  Side values() const { return side(second_, !weights_left_); }

  enum class MaskKind { None, Causal, OffByOne, Operand };

  // Each says what differs from attention, or nothing.
  std::string find_axes();
  std::string match_weights();
  std::string find_keys();
  std::string list_axes();
  std::string find_masks();
  std::string find_operands();
  std::string find_scale();
  std::string find_mask_operand();
  std::string verify();
  std::string evaluate();
  MaskKind kind_of(const Mask& mask, double& most) const;
  void find_mask_view(const Mask& mask);
  bool is_mask(const View& view, const Mask& mask, const Path& path, size_t step) const;
  bool is_scaled(const Mask& mask) const;
  void make_added(mlir::OpBuilder& b, llvm::DenseSet<mlir::Operation*>& region);
  void choose_output();
  llvm::SmallVector<RaisedAttention::Axis> softmax_axes() const;
  mlir::Value log_sum(mlir::OpBuilder& b, mlir::Value scores, mlir::Location loc) const;

  // The axes' values for head-and-batch number n and position i.
  llvm::SmallVector<int64_t> place(int64_t n, int64_t i) const;
  Indices in_first(int64_t n, int64_t i, int64_t j) const;    // of the scores
  Indices in_weights(int64_t n, int64_t i, int64_t j) const;  // of the second product's operand
  mlir::Value scores() const { return to_first_.values[start_]; }
  std::optional<Indices> in_scores(int64_t n, int64_t i, int64_t j) const { return above_softmax(n, i, j, start_); }
  std::optional<Indices> above_softmax(int64_t n, int64_t i, int64_t j, size_t steps) const {
    auto at = to_softmax_.chase(in_weights(n, i, j));
    return at ? to_first_.chase(*at, steps) : std::nullopt;
  }
  Indices in_operand(mlir::Value v, int Axis::* dim, int64_t n, int64_t i, int64_t j, int width, int64_t d) const;
  std::vector<View> views_of(const Path& path, int Axis::* dim, int width_dim, int64_t batch) const;
  View plain_view(mlir::Value v, int Axis::* dim, int width_dim, int64_t batch) const;
  bool agrees(const View& view, const Path& path, size_t step, int Axis::* dim, int width_dim) const;

  Program& program_;
  mlir::stablehlo::DotGeneralOp first_, second_;
  bool weights_left_, query_left_ = true;
  AttentionEvaluations& verified_;
  mlir::stablehlo::CompositeOp softmax_;
  Path to_softmax_, to_first_;  // from the second product's operand, and from the softmax's
  llvm::SmallVector<Axis> batch_, free_;  // free_: of the queries only; the last is the position
  Axis keys_;
  int64_t batches_ = 1, heads_ = 1, groups_ = 1, positions_ = 1, width_ = 1, value_width_ = 1;
  int query_width_ = -1, key_width_ = -1, value_width_dim_ = -1, result_width_dim_ = -1, value_keys_ = -1;
  llvm::SmallVector<int> weights_dims_;  // of the weights, for each dimension of the scores
  int key_dim_ = -1;                     // of the scores
  View query_, key_, value_, mask_, output_;
  llvm::SmallVector<Mask> masks_;
  const Mask* operand_ = nullptr;
  bool is_causal_ = false;
  size_t start_ = 0;  // where on the way from the softmax the scores are
  double scale_ = 1;
  int cost_ = 0;  // of bringing the operands into the composite's layout
};

/// Places of a dimension that tell views apart.
llvm::SmallVector<int64_t> probes(int64_t size);

}  // namespace cresset::composite
