#include "device/fallback.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/enum_tag.h>
#include <ATen/native/Resize.h>
#include <torch/library.h>

#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "cresset/metrics.h"
#include "device/checks.h"
#include "device/complex.h"
#include "device/convert.h"
#include "device/generator.h"
#include "device/kernel_call.h"
#include "trace/capture.h"
#include "trace/cell.h"
#include "trace/composite.h"
#include "trace/schema.h"

namespace cresset::device {
namespace {

bool is_ours(const at::Tensor& t) { return t.defined() && t.device().type() == c10::DeviceType::PrivateUse1; }

// `reason`: what of the operator is not lowered, if not all of it.
void announce(const std::string& name, const std::string& reason, const char* consequence) {
  const char* set = std::getenv("CRESSET_FALLBACK");
  std::string mode = set ? set : "warn";
  TORCH_CHECK_NOT_IMPLEMENTED(mode != "error", "cresset: ", name, " is not lowered", reason, " (CRESSET_FALLBACK=error); add it to ops/aten.yaml with a lowering in src/lowering, "
                              "or set CRESSET_FALLBACK=warn to run it on the CPU");
  if (mode == "allow") return;
  static auto* warned = new std::unordered_set<std::string>;
  static auto* mutex = new std::mutex;
  std::lock_guard lock(*mutex);
  if (!warned->insert(name + reason).second) return;
  std::string text = "cresset: " + name + " is not lowered" + reason + consequence + ". To lower it see docs/adding-an-op.md; to silence this, CRESSET_FALLBACK=allow";
  if (trace::capturing()) trace::warn_of_capture(std::move(text));
  else TORCH_WARN(text);
}

// A random operator draws from the device's generator also here: it seeds the CPU's for the time of the call.
class SeededCpu {
 public:
  explicit SeededCpu(const std::optional<at::Generator>& generator) : cpu_(at::detail::getDefaultCPUGenerator()), before_(cpu_.get_state()) {
    auto [seed, offset] = next_random(generator);
    std::lock_guard lock(cpu_.mutex());
    cpu_.set_current_seed(c10::hash_combine(size_t(seed), size_t(offset)));
  }
  ~SeededCpu() { cpu_.set_state(before_); }

 private:
  at::Generator cpu_;
  at::Tensor before_;
};

// What the operator works on: one CPU storage for each cell, so that aliases stay aliases. Where it writes, that is a copy, whose bytes are copied back.
class CpuArguments {
 public:
  explicit CpuArguments(bool copied) : copied_(copied) {}

  at::Tensor to_cpu(const at::Tensor& t, bool writes) {
    if (!is_ours(t)) return t;
    at::Tensor cpu = at::empty({0}, t.options().device(at::kCPU)).set_(storage_of(trace::Cell::of(t)), t.storage_offset(), t.sizes(), t.strides());
    cpu._set_conj(t.is_conj());
    cpu._set_neg(t.is_neg());
    if (writes) written_.push_back({t, cpu});
    return cpu;
  }
  void write_back() {
    for (auto& [device, cpu] : written_) write(device, cpu);
  }
  at::Tensor to_device(const at::Tensor& t) const {
    if (!t.defined() || !t.device().is_cpu()) return t;
    for (auto& [device, cpu] : written_)
      if (cpu.is_same(t)) return device;
    if (!is_whole(t)) return t.to(c10::Device(c10::DeviceType::PrivateUse1, 0));
    at::Tensor device = trace::new_tensor(t.nbytes(), t.scalar_type(), t.sizes(), t.strides());
    take_over(device, t);
    return device;
  }
  static void write(const at::Tensor& device, const at::Tensor& cpu) {
    bool replaces = is_whole(cpu) && device.scalar_type() == cpu.scalar_type() && device.sizes() == cpu.sizes() && device.strides() == cpu.strides() && device.storage_offset() == 0 &&
                    device.storage().nbytes() == cpu.nbytes();
    if (replaces) return take_over(device, cpu);
    if (device.sizes() != cpu.sizes()) device.resize_(cpu.sizes());
    device.copy_(cpu);
  }

