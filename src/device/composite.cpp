#include "cresset/composite.h"

#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include <mutex>
#include <sstream>

#include "composite/catalogue.h"
#include "trace/composite.h"

namespace cresset {

struct Composite::State {
  std::string name;
  int version;
  Function function;
  Gradient gradient;
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<trace::Composite>> recorded;  // by signature

  /// `wanted`: of the gradient, which inputs' gradients are its results.
  Tensors record(const std::vector<bool>* wanted, const Tensors& inputs, const Attributes& attributes, const std::function<Tensors(const Tensors&)>& body);
  Tensors derive(const Tensors& gradients, const Tensors& inputs, const std::vector<bool>& wanted, const Attributes& attributes, bool differentiable) const;
};

namespace {

std::string signature_of(const std::string& mask, const Tensors& inputs, const Attributes& attributes) {
  std::ostringstream out;
  out.precision(17);
  out << mask << '|' << c10::get_default_dtype_as_scalartype();
  for (const at::Tensor& t : inputs) {
    if (t.defined()) out << '|' << t.scalar_type() << t.sizes() << t.strides();
    else out << "|-";
  }
  for (const auto& [name, value] : attributes) {
    out << '|' << name << '=' << value.index() << ':';
    std::visit(
        [&](const auto& v) {
          if constexpr (requires { v.begin(); } && !std::is_same_v<std::decay_t<decltype(v)>, std::string>) for (auto x : v) out << x << ',';
          else out << v;
        },
        value);
  }
  return out.str();
}

// Recorded whole, with the gradient whole as well.
struct Call : torch::autograd::Function<Call> {
  static torch::autograd::variable_list forward(torch::autograd::AutogradContext* context, const std::shared_ptr<Composite::State>& state, const Attributes& attributes,
                                                at::TensorList list) {
    Tensors inputs(list.begin(), list.end());
    context->save_for_backward(inputs);
    context->set_materialize_grads(false);
    auto both = std::make_shared<std::pair<std::shared_ptr<Composite::State>, Attributes>>(state, attributes);
    context->saved_data["call"] = c10::IValue::make_capsule(c10::make_intrusive<Holder>(both));
    return state->record(nullptr, inputs, attributes, [&](const Tensors& placeholders) { return state->function(placeholders, attributes); });
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context, torch::autograd::variable_list gradients) {
    auto& [state, attributes] = *static_cast<Holder&>(*context->saved_data["call"].toCapsule()).call;
    Tensors inputs = context->get_saved_variables(), all(gradients);
    std::vector<bool> wanted;
    for (size_t i = 0; i < inputs.size(); ++i) wanted.push_back(context->needs_input_grad(i));
    all.insert(all.end(), inputs.begin(), inputs.end());
    size_t count = gradients.size();
    torch::autograd::variable_list results{{}, {}};  // for the state and the attributes
    if (at::GradMode::is_enabled()) {
      // A derivative of the gradient may follow: it is taken of the decomposition.
      Tensors found = state->derive(gradients, inputs, wanted, attributes, true);
      for (size_t i = 0, next = 0; i < inputs.size(); ++i) results.push_back(wanted[i] ? found[next++] : at::Tensor());
      return results;
    }
    Tensors found = state->record(&wanted, all, attributes, [&, state = state, attributes = attributes](const Tensors& placeholders) {
      return state->derive({placeholders.begin(), placeholders.begin() + count}, {placeholders.begin() + count, placeholders.end()}, wanted, attributes, false);
    });
    for (size_t i = 0, next = 0; i < inputs.size(); ++i) results.push_back(wanted[i] ? found[next++] : at::Tensor());
    return results;
  }

