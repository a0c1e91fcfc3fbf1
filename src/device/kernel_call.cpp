#include "device/kernel_call.h"

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/enum_tag.h>
#include <torch/library.h>

#include <mutex>
#include <ranges>
#include <unordered_map>

#include "device/checks.h"
#include "trace/capture.h"
#include "trace/cell.h"
#include "trace/recorder.h"
#include "trace/schema.h"
#include "trace/step.h"

namespace cresset::device {
namespace {

using Arguments = c10::ArrayRef<c10::IValue>;

// Programs run with the trace's lock, with which nobody may wait for the interpreter: other libraries' kernels may be Python's.
bool has_own_kernel(const c10::OperatorHandle& op) { return op.schema().name().starts_with("aten::"); }

// Whether it computes nothing but its results, and from its arguments alone.
bool is_pure(const c10::OperatorHandle& op) {
  for (auto tag : {at::Tag::nondeterministic_seeded, at::Tag::dynamic_output_shape, at::Tag::data_dependent_output})
    if (op.hasTag(tag)) return false;
  auto is_alias = [](const c10::Argument& a) { return a.alias_info() != nullptr; };
  return std::ranges::none_of(op.schema().arguments(), is_alias) &&
         std::ranges::all_of(op.schema().returns(), [&](const c10::Argument& r) { return !is_alias(r) && r.type()->kind() == c10::TypeKind::TensorType; });
}

bool is_plain(const at::Tensor& t) { return !t.defined() || (t.device().type() == c10::DeviceType::PrivateUse1 && !without_code(t)); }

// What an argument without tensors is to a node.
std::optional<trace::Attribute> attribute_of(const c10::IValue& v) {
  if (v.isNone()) return trace::Attribute();
  if (v.isBool()) return v.toBool();
  if (v.isInt()) return v.toInt();
  if (v.isDouble()) return v.toDouble();
  if (v.isString()) return v.toStringRef();
  if (v.isIntList()) return v.toIntVector();
  if (v.isDoubleList()) return v.toDoubleVector();
  if (v.isBoolList()) {
    c10::List<bool> list = v.toBoolList();
    return std::vector<bool>(list.begin(), list.end());
  }
  return std::nullopt;
}

bool is_recordable(const c10::IValue& v) {
  if (v.isTensor()) return is_plain(v.toTensor());
  if (v.isTensorList()) return std::ranges::all_of(v.toTensorVector(), is_plain);
  return v.isOptionalTensorList() ? std::ranges::all_of(v.toOptionalTensorVector(), [](const auto& t) { return !t || is_plain(*t); }) : attribute_of(v).has_value();
}

// Of each operator one object, for as long as the process lives. Its attributes are all arguments but tensors.
const trace::Operator& operator_of(const c10::OperatorHandle& op) {
  static auto* known = new std::unordered_map<c10::OperatorName, trace::Operator>;
  static auto* mutex = new std::mutex;
  std::lock_guard lock(*mutex);
  const c10::FunctionSchema& schema = op.schema();
  auto [it, added] = known->insert({schema.operator_name(), {}});
  if (!added) return it->second;
  auto* names = new std::vector<const char*>;
  for (const c10::Argument& a : schema.arguments())
    if (!trace::is_tensor(a)) names->push_back((new std::string(a.name()))->c_str());
  names->push_back(nullptr);
  const char* name = it->first.name.c_str();
  return it->second = {name, it->first.overload_name.c_str(), new Counter(name), nullptr, nullptr, names->data(), name};
}

// The results for arguments of these sizes, without values.
std::optional<std::vector<at::Tensor>> meta_results(const c10::OperatorHandle& op, torch::jit::Stack stack) {
  at::AutoDispatchBelowADInplaceOrView below;
  auto meta = [](const at::Tensor& t) { return t.defined() ? at::empty_strided(t.sizes(), t.strides(), t.options().device(at::kMeta)) : t; };
  for (c10::IValue& v : stack) trace::replace_tensors(v, meta);
  try {
    op.redispatchBoxed(trace::meta_keys, &stack);
  } catch (const c10::NotImplementedError&) {
    return std::nullopt;
  }
  std::vector<at::Tensor> results;
  for (const c10::IValue& v : stack) {
    results.push_back(v.toTensor());
    if (!results.back().defined() || without_code(results.back().scalar_type())) return std::nullopt;
  }
  return results;
}

void record(trace::Recorder& r, const c10::Argument& a, const c10::IValue& v) {
  const char* name = a.name().c_str();
  if (trace::is_tensor(a)) r.tensor(v.isNone() ? std::optional<at::Tensor>() : v.toTensor(), name);
  else if (v.isTensorList()) r.tensors(v.toTensorVector(), name);
  else if (v.isOptionalTensorList()) r.tensors(v.toOptionalTensorList(), name);
  else r.attribute(*attribute_of(v));
}

}  // namespace

std::optional<c10::OperatorHandle> functional(const c10::OperatorHandle& op) {
  const auto& arguments = op.schema().arguments();
  auto outs = std::ranges::count_if(arguments, trace::is_out);
  if (outs == 0) return op;
  constexpr std::string_view kOut = "_out";  // of "Tensor_out" the other is "Tensor", and of others it has no name
  std::string overload = op.schema().overload_name();
  overload.resize(overload.ends_with(kOut) ? overload.size() - kOut.size() : 0);
  auto found = c10::Dispatcher::singleton().findSchema({op.schema().name(), overload});
  if (!found || found->schema().arguments().size() + outs != arguments.size() || found->schema().returns().size() != size_t(outs)) return std::nullopt;
  bool same = std::ranges::equal(found->schema().arguments(), arguments | std::views::take(arguments.size() - outs), {}, &c10::Argument::name, &c10::Argument::name);
  return same ? found : std::nullopt;
}

bool record_kernel_call(const c10::OperatorHandle& called, torch::jit::Stack* stack) {
  if (!trace::capture_calls_kernels() || !has_own_kernel(called)) return false;
  auto op = functional(called);
  if (!op || !is_pure(*op)) return false;
  const auto& schema = op->schema();
  torch::jit::Stack all = torch::jit::last(*stack, called.schema().arguments().size()).vec(), outs(all.begin() + schema.arguments().size(), all.end());
  Arguments arguments = c10::ArrayRef(all).slice(0, schema.arguments().size());
  for (size_t i = 0; i < arguments.size(); ++i)
    if (!is_recordable(arguments[i])) return false;
  auto metas = meta_results(*op, arguments.vec());
  if (!metas) return false;
  torch::jit::drop(*stack, all.size());
  trace::Recorder r(operator_of(*op));
  for (size_t i = 0; i < arguments.size(); ++i) record(r, schema.arguments()[i], arguments[i]);
  if (metas->empty()) {  // it is called for the errors that it raises
    r.infer_layouts([] { return std::vector{trace::Layout{{at::kBool, {}}, {}}}; });
    trace::check_later(trace::read(r.result()), schema.name(), false);
    return true;
  }
  r.infer([&] { return *metas; });
  for (size_t i = 0; i < outs.size(); ++i) r.write_out(outs[i].toTensor(), i), stack->push_back(outs[i]);
  if (outs.empty())
    for (at::Tensor& t : r.all_results()) stack->push_back(std::move(t));
  return true;
}

namespace {

// What a program computes is looked at when it has run.
void linalg_check_errors(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  if (record_kernel_call(op, stack)) return;
  for (c10::IValue& v : *stack) trace::replace_tensors(v, [](const at::Tensor& t) { return t.cpu(); });
  op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) { m.impl("_linalg_check_errors", torch::CppFunction::makeFromBoxedFunction<&linalg_check_errors>()); }

}  // namespace cresset::device
