// Raising of attention: two products with a softmax between them.
#pragma once

#include <map>

#include "composite/raise.h"
#include "composite/region.h"
#include "composite/view.h"

namespace cresset::composite {

/// As kTolerance, for exponentials of scores: the rounding of the scale is multiplied by them.
constexpr double kAttentionTolerance = 1e-5;
constexpr double kMasked = -1e4;  ///< what is added to scores to hide them, or put in their place, at the least

/// What came of structures that were evaluated already, as in another layer: nothing, or what differs.
using AttentionEvaluations = std::map<size_t, std::string>;

/// An attention of the program, for its gradient.
struct RaisedAttention {
  enum Role { Outer, Position, Key };
  struct Axis {
    int64_t dim;  ///< of the softmax
    Role role;
    int64_t stride;  ///< in the number of head and batch
  };
  mlir::stablehlo::CompositeOp op;
  mlir::Operation* softmax;  ///< that the program has besides
  llvm::SmallVector<Axis> axes;
  llvm::SmallVector<View> operands;  ///< query, key, value and mask, as the program has them
  std::optional<bool> bits_keep;     ///< the mask is one of bits: what they say where scores stay
  double scale = 1;
  bool is_causal = false;
  std::string describe() const;
};

struct Attentions {
  std::vector<RaisedAttention> raised;  ///< those whose softmax the program still has
  std::vector<std::pair<mlir::Operation*, std::string>> missed;  ///< products that are not attention's, unless they are its gradient's
  AttentionEvaluations evaluations;
};
void raise_attention(Program& program, Attentions& attentions, RaiseReport& report);
/// Whether a select puts 0 in place of the weights where all of a row's scores are -inf, as PyTorch's math kernel does.
bool is_safe_softmax(mlir::Operation* select, mlir::Value scores);
/// The one whose second product this is.
std::optional<RaisedAttention> raise_attention_of(Program& program, mlir::stablehlo::DotGeneralOp second, AttentionEvaluations& verified, RaiseReport& report, std::string& error);
/// The gradients, where softmax has been raised with its own.
void raise_attention_gradients(Program& program, Attentions& attentions, RaiseReport& report);

}  // namespace cresset::composite
