// What a generated kernel calls to record one operator:
//
//   at::Tensor gelu(const at::Tensor& self, c10::string_view approximate) {
//     trace::Recorder r(op::gelu);
//     r.tensor(self, "self");
//     r.attribute(approximate);
//     r.infer([&] { return at::_ops::gelu::redispatch(r.keys(), r.meta(self), approximate); });
//     return r.result();
//   }
//
// Arguments are given in schema order. Errors (shapes, dtypes, devices) are raised here, on the user's line, with the
// classes and texts of eager PyTorch, because the shape comes from PyTorch's own meta functions.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>
#include <c10/util/FunctionRef.h>
#include <c10/util/bit_cast.h>

#include "trace/node.h"
#include "trace/step.h"

namespace cresset::trace {

extern const c10::DispatchKeySet meta_keys;

/// Sizes, strides and dtype of one result, as a meta function gives them.
struct Layout {
  TensorType type;
  at::DimVector strides;
  bool defined = true;  ///< false: an undefined Tensor result (output_mask)
};

class Recorder {
 public:
  /// Counts, and takes the trace's lock. `in_place`: the result will be written over an argument.
  explicit Recorder(const Operator& op, bool in_place = false);
  ~Recorder();

  /// A tensor argument; an optional one may be absent or undefined. A CPU tensor of rank 0 is taken as a number;
  /// any other device is an error that names the operator and `argument`.
  void tensor(const at::Tensor& t, const char* argument);
  void tensor(const std::optional<at::Tensor>& t, const char* argument);
  void tensors(const at::ITensorListRef& list, const char* argument);
  void tensors(const c10::List<std::optional<at::Tensor>>& list, const char* argument);  // index, index_put

  /// A Scalar, or a float that an optimizer changes. It becomes a program input at once if the operator is in place and
  /// no gradient is recorded (an optimizer), otherwise when another value is seen at the same place of a window. A composite's stays an attribute.
  void scalar(const at::Scalar& value);
  void scalar(const std::optional<at::Scalar>& value);
  /// A Scalar that is always a program input (fused optimizers' lr, a generator's seed and offset).
  void number(const at::Scalar& value);
  /// The same as a rank-0 value that other nodes may share.
  void number(Value value);
  /// Numbers of a call that records several operators, such as an optimizer's: attributes until one comes with another value at this place, then one input for all of
  /// them. 0 stays an attribute: it says what is left out.
  struct Setting {
    explicit Setting(double value) : value(value), input{NodeFactory::scalar(c10::bit_cast<uint64_t>(value), at::kDouble), 0} {}
    double value;
    Value input;
  };
  void settings(at::ArrayRef<Setting> all);
  /// Seed and offset of the generator, as the last two arguments of a random operator.
  std::pair<Value, Value> random(std::pair<int64_t, int64_t> seed_and_offset);

  void attribute(Attribute value);
  void attribute(c10::string_view value);
  void attribute(std::optional<c10::string_view> value);
  void attribute(at::IntArrayRef value);
  void attribute(at::OptionalIntArrayRef value);
  void attribute(std::optional<int64_t> value);
  void attribute(std::optional<double> value);
  void attribute(std::optional<bool> value);
  void attribute(std::optional<at::ScalarType> value);
  void attribute(at::ArrayRef<double> value);
  void attribute(std::optional<at::ArrayRef<double>> value);
  void attribute(std::array<bool, 2> value);
  void attribute(std::array<bool, 3> value);

  /// The results' layouts: from the shape cache (key: operator, operands' sizes, strides, dtypes, attributes without the
  /// scalars' values), or else from `compute`, which returns a Tensor, a tuple of Tensors or a vector of them on the meta device.
  template <class Function>
  void infer(Function&& compute) {
    if (cached()) return;
    std::vector<Layout> layouts;
    {
      Unlocked unlocked(lock_);
      try {
        layouts = layouts_of(compute());
      } catch (const c10::NotImplementedError&) {
        // Some of PyTorch's meta functions are Python's. Without Python the CPU says what the shapes are.
        on_cpu_ = true;
        layouts = layouts_of(compute());
      }
    }
    remember(std::move(layouts));
  }
  /// The same with a shape function of our own, which returns layouts.
  void infer_layouts(c10::function_ref<std::vector<Layout>()> compute);
  /// Where the shapes are asked for.
  c10::DispatchKeySet keys() const;
  /// This tensor on the meta device (rank-0 CPU numbers stay as they are).
  at::Tensor meta(const at::Tensor& t);
  std::optional<at::Tensor> meta(const std::optional<at::Tensor>& t);
  std::vector<at::Tensor> meta(const at::ITensorListRef& list);

  /// Makes what is no attribute part of the shape cache's key, where the layout depends on it.
  void distinguish(const at::Scalar& value);
  void distinguish(std::optional<at::MemoryFormat> format);

  /// New tensors over the results.
  at::Tensor result(size_t index = 0);
  template <size_t... I>
  auto results(std::index_sequence<I...>) {
    return std::make_tuple(result(I)...);
  }
  std::vector<at::Tensor> all_results();
  /// In place: checks that the result fits `self` (shape, castable dtype: eager's errors) and writes it through its window.
  void write(const at::Tensor& self, size_t index = 0);
  /// Out variants: resizes `out` as eager does, then writes.
  void write_out(const at::Tensor& out, size_t index = 0);

 private:
  /// Some of PyTorch's meta functions are written in Python: the trace's lock is not held while they wait for the interpreter.
  class Unlocked {
   public:
    explicit Unlocked(std::unique_lock<std::recursive_mutex>& lock);
    ~Unlocked();

   private:
    HeldBuffers held_;
    std::unique_lock<std::recursive_mutex>& lock_;
  };
  c10::ArrayRef<uint64_t> key() const { return {key_.data(), key_.size()}; }
  bool cached();
  void remember(std::vector<Layout> layouts);
  static std::vector<Layout> layouts_of(const at::Tensor& t);
  static std::vector<Layout> layouts_of(const std::vector<at::Tensor>& list);
  template <class... T>
  static std::vector<Layout> layouts_of(const std::tuple<T...>& tuple) {
    std::vector<Layout> all;
    std::apply([&](const auto&... t) { (all.push_back(layouts_of(t).front()), ...); }, tuple);
    return all;
  }
  const NodePtr& node();  // made (or found) once the layouts are known
  void number_operand(const at::Scalar& value, bool in_attribute);

  std::unique_lock<std::recursive_mutex> lock_;
  const Operator& op_;
  bool in_place_;
  bool on_cpu_ = false;  // the shapes are asked for with zeros on the CPU
  Node::Operands operands_;
  Node::Attributes attributes_;
  c10::SmallVector<uint64_t, 48> key_;  // of the shape cache
  uint64_t constants_ = 0;              // hash of the scalars that are constants, which the key leaves out
  const std::vector<Layout>* layouts_ = nullptr;
  std::vector<Value> numbers_;  // promoted scalars, appended to the operands
  NodePtr node_;
};

}  // namespace cresset::trace