 private:
  at::Storage storage_of(trace::Cell& cell) {
    auto& storage = storages_[&cell];
    if (!storage) storage = cpu_storage(copied_ ? trace::bytes(cell)->copy() : trace::bytes(cell));
    return storage;
  }
  // Whether it shows all of a memory that nobody else shows.
  static bool is_whole(const at::Tensor& t) {
    return t.numel() && t.is_non_overlapping_and_dense() && t.storage_offset() == 0 && t.storage().nbytes() == t.nbytes() && t.storage().use_count() == 1 && !t.is_complex() && !t.is_neg();
  }
  // The CPU tensor's memory becomes the device tensor's.
  static void take_over(const at::Tensor& device, const at::Tensor& cpu) {
    trace::replace_bytes(trace::Cell::of(device), Buffer::wrap(cpu.mutable_data_ptr(), cpu.nbytes(), std::make_shared<c10::Storage>(cpu.storage())), cpu.scalar_type());
  }

  const bool copied_;
  std::unordered_map<trace::Cell*, at::Storage> storages_;
  std::vector<std::pair<at::Tensor, at::Tensor>> written_;  // device, CPU
};

// A result for which the caller gave a tensor.
void write_out(const at::Tensor& out, const at::Tensor& result) {
  TORCH_CHECK(c10::canCast(result.scalar_type(), out.scalar_type()), "result type ", result.scalar_type(), " can't be cast to the desired output type ", out.scalar_type());
  at::native::resize_output(out, result.sizes());
  CpuArguments::write(out, result);
}

// PyTorch's kernel on these arguments; its results are put on the stack, or written to `outs`.
void run_on_cpu(const c10::OperatorHandle& op, torch::jit::Stack* stack, const torch::jit::Stack& outs) {
  const auto& schema = op.schema();
  auto is_alias = [](const c10::Argument& a) { return a.alias_info() != nullptr; };
  CpuArguments arguments(std::ranges::any_of(schema.arguments(), is_alias));
  std::optional<at::Generator> generator;
  for (size_t i = 0, first = stack->size() - schema.arguments().size(); i < schema.arguments().size(); ++i) {
    c10::IValue& value = (*stack)[first + i];
    trace::replace_tensors(value, [&](const at::Tensor& t) { return arguments.to_cpu(t, trace::is_written(schema.arguments()[i])); });
    if (value.isDevice() && value.toDevice().type() == c10::DeviceType::PrivateUse1) {
      value = c10::Device(at::kCPU);
    } else if (value.isGenerator()) {
      generator = value.toGenerator();
      value = c10::IValue();
    }
  }
  std::optional<SeededCpu> seeded;
  if (op.hasTag(at::Tag::nondeterministic_seeded)) seeded.emplace(generator);
  op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
  arguments.write_back();
  for (size_t i = 0, first = stack->size() - schema.returns().size(); i < schema.returns().size(); ++i) {
    c10::IValue& value = (*stack)[first + i];
    if (outs.empty()) trace::replace_tensors(value, [&](const at::Tensor& t) { return arguments.to_device(t); });
    else write_out(outs[i].toTensor(), std::exchange(value, outs[i]).toTensor());
  }
}

}  // namespace

void fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  if (record_complex(op, stack)) return;
  const auto& schema = op.schema();
  trace::check_not_in_body(("use " + schema.name() + ", which is not lowered").c_str());
  if (record_kernel_call(op, stack)) return announce(schema.name(), "", " and runs eagerly, which splits the compiled graph there");
  TORCH_CHECK_NOT_IMPLEMENTED(!trace::capturing(), "cresset: ", schema.name(), " is not lowered and can't be part of a captured program; a value is read while its graph is captured");
  std::string reason;
  for (const auto& value : torch::jit::last(*stack, schema.arguments().size()))
    if (value.isTensor() && value.toTensor().defined() && without_code(value.toTensor().scalar_type())) reason = std::string(" for ") + c10::toString(value.toTensor().scalar_type());
  count(schema.name());
  announce(schema.name(), reason, " and runs on the CPU, which ends the traced program there");

  auto plain = functional(op);
  torch::jit::Stack outs;
  if (plain) outs = torch::jit::pop(*stack, schema.arguments().size() - plain->schema().arguments().size());
  run_on_cpu(plain.value_or(op), stack, outs);
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, m) { m.fallback(torch::CppFunction::makeFromBoxedFunction<&fallback>()); }

}  // namespace cresset::device
