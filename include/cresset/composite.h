// Composites of one's own from C++; in Python the decorator torch_cresset.composite (docs/user-composites.md).
//
//   cresset::Composite swiglu("acme.swiglu", 2, [](const cresset::Tensors& in, const cresset::Attributes& a) -> cresset::Tensors {
//     return {at::silu(std::get<double>(a.at("beta")) * at::matmul(in[0], in[1])) * at::matmul(in[0], in[2])};
//   });
//   at::Tensor y = swiglu({x, w, v}, {{"beta", 1.0}})[0];
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace cresset {

using Tensors = std::vector<at::Tensor>;
using Attributes = std::map<std::string, std::variant<bool, int64_t, double, std::string, std::vector<int64_t>, std::vector<double>>>;

/// A function of tensors that stays one stablehlo.composite on the device, and whose gradient is the composite NAME_backward. On CPU tensors it
/// just runs. Copies share their state; thread-safe.
class Composite {
 public:
  using Function = std::function<Tensors(const Tensors& inputs, const Attributes& attributes)>;
  /// A gradient, or an undefined tensor, for each input. A result that no gradient arrived for has an undefined one in `gradients`.
  using Gradient = std::function<Tensors(const Tensors& gradients, const Tensors& inputs, const Attributes& attributes)>;

  /// `name` with a namespace; `version` from 1 on. Without `backward` the gradient is derived from the function. Raises c10::ValueError.
  Composite(std::string name, int version, Function function, Gradient backward = {});
  /// All inputs are defined tensors of one device. Raises c10::Error if the function changes an input in place, draws random numbers, reads a value or
  /// uses a tensor that is not an input.
  Tensors operator()(const Tensors& inputs, const Attributes& attributes = {}) const;

  struct State;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace cresset
