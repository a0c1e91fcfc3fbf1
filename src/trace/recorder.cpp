#include "trace/recorder.h"

#include <ATen/ATen.h>
#include <ATen/native/Resize.h>
#include <c10/core/GradMode.h>

#include <cstring>
#include <unordered_map>

#include "trace/capture.h"
#include "trace/cell.h"
#include "trace/composite.h"
#include "trace/hash.h"
#include "trace/step.h"
#include "trace/window.h"

namespace cresset::trace {

const c10::DispatchKeySet meta_keys{c10::DispatchKey::Meta};

namespace {

using Key = c10::ArrayRef<uint64_t>;
struct KeyHash {
  using is_transparent = void;
  size_t operator()(Key key) const {
    uint64_t h = key.size();
    for (uint64_t v : key) h = mix(h, v);
    return h;
  }
};
struct KeyEqual {
  using is_transparent = void;
  bool operator()(Key a, Key b) const { return a == b; }
};
// Results' layouts by operator, operands and attributes. Values are never erased: Recorder keeps pointers to them.
std::unordered_map<std::vector<uint64_t>, std::unique_ptr<std::vector<Layout>>, KeyHash, KeyEqual>& shape_cache() {
  static auto* c = new std::unordered_map<std::vector<uint64_t>, std::unique_ptr<std::vector<Layout>>, KeyHash, KeyEqual>;
  return *c;
}

uint64_t bits_of(const at::Scalar& s) {
  if (s.isBoolean()) return s.toBool();
  if (s.isIntegral(false)) return uint64_t(s.toLong());
  return c10::bit_cast<uint64_t>(s.toDouble());
}
at::ScalarType dtype_of(const at::Scalar& s) { return s.isBoolean() ? at::kBool : s.isIntegral(false) ? at::kLong : at::kDouble; }
Attribute attribute_of(const at::Scalar& s) {
  if (s.isBoolean()) return s.toBool();
  if (s.isIntegral(false)) return s.toLong();
  if (s.isComplex()) return s.toComplexDouble();
  return s.toDouble();
}

// A number is a constant of the program until another value is seen at the same place of a window: then it becomes an input, for good.
bool varies(uint64_t place, uint64_t bits) {
  struct Number {
    uint64_t bits;
    bool varies = false;
  };
  constexpr size_t kMostPlaces = 1 << 18;  // where no window is like another, they would grow for ever
  static auto* numbers = new std::unordered_map<uint64_t, Number>;
  if (numbers->size() >= kMostPlaces) numbers->clear();
  Number& number = numbers->try_emplace(place, Number{bits}).first->second;
  return number.varies |= number.bits != bits;
}

}  // namespace

Recorder::Recorder(const Operator& op, bool in_place) : lock_(trace_mutex()), op_(op), in_place_(in_place) {
  bound_trace();
  if (is_lowered(op)) op.counter->add();  // else each call of the kernel is counted
  key_.push_back(reinterpret_cast<uint64_t>(&op));
  key_.push_back(uint64_t(c10::get_default_dtype_as_scalartype()));  // which integers become
}
Recorder::~Recorder() = default;

Recorder::Unlocked::Unlocked(std::unique_lock<std::recursive_mutex>& lock) : lock_(lock) {
  lock_.unlock();
}
Recorder::Unlocked::~Unlocked() {
  lock_.lock();
}

void Recorder::tensor(const at::Tensor& t, const char* argument) {
  TORCH_CHECK(t.defined(), op_.name, ": argument ", argument, " is an undefined tensor");
  bool wrapped = t.unsafeGetTensorImpl()->is_wrapped_number();
  key_.push_back(uint64_t(t.scalar_type()) << 8 | uint64_t(t.dim()) << 1 | wrapped);
  for (int64_t s : t.sizes()) key_.push_back(uint64_t(s));
  for (int64_t s : t.strides()) key_.push_back(uint64_t(s));
  if (t.device().type() == c10::DeviceType::PrivateUse1) {
    operands_.push_back(read(t));
    return;
  }
  TORCH_CHECK(t.device().is_cpu() && t.dim() == 0, "Expected all tensors to be on the same device, but found at least two devices, cresset:0 and ",
              t.device(), "! (when checking argument for argument ", argument, " in method ", op_.name, "); move it with .to(\"cresset\")");
  number_operand(t.item(), false);
  // The tensor's own dtype takes part in type promotion.
  Value& v = operands_.back();
  if (v.type().dtype != t.scalar_type()) v = converted(v, t.scalar_type());
}

void Recorder::number_operand(const at::Scalar& value, bool in_attribute) {
  // The integer 1 is nearly always alpha's default (autograd adds gradients up in place), not something an optimizer computes.
  bool is_default = value.isIntegral(false) && value.toLong() == 1;
  bool optimizer = in_place_ && !is_default && !c10::GradMode::is_enabled();
  // Whoever captures a graph guards its numbers.
  bool captured = capturing() || recording_body();
  bool input = !value.isComplex() && !captured && (optimizer || varies(mix(place_in_window(), KeyHash()(key())), bits_of(value)));
  if (!input && !value.isComplex()) constants_ = mix(constants_, bits_of(value));
  if (in_attribute) {
    if (!input) {
      attributes_.push_back(attribute_of(value));
    } else {
      attributes_.push_back(ScalarOperand{uint32_t(numbers_.size())});  // its place among the operands is known in node()
      numbers_.push_back({NodeFactory::scalar(bits_of(value), dtype_of(value)), 0});
    }
  } else {
    operands_.push_back(input ? Value{NodeFactory::scalar(bits_of(value), dtype_of(value)), 0}
                              : make_value(builtin::constant, {}, {attribute_of(value)}, {dtype_of(value), {}}));
  }
}

void Recorder::tensor(const std::optional<at::Tensor>& t, const char* argument) {
  if (t && t->defined()) return tensor(*t, argument);
  operands_.emplace_back();
  key_.push_back(~0ull);
}
void Recorder::tensors(const at::ITensorListRef& list, const char* argument) {
  attribute(Attribute(int64_t(list.size())));
  for (const at::Tensor& t : list) tensor(t, argument);
}
void Recorder::tensors(const c10::List<std::optional<at::Tensor>>& list, const char* argument) {
  attribute(Attribute(int64_t(list.size())));
  for (size_t i = 0; i < list.size(); ++i) {
    std::optional<at::Tensor> t = list.get(i);
    // An index may be on the CPU, as with every other device.
    if (t && t->defined() && t->device().is_cpu()) t = t->to(c10::Device(c10::DeviceType::PrivateUse1, 0));
    tensor(t, argument);
  }
}

void Recorder::scalar(const at::Scalar& value) {
  if (op_.composite) {
    // What runs a composite whole is told its numbers, with one type: whatever the user wrote, of floating tensors they are floats.
    bool floating = !operands_.empty() && operands_[0] && c10::isFloatingType(operands_[0].type().dtype);
    return attribute(floating && value.isIntegral(false) ? Attribute(value.toDouble()) : attribute_of(value));
  }
  key_.push_back(uint64_t(value.type()));
  number_operand(value, true);
}
void Recorder::scalar(const std::optional<at::Scalar>& value) {
  if (value) return scalar(*value);
  attribute(Attribute());
}
void Recorder::number(const at::Scalar& value) {
  number(Value{NodeFactory::scalar(bits_of(value), dtype_of(value)), 0});
}
void Recorder::number(Value value) {
  key_.push_back(uint64_t(value.type().dtype));
  attributes_.push_back(ScalarOperand{uint32_t(numbers_.size())});
  numbers_.push_back(std::move(value));
}

void Recorder::settings(at::ArrayRef<Setting> all) {
  const bool captured = capturing() || recording_body();
  const uint64_t place = mix(place_in_window(), KeyHash()(key()));  // before any of them, so that those that change together do so once
  for (const Setting& s : all) {
    const bool input = s.value != 0 && !captured && varies(mix(place, attributes_.size()), c10::bit_cast<uint64_t>(s.value));
    if (input) number(s.input);
    else attribute(Attribute(s.value));
  }
}

std::pair<Value, Value> Recorder::random(std::pair<int64_t, int64_t> seed_and_offset) {
  number(seed_and_offset.first);
  number(seed_and_offset.second);
  note_random(numbers_[numbers_.size() - 2].node, numbers_.back().node);
  return {numbers_[numbers_.size() - 2], numbers_.back()};
}

void Recorder::attribute(Attribute value) {
  for_each_number(value, [&](uint64_t n) { key_.push_back(n); });
  attributes_.push_back(std::move(value));
}
void Recorder::attribute(c10::string_view v) { attribute(Attribute(std::string(v))); }
void Recorder::attribute(std::optional<c10::string_view> v) { attribute(v ? Attribute(std::string(*v)) : Attribute()); }
void Recorder::attribute(at::IntArrayRef v) { attribute(Attribute(v.vec())); }
void Recorder::attribute(at::OptionalIntArrayRef v) { attribute(v ? Attribute(v->vec()) : Attribute()); }
void Recorder::attribute(std::optional<int64_t> v) { attribute(v ? Attribute(*v) : Attribute()); }
void Recorder::attribute(std::optional<double> v) { attribute(v ? Attribute(*v) : Attribute()); }
void Recorder::attribute(std::optional<bool> v) { attribute(v ? Attribute(*v) : Attribute()); }
void Recorder::attribute(std::optional<at::ScalarType> v) { attribute(v ? Attribute(*v) : Attribute()); }
void Recorder::attribute(at::ArrayRef<double> v) { attribute(Attribute(v.vec())); }
void Recorder::attribute(std::optional<at::ArrayRef<double>> v) { attribute(v ? Attribute(v->vec()) : Attribute()); }
void Recorder::attribute(std::array<bool, 2> v) { attribute(Attribute(std::vector<bool>(v.begin(), v.end()))); }
void Recorder::attribute(std::array<bool, 3> v) { attribute(Attribute(std::vector<bool>(v.begin(), v.end()))); }

void Recorder::distinguish(const at::Scalar& value) { key_.push_back(bits_of(value)); }
void Recorder::distinguish(std::optional<at::MemoryFormat> format) { key_.push_back(format ? uint64_t(*format) : ~0ull); }

bool Recorder::cached() {
  if (note_operator(KeyHash()(key()), constants_, operands_, numbers_)) {
    std::string where;
    {
      Unlocked unlocked(lock_);
      where = location_hook();
    }
    note_location(op_, std::move(where));
  }
  auto it = shape_cache().find(key());
  if (it == shape_cache().end()) return false;
  layouts_ = it->second.get();
  return true;
}
void Recorder::remember(std::vector<Layout> layouts) {
  auto& slot = shape_cache()[std::vector<uint64_t>(key_.begin(), key_.end())];
  slot = std::make_unique<std::vector<Layout>>(std::move(layouts));
  layouts_ = slot.get();
}
void Recorder::infer_layouts(c10::function_ref<std::vector<Layout>()> compute) {
  if (cached()) return;
  remember(compute());
}

std::vector<Layout> Recorder::layouts_of(const at::Tensor& t) {
  if (!t.defined()) return {Layout{{}, {}, false}};
  return {Layout{{t.scalar_type(), at::DimVector(t.sizes())}, at::DimVector(t.strides()), true}};
}
std::vector<Layout> Recorder::layouts_of(const std::vector<at::Tensor>& list) {
  std::vector<Layout> all;
  for (const at::Tensor& t : list) all.push_back(layouts_of(t).front());
  return all;
}

c10::DispatchKeySet Recorder::keys() const { return on_cpu_ ? c10::DispatchKeySet(c10::DispatchKey::CPU) : meta_keys; }
at::Tensor Recorder::meta(const at::Tensor& t) {
  if (!t.defined() || t.device().is_cpu()) return t;
  if (on_cpu_) return at::empty_strided(t.sizes(), t.strides(), t.options().device(at::kCPU)).zero_();
  return at::empty_strided(t.sizes(), t.strides(), t.options().device(at::kMeta));
}
std::optional<at::Tensor> Recorder::meta(const std::optional<at::Tensor>& t) { return t ? std::optional(meta(*t)) : std::nullopt; }
std::vector<at::Tensor> Recorder::meta(const at::ITensorListRef& list) {
  std::vector<at::Tensor> all;
  for (const at::Tensor& t : list) all.push_back(meta(t));
  return all;
}

const NodePtr& Recorder::node() {
  if (node_) return node_;
  uint32_t first_number = uint32_t(operands_.size());
  for (Attribute& a : attributes_)
    if (auto* operand = std::get_if<ScalarOperand>(&a)) operand->operand += first_number;
  for (Value& n : numbers_) operands_.push_back(std::move(n));
  Node::Types types;
  for (const Layout& l : *layouts_) types.push_back(l.type);
  return node_ = NodeFactory::make(op_, std::move(operands_), std::move(attributes_), std::move(types));
}

at::Tensor Recorder::result(size_t index) {
  const Layout& layout = (*layouts_)[index];
  if (!layout.defined) return {};
  auto t = make_tensor({node(), uint32_t(index)}, layout.strides);
  note_recorded();
  return t;
}
std::vector<at::Tensor> Recorder::all_results() {
  std::vector<at::Tensor> all;
  for (size_t i = 0; i < layouts_->size(); ++i) all.push_back(result(i));
  return all;
}

void Recorder::write(const at::Tensor& self, size_t index) {
  const TensorType& type = (*layouts_)[index].type;
  TORCH_CHECK(at::IntArrayRef(type.sizes) == self.sizes(), "output with shape ", self.sizes(), " doesn't match the broadcast shape ",
              at::IntArrayRef(type.sizes));
  TORCH_CHECK(c10::canCast(type.dtype, self.scalar_type()), "result type ", type.dtype, " can't be cast to the desired output type ", self.scalar_type());
  trace::write(self, {node(), uint32_t(index)});
  note_recorded();
}

void Recorder::write_out(const at::Tensor& out, size_t index) {
  const Layout& layout = (*layouts_)[index];
  TORCH_CHECK(c10::canCast(layout.type.dtype, out.scalar_type()), "result type ", layout.type.dtype, " can't be cast to the desired output type ",
              out.scalar_type());
  TORCH_CHECK(out.device().type() == c10::DeviceType::PrivateUse1, "Expected out tensor to have device cresset:0, but got ", out.device(), " instead");
  if (at::native::resize_output(out, layout.type.sizes) && !layout.strides.empty()) out.as_strided_(layout.type.sizes, layout.strides);
  if (out.numel()) trace::write(out, {node(), uint32_t(index)});
  note_recorded();
}

}  // namespace cresset::trace
