#include "python/kept_operator.h"

#include <torch/csrc/jit/python/pybind_utils.h>
#include <torch/library.h>

#include <bit>

#include "device/repeated_call.h"

namespace py = pybind11;

namespace cresset::python {
namespace {

using device::RepeatedCall;

bool takes_tensor(const c10::Argument& argument) {
  auto optional = argument.type()->cast<c10::OptionalType>();
  return (optional ? optional->getElementType() : argument.type())->kind() == c10::TypeKind::TensorType;
}

// A tensor's place in a key; 0 for an absent one.
uint64_t type_of(const at::Tensor& t) { return t.defined() ? 1 + uint64_t(t.scalar_type()) : 0; }

py::tuple in_python(at::ArrayRef<c10::IValue> arguments) {
  py::tuple all(arguments.size());
  for (size_t i = 0; i < arguments.size(); ++i) all[i] = torch::jit::toPyObject(arguments[i]);
  return all;
}

class KeptOperator {
 public:
  KeptOperator(py::function kernel, py::function repeated) : kernel_(std::move(kernel)), repeated_(std::move(repeated)) {}

  void call(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    size_t count = op.schema().arguments().size();
    if (auto results = repeat(op, torch::jit::last(*stack, count))) {
      torch::jit::drop(*stack, count);
      for (at::Tensor& r : *results) stack->emplace_back(std::move(r));
      return;
    }
    auto arguments = torch::jit::pop(*stack, count);
    py::gil_scoped_acquire gil;
    py::object results = kernel_(*in_python(arguments));
    const auto& returns = op.schema().returns();
    if (returns.size() == 1) return stack->push_back(torch::jit::toIValue(results, returns[0].type()));
    py::sequence all(results);
    for (size_t i = 0; i < returns.size(); ++i) stack->push_back(torch::jit::toIValue(py::object(all[i]), returns[i].type()));
  }

 private:
  std::optional<std::vector<at::Tensor>> repeat(const c10::OperatorHandle& op, at::ArrayRef<c10::IValue> arguments) {
    trace::MaybeTensors operands;
    device::CallKey key;  // the attributes in full, and the tensors' types, 0 for absent ones
    for (size_t i = 0; i < arguments.size(); ++i) {
      const c10::IValue& v = arguments[i];
      if (takes_tensor(op.schema().arguments()[i])) {
        at::Tensor t = v.isTensor() ? v.toTensor() : at::Tensor();
        operands.push_back(t.defined() ? std::optional(t) : std::nullopt);
        key.push_back(type_of(t));
      } else if (v.isTensorList()) {
        key.insert(key.end(), {'l', uint64_t(v.toListRef().size())});
        for (const c10::IValue& t : v.toListRef()) {
          operands.push_back(t.toTensor());
          key.push_back(type_of(t.toTensor()));
        }
      } else if (v.isInt()) {
        key.insert(key.end(), {'i', uint64_t(v.toInt())});
      } else if (v.isDouble()) {
        key.insert(key.end(), {'d', std::bit_cast<uint64_t>(v.toDouble())});
      } else if (v.isBool()) {
        key.insert(key.end(), {'b', v.toBool()});
      } else {
        return {};
      }
    }
    if (!device::is_ordinary(operands)) return {};
    auto* call = find(key, arguments);
    return call ? (*call)(operands) : std::nullopt;
  }

  RepeatedCall* find(const device::CallKey& key, at::ArrayRef<c10::IValue> arguments) {
    {
      std::lock_guard lock(mutex_);
      if (auto it = calls_.find(key); it != calls_.end()) return it->second;
    }
    py::gil_scoped_acquire gil;
    auto* call = repeated_(*in_python(arguments)).cast<RepeatedCall*>();
    std::lock_guard lock(mutex_);
    return calls_[key] = call;
  }

  py::function kernel_, repeated_;
  std::mutex mutex_;  // of the table
  std::unordered_map<device::CallKey, RepeatedCall*, device::CallKeyHash> calls_;
};

struct Kernel : c10::OperatorKernel {
  explicit Kernel(KeptOperator* kept) : kept(kept) {}
  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack) { kept->call(op, stack); }
  KeptOperator* kept;  // never destroyed: Python, which it refers to, ends before the dispatcher
};

}  // namespace

void keep_operator(const std::string& name, py::function kernel, py::function repeated) {
  static auto* library = new torch::Library(torch::Library::IMPL, "aten", c10::DispatchKey::AutogradPrivateUse1, __FILE__, __LINE__);
  library->impl(name.c_str(), torch::CppFunction::makeFromBoxedFunctor(std::make_unique<Kernel>(new KeptOperator(std::move(kernel), std::move(repeated)))));
}

}  // namespace cresset::python