  struct Holder : torch::CustomClassHolder {
    explicit Holder(std::shared_ptr<std::pair<std::shared_ptr<Composite::State>, Attributes>> call) : call(std::move(call)) {}
    std::shared_ptr<std::pair<std::shared_ptr<Composite::State>, Attributes>> call;
  };
};

}  // namespace

Tensors Composite::State::derive(const Tensors& gradients, const Tensors& inputs, const std::vector<bool>& wanted, const Attributes& attributes, bool differentiable) const {
  Tensors found(inputs.size()), chosen;
  if (gradient) {
    found = gradient(gradients, inputs, attributes);
    TORCH_CHECK(found.size() == inputs.size(), "cresset: composite ", name, ": its backward returns ", found.size(), " gradients for ", inputs.size(), " tensors");
  } else {
    at::AutoGradMode enabled(true);
    Tensors leaves, targets, results, arrived;
    for (size_t i = 0; i < inputs.size(); ++i) leaves.push_back(differentiable ? inputs[i] : inputs[i].detach().requires_grad_(wanted[i]));
    Tensors outputs = function(leaves, attributes);
    for (size_t i = 0; i < outputs.size(); ++i)
      if (gradients[i].defined() && outputs[i].requires_grad()) results.push_back(outputs[i]), arrived.push_back(gradients[i]);
    for (size_t i = 0; i < inputs.size(); ++i)
      if (wanted[i]) targets.push_back(leaves[i]);
    Tensors derived = results.empty() ? Tensors(targets.size()) : torch::autograd::grad(results, targets, arrived, differentiable, differentiable, true);
    for (size_t i = 0, next = 0; i < inputs.size(); ++i)
      if (wanted[i]) found[i] = derived[next++];
  }
  for (size_t i = 0; i < inputs.size(); ++i)
    if (wanted[i]) chosen.push_back(!found[i].defined() ? at::zeros_like(inputs[i]) : differentiable ? found[i] : found[i].detach());
  return chosen;
}

Tensors Composite::State::record(const std::vector<bool>* wanted, const Tensors& inputs, const Attributes& attributes, const std::function<Tensors(const Tensors&)>& body) {
  trace::MaybeTensors arguments;
  for (const at::Tensor& t : inputs) arguments.push_back(t.defined() ? std::optional(t) : std::nullopt);
  std::string mask;
  if (wanted) for (bool w : *wanted) mask += w ? '1' : '0';
  std::string signature = signature_of(mask, inputs, attributes);
  std::shared_ptr<trace::Composite> composite;
  {
    std::lock_guard lock(mutex);
    composite = recorded[signature];
  }
  if (!composite) {
    auto maybe = trace::begin_body(arguments);
    Tensors placeholders;
    for (auto& p : maybe) placeholders.push_back(p ? *p : at::Tensor());
    std::vector<std::pair<std::string, trace::Attribute>> values;
    for (const auto& [key, value] : attributes) std::visit([&](const auto& v) { values.emplace_back(key, trace::Attribute(v)); }, value);
    if (wanted) values.emplace_back("output_mask", trace::Attribute(*wanted));
    try {
      composite = trace::end_body(wanted ? name + "_backward" : name, version, values, body(placeholders));
    } catch (...) {
      trace::abort_body();
      throw;
    }
    std::lock_guard lock(mutex);
    recorded[signature] = composite;
  }
  return composite->record(arguments);
}

Composite::Composite(std::string name, int version, Function function, Gradient backward) : state_(std::make_shared<State>()) {
  TORCH_CHECK_VALUE(name.find('.') != std::string::npos && name.front() != '.' && name.back() != '.', "cresset: a composite's name has a namespace, as in acme.swiglu; not ", name);
  TORCH_CHECK_VALUE(version >= 1, "cresset: composite ", name, ": version is a number from 1 on, not ", version);
  composite::define_composite(name);
  state_->name = std::move(name);
  state_->version = version;
  state_->function = std::move(function);
  state_->gradient = std::move(backward);
}

Tensors Composite::operator()(const Tensors& inputs, const Attributes& attributes) const {
  bool device = false, tangents = false;
  for (const at::Tensor& t : inputs) {
    TORCH_CHECK(t.defined(), "cresset: composite ", state_->name, ": an input is an undefined tensor");
    device |= t.device().type() == c10::DeviceType::PrivateUse1;
    tangents |= t._fw_grad(/*level=*/0).defined();
  }
  return device && !tangents ? Call::apply(state_, attributes, at::TensorList(inputs)) : state_->function(inputs, attributes);
}

}  // namespace cresset
