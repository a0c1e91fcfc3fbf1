// Raising of norms that go by channels: batch_norm in inference and in training, group_norm and instance norm; and of their gradients.
#pragma once

#include <cmath>

#include "composite/emit.h"
#include "composite/raise.h"
#include "composite/raise_scalar.h"
#include "composite/region.h"
#include "composite/view.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

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
/// How many elements each element of a reduction is made of; 1 of other operations.
int64_t terms_of_sum(mlir::Operation* op);
/// Whether sums of so many terms may be a norm's or its gradient's: at least two (mean and variance), over equally many.
bool may_be_of_norm(mlir::ArrayRef<int64_t> terms);
/// The places that share a place's mean and variance.
void for_each_place(const ChannelNorm& norm, mlir::ArrayRef<int64_t> at, const std::function<void(mlir::ArrayRef<int64_t>)>& visit);
/// `v` in y's shape, channels in dimension 1.
View channels_first(mlir::Value v, mlir::Value y, int64_t channel);
/// Mean and reciprocal deviation of x, channels in dimension 1, as the operator returns them.
llvm::SmallVector<mlir::Value> norm_statistics(Emit& e, mlir::Value x, const ChannelNorm& norm);
/// N, C, HxW and group of a group_norm.
llvm::SmallVector<mlir::NamedAttribute> norm_attributes(mlir::OpBuilder& b, const ChannelNorm& norm, mlir::ArrayRef<int64_t> shape);

constexpr double kNearNorm = 3e-2;  ///< off by less is reported
/// What the searches at a program's roots have found out, so that long programs of equal layers cost each of them once.
struct ChannelMemory {
  struct Miss {
    double distance = INFINITY;
    ChannelNorm norm;
  };
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, bool> from_full;  ///< whether a value is computed from one of so many elements; until the program changes
  llvm::DenseMap<size_t, Miss> misses;                              ///< by structure
};
/// Searches at every root, anew after each find, which `outline` raises; what is `near` without being one is reported as nearly `what` the norm.
template <class Search, class Outline>
void raise_at_norm_roots(Program& program, RaiseReport& report, llvm::StringRef what, Outline outline) {
  ChannelMemory memory;
  llvm::DenseSet<mlir::Operation*> seen;
  for (bool raised = true; raised;) {
    raised = false;
    for (mlir::Operation& op : program.block) {
      if (!is_norm_root(op) || !seen.insert(&op).second) continue;
      Search search(program, &op, memory);
      if (auto found = search.find()) {
        outline(program, *found, report);
        memory.from_full.clear();
        raised = true;
        break;
      }
      if (search.near < kNearNorm) {
        std::string text = where(search.near_norm.y) + ": nearly " + what.str() + search.near_norm.name() + search.near_norm.describe() + ", off by ";
        llvm::raw_string_ostream(text) << llvm::format("%.2g", search.near);
        report.missed.push_back(text);
      }
    }
  }
}

void raise_channels(Program& program, RaiseReport& report);
/// Where the forward is in the program, or the gradient alone.
void raise_channel_gradients(Program& program, RaiseReport& report);

}  // namespace cresset::composite
