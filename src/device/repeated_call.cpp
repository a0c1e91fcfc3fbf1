#include "device/repeated_call.h"

#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

#include "trace/hash.h"

namespace cresset::device {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using trace::MaybeTensors;

namespace {

void describe(CallKey& key, const MaybeTensors& tensors) {
  key.push_back(tensors.size());
  key.push_back(uint64_t(c10::get_default_dtype_as_scalartype()));  // which integers become
  for (const auto& t : tensors) {
    if (!t) {
      key.push_back(~0ull);
      continue;
    }
    key.push_back(uint64_t(t->scalar_type()) << 8 | uint64_t(t->dim()));
    for (int64_t n : t->sizes()) key.push_back(uint64_t(n));
    for (int64_t n : t->strides()) key.push_back(uint64_t(n));
  }
}

// The table's entry, which `make` makes if there is none. Python makes it, so that the table is not locked meanwhile.
template <typename Table, typename Make>
typename Table::mapped_type find_or_make(std::mutex& mutex, Table& table, const CallKey& key, Make make) {
  {
    std::lock_guard lock(mutex);
    if (auto it = table.find(key); it != table.end()) return it->second;
  }
  auto made = make();
  std::lock_guard lock(mutex);
  return table[key] = std::move(made);
}

}  // namespace

size_t CallKeyHash::operator()(const CallKey& key) const {
  uint64_t h = key.size();
  for (uint64_t v : key) h = trace::mix(h, v);
  return h;
}

bool is_ordinary(const MaybeTensors& tensors) {
  auto local = c10::impl::tls_local_dispatch_key_set();
  if (local.included_ != c10::default_included_set || local.excluded_ != c10::default_excluded_set) return false;
  constexpr auto kBackend = c10::BackendComponent::PrivateUse1Bit;
  static const auto plain =
      c10::DispatchKeySet(c10::DispatchKey::PrivateUse1) | c10::getAutogradRelatedKeySetFromBackend(kBackend) | c10::getAutocastRelatedKeySetFromBackend(kBackend);
  return std::all_of(tensors.begin(), tensors.end(), [](const auto& t) {
    return !t || (t->key_set() == plain && !t->unsafeGetTensorImpl()->has_symbolic_sizes_strides() && !t->_fw_grad(/*level=*/0).defined());
  });
}

std::vector<at::Tensor> RepeatedCall::forward(const MaybeTensors& inputs) {
  CallKey key;
  describe(key, inputs);
  return find_or_make(mutex_, forwards_, key, [&] { return record_(inputs); })->record(inputs);
}

MaybeTensors RepeatedCall::backward(const Wanted& wanted, const MaybeTensors& gradients, const MaybeTensors& inputs) {
  MaybeTensors operands = gradients, results(inputs.size());
  operands.insert(operands.end(), inputs.begin(), inputs.end());
  if (at::GradMode::is_enabled() || !is_ordinary(operands)) return backward_(wanted, gradients, inputs);
  if (std::none_of(gradients.begin(), gradients.end(), [](const auto& g) { return g.has_value(); })) return results;
  CallKey key(wanted.begin(), wanted.end());
  describe(key, gradients);
  describe(key, inputs);
  auto [found, composite] = find_or_make(mutex_, gradients_, key, [&] { return record_gradient_(wanted, gradients, inputs); });
  if (!composite) return results;
  auto values = composite->record(operands);
  for (size_t i = 0, next = 0; i < inputs.size(); ++i)
    if (found[i]) results[i] = values[next++];
  return results;
}

void RepeatedCall::forget() {
  std::lock_guard lock(mutex_);
  forwards_.clear();
  gradients_.clear();
}

// Autograd's view of a call: the inputs that are there, '1' in `present`. What it keeps compiled autograd can compare.
struct RepeatedCall::Node : torch::autograd::Function<Node> {
  static MaybeTensors spread(const std::string& present, const variable_list& inputs) {
    MaybeTensors all;
    auto next = inputs.begin();
    for (char p : present) all.push_back(p == '1' ? std::optional(*next++) : std::nullopt);
    return all;
  }

  static variable_list forward(AutogradContext* context, RepeatedCall* call, const std::string& present, at::TensorList list) {
    variable_list inputs(list.begin(), list.end()), integers;
    context->save_for_backward(inputs);
    context->set_materialize_grads(false);
    context->saved_data["call"] = reinterpret_cast<int64_t>(call);
    context->saved_data["present"] = present;
    variable_list results = call->forward(spread(present, inputs));
    for (const at::Tensor& r : results)
      if (!r.is_floating_point() && !r.is_complex()) integers.push_back(r);
    context->mark_non_differentiable(integers);
    return results;
  }

  static variable_list backward(AutogradContext* context, variable_list arrived) {
    auto* call = reinterpret_cast<RepeatedCall*>(context->saved_data["call"].toInt());
    const std::string& present = context->saved_data["present"].toStringRef();
    MaybeTensors gradients;
    for (const at::Tensor& g : arrived) gradients.push_back(g.defined() ? std::optional(g) : std::nullopt);
    Wanted wanted;
    size_t next = 0;
    for (char p : present) wanted.push_back(p == '1' && context->needs_input_grad(next++));
    auto found = call->backward(wanted, gradients, spread(present, context->get_saved_variables()));
    variable_list results{{}, {}};  // for what are no tensors
    for (size_t i = 0; i < found.size(); ++i)
      if (present[i] == '1') results.push_back(found[i].value_or(at::Tensor()));
    return results;
  }
};

std::optional<std::vector<at::Tensor>> RepeatedCall::operator()(const MaybeTensors& inputs) {
  if (!is_ordinary(inputs)) return {};
  variable_list given;
  std::string present;
  for (const auto& t : inputs) {
    present += t ? '1' : '0';
    if (t) given.push_back(*t);
  }
  return Node::apply(this, present, at::TensorList(given));
}

}  // namespace cresset::device
