// A function that stays whole: its body is recorded once on placeholders, and each call is one node whose lowering is that body.
//
//   auto placeholders = begin_body(arguments);  results = function(placeholders);  auto composite = end_body("acme.swiglu", …, results);
//   results = composite->record(arguments)
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "trace/cell.h"
#include "trace/graph.h"

namespace cresset::trace {

using MaybeTensors = std::vector<std::optional<at::Tensor>>;

using ArgumentCheck = std::function<void(const at::Tensor&)>;

/// What an operator with a body is lowered to.
struct Body {
  Graph graph;
  std::vector<uint32_t> operand_of_input;  ///< which of the node's operands each input of the graph is
};

class Composite {
 public:
  /// One node; the arguments have the shapes and dtypes that the body was recorded with.
  std::vector<at::Tensor> record(const MaybeTensors& arguments) const;

 private:
  friend std::shared_ptr<Composite> end_body(const std::string&, int, const std::vector<std::pair<std::string, Attribute>>&, const std::vector<at::Tensor>&);
  const Operator* op_ = nullptr;  // never destroyed: nodes refer to it
  Node::Attributes attributes_;
  std::vector<NodePtr> leaves_;   // constants of the body, which become operands
  std::vector<TensorType> types_;
  std::vector<at::DimVector> strides_;
  std::vector<std::pair<size_t, ArgumentCheck>> checks_;  // by argument
};

/// Placeholders for the arguments. Until end_body or abort_body reading a value is an error; other threads go on as they were. Bodies nest.
MaybeTensors begin_body(const MaybeTensors& arguments);
/// The recorded function. Raises, and the body goes on until abort_body, if the function changed an argument in place, drew random numbers or used a tensor that is not an argument.
std::shared_ptr<Composite> end_body(const std::string& name, int version, const std::vector<std::pair<std::string, Attribute>>& attributes,
                                    const std::vector<at::Tensor>& results);
void abort_body();
/// Within a body: if the value is one of its arguments, in any shape, the check is made on each call. What the body itself computes is trusted.
void check_argument(Value value, ArgumentCheck check);

/// Whether this thread records a body.
bool recording_body();
/// Tells it from others; null without.
const void* body_of_thread();
/// Raises within a body.
void check_not_in_body(const char* what);
/// Within a body: raises if the tensor that is about to be read is pending outside of it; the body would keep what it is for ever.
void check_read_in_body(const Cell& cell);
/// Within a body: raises unless the tensor that is about to be written was made there, or is an argument.
void check_written_in_body(const Cell& cell);

}  // namespace cresset::trace
