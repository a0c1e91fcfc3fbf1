// One traced operator. Nodes are light and hash-consed: tracing happens on every step, MLIR is built only for a graph
// that has not been seen before.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>
#include <c10/util/DimVector.h>
#include <c10/util/SmallVector.h>
#include <c10/util/bit_cast.h>
#include <c10/util/intrusive_ptr.h>

#include <cstdint>
#include <mutex>
#include <string>
#include <variant>
#include <vector>

#include "cresset/metrics.h"
#include "runtime/buffer.h"

namespace cresset::lowering {
class Builder;
}

namespace cresset::trace {

class Node;
struct Body;
using NodePtr = c10::intrusive_ptr<Node>;

/// Dtype and sizes of one result. Values are logical: strides exist only on the tensors that look into a cell.
struct TensorType {
  at::ScalarType dtype = at::kFloat;
  at::DimVector sizes;
  int64_t numel() const;
  bool operator==(const TensorType&) const = default;
};

/// Result `index` of `node`; a null node is an absent optional tensor.
struct Value {
  NodePtr node;
  uint32_t index = 0;
  explicit operator bool() const { return bool(node); }
  const TensorType& type() const;
  bool operator==(const Value&) const = default;
};

/// A Scalar argument that became an operand, so that its value can change without a new program: `operand` is its
/// position among the node's operands, and the operand is a `cresset::scalar` leaf (f64, i64 or bool).
struct ScalarOperand {
  uint32_t operand = 0;
  bool operator==(const ScalarOperand&) const = default;
};

/// One argument of the schema that is not a tensor. A tensor list is its length (int64_t); its tensors are operands.
/// monostate is an absent optional.
using Attribute = std::variant<std::monostate, bool, int64_t, double, c10::complex<double>, at::ScalarType, std::string,
                               std::vector<int64_t>, std::vector<double>, std::vector<bool>, ScalarOperand>;

/// f(number) for numbers that tell attributes apart, as hashes and keys need them.
template <class F>
void for_each_number(const Attribute& a, F f) {
  auto number = [&](auto x) {
    if constexpr (std::is_same_v<decltype(x), double>) f(c10::bit_cast<uint64_t>(x));
    else f(uint64_t(x));
  };
  number(a.index());
  std::visit(
      [&](const auto& v) {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, c10::complex<double>>) number(v.real()), number(v.imag());
        else if constexpr (std::is_same_v<T, ScalarOperand>) number(v.operand);
        else if constexpr (requires { v.size(); }) {
          number(v.size());
          for (auto x : v) number(x);
        } else if constexpr (!std::is_same_v<T, std::monostate>) number(v);
      },
      a);
}

/// What is known of an operator at compile time: one static object per entry of ops/aten.yaml, generated.
struct Operator {
  const char* name;      ///< "aten::gelu", without overload
  const char* overload;  ///< "Tensor", or ""
  Counter* counter;      ///< "cresset::gelu", counts each time the operator is recorded
  const char* composite; ///< emitted as the stablehlo.composite of this name ("aten.gelu"), or null
  /// Emits the node's results; generated, it decodes operands and attributes and calls the typed lowering function. Null with a body, and of what is not lowered, which `eager` runs between programs.
  void (*lower)(lowering::Builder&, const Node&);
  /// Names of the node's attributes, null-terminated.
  const char* const* attributes;
  const char* eager = nullptr;  ///< PyTorch's operator that computes the same on the CPU, from the same arguments: "aten::gelu"; null if there is none
  int version = 1;             ///< of the composite
  const Body* body = nullptr;  ///< what a user's composite is lowered to, in place of `lower` (trace/composite.h)
};

