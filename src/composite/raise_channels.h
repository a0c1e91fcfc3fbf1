// Raising of norms that go by channels: batch_norm in inference and in training, group_norm and instance norm; and of their gradients.
#pragma once

#include "composite/emit.h"
#include "composite/raise.h"
#include "composite/region.h"
#include "composite/view.h"

namespace cresset::composite {

struct ChannelNorm {
  enum Kind { Inference, Training, Group };
  Kind kind = Inference;
  mlir::Value x, y;     ///< elements in the same order
  int64_t channel = 1;  ///< the dimension of y
  int64_t groups = 0;
  double eps = 0;
  mlir::Value weight, bias, mean, variance;

  int64_t channels() const { return type_of(y).getShape()[channel]; }
  std::string name() const { return kind == Group ? "aten.group_norm" : "aten.batch_norm"; }
  std::string describe() const;
};
/// The places that share a place's mean and variance.
void for_each_place(const ChannelNorm& norm, mlir::ArrayRef<int64_t> at, const std::function<void(mlir::ArrayRef<int64_t>)>& visit);
/// A reciprocal root, as of a variance.
bool is_norm_root(mlir::Operation& op);
/// `v` in y's shape, channels in dimension 1.
View channels_first(mlir::Value v, mlir::Value y, int64_t channel);
/// Mean and reciprocal deviation of x, channels in dimension 1, as the operator returns them.
llvm::SmallVector<mlir::Value> norm_statistics(Emit& e, mlir::Value x, const ChannelNorm& norm);
/// N, C, HxW and group of a group_norm.
llvm::SmallVector<mlir::NamedAttribute> norm_attributes(mlir::OpBuilder& b, const ChannelNorm& norm, mlir::ArrayRef<int64_t> shape);

void raise_channels(Program& program, RaiseReport& report);
/// Where the forward is in the program, or the gradient alone.
void raise_channel_gradients(Program& program, RaiseReport& report);

}  // namespace cresset::composite
