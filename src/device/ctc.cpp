// ctc_loss: PyTorch gives a device the lengths as numbers. They are recorded as tensors, so that a batch of other lengths runs the same program, and the targets as a matrix.
#include <ATen/ATen.h>
#include <torch/library.h>

#include <algorithm>
#include <numeric>

#include "device/indices.h"
#include "device/shapes.h"
#include "generated/operators.h"
#include "trace/recorder.h"

namespace cresset {
namespace {

struct Problem {
  at::Tensor log_probs, labels, input_lengths, target_lengths;
};

// The targets as [batch, labels]; what lies behind a target is class 0.
Problem in_rows(const trace::Operator& op, const at::Tensor& log_probs, const at::Tensor& targets, const at::Tensor& input_lengths, const at::Tensor& target_lengths, int64_t longest) {
  at::DimVector sizes{log_probs.size(1), longest};
  at::Tensor labels = targets.to(at::kLong), place = at::arange(longest, labels.options()).unsqueeze(0), length = target_lengths.unsqueeze(1);
  if (targets.numel() == 0) labels = at::zeros(sizes, labels.options());
  else if (targets.dim() == 1) labels = labels.index_select(0, length.cumsum(0).sub(length).add(place).clamp_max(targets.numel() - 1).reshape({-1})).reshape(sizes);
  labels = at::where(place.lt(length), labels, 0);
  device::check_indices(op, labels, 0, log_probs.size(2), device::IndexFailure::RuntimeError);
  return {log_probs, labels, input_lengths, target_lengths};
}

void check(const at::Tensor& log_probs, const at::Tensor& targets, int64_t input_lengths, int64_t target_lengths, int64_t blank) {
  TORCH_CHECK_NOT_IMPLEMENTED(log_probs.scalar_type() == at::kFloat || log_probs.scalar_type() == at::kDouble, "ctc_loss: not implemented for log_probs of ", log_probs.scalar_type(),
                              "; convert it with .to(torch.float32)");
  TORCH_CHECK(log_probs.dim() == 3 && log_probs.numel() > 0, "ctc_loss: expected log_probs of [steps, batch, classes] that are not empty, but got ", log_probs.sizes());
  TORCH_CHECK(at::isIntegralType(targets.scalar_type(), false), "ctc_loss: expected targets of integers, but got ", targets.scalar_type());
  int64_t batch = log_probs.size(1), classes = log_probs.size(2);
  TORCH_CHECK(targets.dim() == 1 || (targets.dim() == 2 && targets.size(0) == batch), "ctc_loss: expected targets one behind the other or in ", batch, " rows, but got ", targets.sizes());
  TORCH_CHECK(0 <= blank && blank < classes, "ctc_loss: blank must be in label range [0, ", classes, "), but is ", blank);
  TORCH_CHECK(input_lengths == batch, "ctc_loss: input_lengths must be of size batch_size ", batch, ", but has ", input_lengths);
  TORCH_CHECK(target_lengths == batch, "ctc_loss: target_lengths must be of size batch_size ", batch, ", but has ", target_lengths);
}

Problem problem(const trace::Operator& op, const at::Tensor& log_probs, const at::Tensor& targets, at::IntArrayRef input_lengths, at::IntArrayRef target_lengths, int64_t blank) {
  check(log_probs, targets, int64_t(input_lengths.size()), int64_t(target_lengths.size()), blank);
  int64_t steps = log_probs.size(0), longest = *std::max_element(target_lengths.begin(), target_lengths.end());
  for (int64_t n : input_lengths) TORCH_CHECK(0 <= n && n <= steps, "ctc_loss: Expected input_lengths to have value at least 0 and at most ", steps, ", but got value ", n);
  for (int64_t n : target_lengths) TORCH_CHECK(n >= 0, "ctc_loss: Expected target_lengths to have value at least 0, but got value ", n);
  int64_t all = std::accumulate(target_lengths.begin(), target_lengths.end(), int64_t(0));
  TORCH_CHECK(targets.dim() == 2 || targets.size(0) == all, "ctc_loss: Expected targets of size ", all, ", the sum of target_lengths, but got ", targets.sizes());
  TORCH_CHECK(targets.dim() == 1 || targets.size(1) >= longest, "ctc_loss: Expected targets to have rows of at least ", longest, " labels, but got ", targets.sizes());
  auto on_device = [&](at::IntArrayRef values) { return at::tensor(values, at::kLong).to(log_probs.device()); };
  return in_rows(op, log_probs, targets, on_device(input_lengths), on_device(target_lengths), targets.dim() == 2 ? targets.size(1) : longest);
}

Problem problem(const trace::Operator& op, const at::Tensor& log_probs, const at::Tensor& targets, const at::Tensor& input_lengths, const at::Tensor& target_lengths, int64_t blank) {
  check(log_probs, targets, input_lengths.numel(), target_lengths.numel(), blank);
  at::Tensor steps = input_lengths.to(log_probs.device(), at::kLong), labels = target_lengths.to(log_probs.device(), at::kLong);
  device::check_indices(op, steps, 0, log_probs.size(0) + 1, device::IndexFailure::RuntimeError);
  device::check_indices(op, labels, 0, targets.size(-1) + 1, device::IndexFailure::RuntimeError);
  return in_rows(op, log_probs, targets, steps, labels, targets.size(-1));
}

void record(trace::Recorder& r, const Problem& p) {
  r.tensor(p.log_probs, "log_probs");
  r.tensor(p.labels, "targets");
  r.tensor(p.input_lengths, "input_lengths");
  r.tensor(p.target_lengths, "target_lengths");
}

template <class Lengths>
std::tuple<at::Tensor, at::Tensor> ctc_loss(const at::Tensor& log_probs, const at::Tensor& targets, Lengths input_lengths, Lengths target_lengths, int64_t blank, bool zero_infinity) {
  Problem p = problem(op::_ctc_loss_Tensor, log_probs, targets, input_lengths, target_lengths, blank);
  trace::Recorder r(op::_ctc_loss_Tensor);
  record(r, p);
  r.attribute(trace::Attribute(blank));
  r.attribute(trace::Attribute(zero_infinity));
  r.infer_layouts([&] {
    int64_t batch = log_probs.size(1);
    return shapes::Layouts{shapes::contiguous({batch}, log_probs.scalar_type()), shapes::contiguous({batch, log_probs.size(0), 2 * p.labels.size(1) + 1}, log_probs.scalar_type())};
  });
  return r.results(std::make_index_sequence<2>());
}

template <class Lengths>
at::Tensor ctc_loss_backward(const at::Tensor& grad, const at::Tensor& log_probs, const at::Tensor& targets, Lengths input_lengths, Lengths target_lengths,
                             const at::Tensor& neg_log_likelihood, const at::Tensor& log_alpha, int64_t blank, bool zero_infinity) {
  Problem p = problem(op::_ctc_loss_backward_Tensor, log_probs, targets, input_lengths, target_lengths, blank);
  trace::Recorder r(op::_ctc_loss_backward_Tensor);
  r.tensor(grad, "grad");
  record(r, p);
  r.tensor(neg_log_likelihood, "neg_log_likelihood");
  r.tensor(log_alpha, "log_alpha");
  r.attribute(trace::Attribute(blank));
  r.attribute(trace::Attribute(zero_infinity));
  r.infer_layouts([&] { return shapes::Layouts{shapes::contiguous(log_probs.sizes(), log_probs.scalar_type())}; });
  return r.result();
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_ctc_loss", TORCH_FN(ctc_loss<at::IntArrayRef>));
  m.impl("_ctc_loss.Tensor", TORCH_FN(ctc_loss<const at::Tensor&>));
  m.impl("_ctc_loss_backward", TORCH_FN(ctc_loss_backward<at::IntArrayRef>));
  m.impl("_ctc_loss_backward.Tensor", TORCH_FN(ctc_loss_backward<const at::Tensor&>));
}

}  // namespace
}  // namespace cresset