/// Operators that are not ATen's. Their lowerings are in lowering/builtin.cpp.
namespace builtin {
extern const Operator input;     ///< leaf: the bytes of a materialised cell (buffer())
extern const Operator scalar;    ///< leaf: a number that may change from run to run (number()); f64, i64 or bool, rank 0
extern const Operator constant;  ///< attribute 0: double, int64_t, bool or complex; the result's type says the rest; a splat
/// (base) -> the elements base[offset + sum_i index_i * strides_i] of the row-major flattened base;
/// attributes: sizes, strides, offset. A strided read: slice, transpose, broadcast, diagonal, unfold, …
extern const Operator window_read;
/// (base, update) -> base with that window replaced; same attributes. The window does not overlap itself.
extern const Operator window_write;
extern const Operator reshape;   ///< (x) -> x with the result's sizes
extern const Operator permute;   ///< (x) -> transposed; attribute: dims
extern const Operator convert;   ///< (x) -> x in the result's dtype (value conversion as Tensor.to)
extern const Operator bitcast;   ///< (x) -> the same bytes as the result's dtype; the last dimension scales by the ratio of sizes
extern const Operator expand;    ///< (x) -> broadcast to the result's sizes (PyTorch's rules: trailing dimensions aligned)
extern const Operator barrier;   ///< (x) -> x, which no operator is shared across
extern const Operator any_outside;  ///< (integers) -> bool, rank 0: one is < low or >= high; attributes: low, high, and a value that is allowed, or monostate
}  // namespace builtin

class Node final : public c10::intrusive_ptr_target {
 public:
  Node() = default;
  ~Node() override;
  using Operands = c10::SmallVector<Value, 4>;
  using Attributes = c10::SmallVector<Attribute, 3>;
  using Types = c10::SmallVector<TensorType, 1>;

  const Operator& op() const { return *op_; }
  /// Tensor arguments in schema order; lists flattened; absent ones are null values; then promoted scalars.
  const Operands& operands() const { return operands_; }
  /// All other arguments in schema order (a list's length stands at the list's place).
  const Attributes& attributes() const { return attributes_; }
  const Types& types() const { return types_; }
  uint64_t hash() const { return hash_; }
  /// Made while a backward computes its forward again.
  bool recomputed() const { return recomputed_; }

  /// Leaves only.
  const BufferPtr& buffer() const { return buffer_; }
  uint64_t number_bits() const { return number_bits_; }  ///< builtin::scalar: the value's bits (double, int64_t or bool)
  /// Was read last as a weight, where no gradients are wanted or computed: its bytes may well be the same in the next run.
  bool is_weight() const { return weight_; }
  void set_weight(bool weight) const { weight_ = weight; }
  void* data() const { return buffer_ ? buffer_->data() : const_cast<uint64_t*>(&number_bits_); }

  /// The window that saw it last (trace/window.h), and a leaf's place among its leaves.
  uint64_t mark() const { return mark_; }
  uint32_t number_in_window() const { return number_in_window_; }
  void set_mark(uint64_t mark, uint32_t number) const { mark_ = mark, number_in_window_ = number; }

 private:
  friend class NodeFactory;
  bool shared_ = false;  // in the table of pending nodes
  bool recomputed_ = false;
  mutable bool weight_ = false;
  mutable uint32_t number_in_window_ = 0;
  mutable uint64_t mark_ = 0;
  const Operator* op_ = nullptr;
  Operands operands_;
  Attributes attributes_;
  Types types_;
  uint64_t hash_ = 0;
  BufferPtr buffer_;
  uint64_t number_bits_ = 0;
};

/// Makes nodes. Equal pending nodes are one node, so common subexpressions are shared as they are recorded.
class NodeFactory {
 public:
  static NodePtr make(const Operator& op, Node::Operands operands, Node::Attributes attributes, Node::Types types);
  /// Leaves are never shared.
  static NodePtr input(BufferPtr buffer, TensorType type);
  static NodePtr scalar(uint64_t bits, at::ScalarType dtype);
};

/// One result nodes in short.
Value make_value(const Operator& op, Node::Operands operands, Node::Attributes attributes, TensorType type);

/// Whether a backward computes its forward again (torch.utils.checkpoint): what it reads that was there before is read through a barrier. Without it equal operators would be one, and
/// their results kept from the forward on.
bool recomputing();

/// Guards nodes, cells and caches. Recursive: backward runs on autograd's thread, kernels call each other.
std::recursive_mutex& trace_mutex();

inline const TensorType& Value::type() const { return node->types()[index]; }

inline bool is_builtin(const Operator& op) { return op.counter == builtin::input.counter; }
inline bool is_lowered(const Operator& op) { return op.lower || op.body; }
inline bool is_leaf(const Node& n) { return &n.op() == &builtin::input || &n.op() == &builtin::scalar; }

}  // namespace cresset::trace
