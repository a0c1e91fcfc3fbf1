// Calls of a composite whose function is Python's. Python records its body, and that of its gradient, when it first sees tensors of these shapes;
// every later call, and its backward, finds them here. Python makes every call that is not ordinary.
#pragma once

#include <mutex>
#include <unordered_map>

#include "trace/composite.h"

namespace cresset::device {

/// What calls are told apart by, in full.
using CallKey = std::vector<uint64_t>;
struct CallKeyHash {
  size_t operator()(const CallKey& key) const;
};

/// Whether nothing but autograd looks at a call with these tensors: plain tensors of the device, and no mode, transform, autocast or tracer is on.
bool is_ordinary(const trace::MaybeTensors& tensors);

/// Of one composite with one set of attributes, without autocast. Never destroyed: graphs of autograd's refer to it.
class RepeatedCall {
 public:
  using Wanted = std::vector<bool>;  ///< which inputs' gradients are asked for
  using Record = std::function<std::shared_ptr<trace::Composite>(const trace::MaybeTensors& inputs)>;
  /// The gradient's composite and which inputs its results belong to; null if no input has a gradient.
  using Gradient = std::pair<Wanted, std::shared_ptr<trace::Composite>>;
  using RecordGradient = std::function<Gradient(const Wanted&, const trace::MaybeTensors& gradients, const trace::MaybeTensors& inputs)>;
  /// The inputs' gradients where the call is not ordinary, or a derivative of them may follow.
  using Backward = std::function<trace::MaybeTensors(const Wanted&, const trace::MaybeTensors& gradients, const trace::MaybeTensors& inputs)>;

  RepeatedCall(Record record, RecordGradient record_gradient, Backward backward)
      : record_(std::move(record)), record_gradient_(std::move(record_gradient)), backward_(std::move(backward)) {}

  /// The results as autograd sees them; nothing if the call is not ordinary.
  std::optional<std::vector<at::Tensor>> operator()(const trace::MaybeTensors& inputs);
  /// Everything recorded: the composite's gradient is another one from here on.
  void forget();

 private:
  struct Node;
  std::vector<at::Tensor> forward(const trace::MaybeTensors& inputs);
  trace::MaybeTensors backward(const Wanted& wanted, const trace::MaybeTensors& gradients, const trace::MaybeTensors& inputs);

  Record record_;
  RecordGradient record_gradient_;
  Backward backward_;
  std::mutex mutex_;  // of the tables
  std::unordered_map<CallKey, std::shared_ptr<trace::Composite>, CallKeyHash> forwards_;
  std::unordered_map<CallKey, Gradient, CallKeyHash> gradients_;
};

}  // namespace cresset::device
