#include "trace/cell.h"

#include <ATen/ATen.h>
#include <ATen/ExpandUtils.h>
#include <ATen/MemoryOverlap.h>

#include <cstring>
#include <limits>

#include "generated/operators.h"
#include "trace/capture.h"
#include "trace/composite.h"
#include "trace/step.h"

namespace cresset::trace {
namespace {

Cell *first_cell = nullptr, *last_cell = nullptr;

bool is_dense(at::IntArrayRef sizes, at::IntArrayRef strides) {
  int64_t expected = 1;
  for (int d = int(sizes.size()) - 1; d >= 0; --d) {
    if (sizes[d] == 1) continue;
    if (strides[d] != expected) return false;
    expected *= sizes[d];
  }
  return true;
}

Value reshaped(Value v, at::IntArrayRef sizes) {
  if (at::IntArrayRef(v.type().sizes) == sizes) return v;
  if (&v.node->op() == &builtin::reshape) return reshaped(v.node->operands()[0], sizes);
  TensorType type{v.type().dtype, at::DimVector(sizes)};
  return make_value(builtin::reshape, {v}, {}, std::move(type));
}

Value bitcast(Value v, at::ScalarType dtype) {
  if (v.type().dtype == dtype) return v;
  int64_t bytes = v.type().numel() * c10::elementSize(v.type().dtype);
  return make_value(builtin::bitcast, {v}, {}, {dtype, {bytes / int64_t(c10::elementSize(dtype))}});
}

Value zeros(int64_t numel, at::ScalarType dtype) { return make_value(builtin::constant, {}, {Attribute(0.0)}, {dtype, {numel}}); }

std::vector<int64_t> list(at::IntArrayRef a) { return a.vec(); }

Value permuted(Value v, std::vector<int64_t> dims) {
  if (&v.node->op() == &builtin::permute) {
    for (int64_t& d : dims) d = std::get<std::vector<int64_t>>(v.node->attributes()[0])[d];
    return permuted(v.node->operands()[0], std::move(dims));
  }
  if (std::is_sorted(dims.begin(), dims.end())) return v;
  TensorType type{v.type().dtype, {}};
  for (int64_t d : dims) type.sizes.push_back(v.type().sizes[d]);
  return make_value(builtin::permute, {v}, {Attribute(dims)}, std::move(type));
}

}  // namespace

std::optional<std::vector<int64_t>> storage_order(at::IntArrayRef sizes, at::IntArrayRef strides) {
  std::vector<int64_t> order(sizes.size());
  for (size_t d = 0; d < order.size(); ++d) order[d] = int64_t(d);
  if (is_dense(sizes, strides)) return order;
  auto distance = [&](int64_t d) { return sizes[d] == 1 ? std::numeric_limits<int64_t>::max() : strides[d]; };  // the stride of a single element says nothing
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return distance(a) > distance(b); });
  int64_t expected = 1;
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    if (sizes[*it] == 1) continue;
    if (strides[*it] != expected) return std::nullopt;
    expected *= sizes[*it];
  }
  return order;
}

Cell::Cell(c10::SymInt bytes, c10::Allocator* allocator, bool resizable)
    : c10::StorageImpl(c10::StorageImpl::use_byte_size_t(), std::move(bytes),
                       c10::DataPtr(nullptr, c10::Device(c10::DeviceType::PrivateUse1, 0)), allocator, resizable) {
  // PyTorch takes a null pointer for a broken storage when it copies or saves one. This one is never followed.
  set_data_ptr_noswap(c10::DataPtr(this, c10::Device(c10::DeviceType::PrivateUse1, 0)));
  std::lock_guard lock(trace_mutex());
  link();
}

Cell::~Cell() {
  std::lock_guard lock(trace_mutex());
  unlink();
  content_ = last_ = {};  // with the lock: another thread may look up a node at the same time
}

void Cell::link() {
  previous_ = last_cell;
  (previous_ ? previous_->next_ : first_cell) = this;
  last_cell = this;
}
void Cell::unlink() {
  (previous_ ? previous_->next_ : first_cell) = next_;
  (next_ ? next_->previous_ : last_cell) = previous_;
  previous_ = next_ = nullptr;
}

void Cell::release_resources() {
  std::lock_guard lock(trace_mutex());
  content_ = last_ = before_ = {};
  c10::StorageImpl::release_resources();
}

Cell* Cell::of(const c10::StorageImpl* storage) {
  if (auto* cell = dynamic_cast<Cell*>(const_cast<c10::StorageImpl*>(storage))) return cell;
  // Legacy pickling wraps a storage's data pointer, which is its cell, in a storage of its own.
  std::lock_guard lock(trace_mutex());
  for (Cell* cell = first_cell; cell; cell = cell->next_)
    if (cell == storage->data()) return cell;
  return nullptr;
}

Cell& Cell::of(const at::TensorBase& t) {
  TORCH_CHECK(t.defined() && t.has_storage(), "cresset: the tensor has no storage");
  TORCH_CHECK(t.device().type() == c10::DeviceType::PrivateUse1, "Expected all tensors to be on the same device, but found at least two devices, cresset:0 and ", t.device(),
              "!; move it with .to(\"cresset\")");
  Cell* cell = of(t.storage().unsafeGetStorageImpl());
  TORCH_CHECK(cell, "cresset: the tensor's storage was not made by the device \"cresset\" (", t.device(), " tensor of type ", t.scalar_type(), ")");
  return *cell;
}

Cell* Cell::first() { return first_cell; }

void Cell::set_content(Value v) {
  if (content_ && !pending()) origin_ = content_.node.get();
  unlink();
  link();
  Value outside = graph_ ? std::move(before_) : std::move(content_);
  content_ = std::move(v);
  last_ = {};
  failure_.clear();
  forgotten_ = false;
  graph_ = !pending() ? nullptr : recording_body() ? body_of_thread() : capture_of_thread();
  before_ = graph_ ? std::move(outside) : Value();
}
void Cell::forget() {
  content_ = last_ = before_ = {};
  origin_ = nullptr;
  graph_ = nullptr;
  failure_.clear();
  forgotten_ = true;
}
void Cell::forget(const void* graph) {
  for (Cell* cell = first_cell; cell; cell = cell->next_)
    if (cell->graph_ == graph) {
      Value outside = std::move(cell->before_);
      cell->forget();
      if (outside) cell->content_ = std::move(outside), cell->forgotten_ = false;
    }
}
void Cell::check_not_forgotten() const {
  TORCH_CHECK(!forgotten_, "cresset: the tensor was recorded in a graph that is finished (by torch.compile, an export or a composite's first call) and has no value of its own. "
                           "It was kept elsewhere, in a module's attribute perhaps: return it from the function, or compute it anew");
}
void Cell::resize(size_t size) {
  std::lock_guard lock(trace_mutex());
  if (content_ && size) {
    HeldBuffers held;  // an operator may hold values, whose result this is to become
    BufferPtr old = bytes(*this), fresh = Buffer::allocate(size);
    size_t kept = std::min(size, size_t(nbytes()));
    std::memcpy(fresh->data(), old->data(), kept);
    std::memset(static_cast<char*>(fresh->data()) + kept, 0, size - kept);
    set_nbytes(size);
    replace_bytes(*this, std::move(fresh), at::kByte);
  } else {
    set_nbytes(size);
    content_ = last_ = {};
  }
}
void Cell::materialise(NodePtr leaf) {
  origin_ = nullptr;
  content_ = {std::move(leaf), 0};
  last_ = {};
  graph_ = nullptr;
}
Value Cell::content_as(at::ScalarType dtype) {
  int64_t capacity = int64_t(nbytes()) / int64_t(c10::elementSize(dtype));
  check_not_forgotten();
  if (!content_) return zeros(capacity, dtype);
  at::ScalarType from = content_.type().dtype;
  if (from == dtype) return content_;
  bool one_to_one = c10::elementSize(from) == c10::elementSize(dtype) && !c10::isComplexType(from) && !c10::isComplexType(dtype);
  if (pending() && !one_to_one && !capturing()) {
    // The caller may hold values of the trace.
    HeldBuffers held;
    run_for(*this);
  }
  if (!pending() && content_.node->buffer()) content_ = {NodeFactory::input(content_.node->buffer(), {dtype, {capacity}}), 0};  // an argument of a composite's body has no bytes
  return bitcast(content_, dtype);
}
bool Cell::pending() const { return content_ && &content_.node->op() != &builtin::input; }

// Nothing is gained by keeping operators on weights alone apart.
// What is quantised has no gradient: signed bytes that were there before are weights.
static bool is_weight(const at::Tensor& t, const Cell& cell) { return cell.content() && !cell.pending() && (t.requires_grad() || t.scalar_type() == at::kChar); }

// A backward runs without gradients of its own, but of weights that are about to change.
static bool trains() { return at::GradMode::is_enabled() || in_backward(); }

// The number that all elements of a pending value are, if it was made so.
static std::optional<at::Scalar> number_everywhere(const Value& v) {
  const Node& n = *v.node;
  if (&n.op() == &op::zero) return 0;
  if (&n.op() == &builtin::permute || &n.op() == &builtin::reshape) return number_everywhere(n.operands()[0]);
  if (&n.op() == &builtin::scalar && v.type().dtype == at::kDouble) return c10::bit_cast<double>(n.number_bits());
  if (&n.op() != &builtin::constant && &n.op() != &op::fill_Scalar) return std::nullopt;
  return std::visit(
      [&](const auto& number) -> std::optional<at::Scalar> {
        using T = std::decay_t<decltype(number)>;
        if constexpr (std::is_same_v<T, ScalarOperand>) return number_everywhere(n.operands()[number.operand]);
        else if constexpr (std::is_constructible_v<at::Scalar, T>) return at::Scalar(number);
        else return std::nullopt;
      },
      n.attributes()[0]);
}

// A new state of an optimizer gets bytes now, as it has them in every later step.
static void give_bytes_to_new_state(Cell& cell) {
  if (!in_optimizer_step() || trains() || capturing() || recording_body() || !cell.pending()) return;
  auto number = number_everywhere(cell.content());
  if (!number) return;
  const TensorType& type = cell.content().type();
  auto buffer = Buffer::allocate(cell.nbytes());
  at::from_blob(buffer->data(), type.sizes, at::TensorOptions().dtype(type.dtype)).fill_(*number);
  cell.set_content({NodeFactory::input(std::move(buffer), type), 0});
}

static Value behind_barrier(Value v) {
  TensorType type = v.type();
  return make_value(builtin::barrier, {std::move(v)}, {}, std::move(type));
}

Value read(const at::Tensor& t) {
  std::lock_guard lock(trace_mutex());
  Cell& cell = Cell::of(t);
  check_read_in_body(cell);
  auto sizes = t.sizes(), strides = t.strides();
  const bool weight = is_weight(t, cell);
  if (weight) cell.content().node->set_weight(!trains());
  give_bytes_to_new_state(cell);
  bool fenced = recomputing() && !recording_body() && cell.content() && !cell.content().node->recomputed() && !weight;
  if (!fenced && cell.last_ && t.storage_offset() == 0 && cell.last_.type().dtype == t.scalar_type() && sizes == at::IntArrayRef(cell.last_sizes_) &&
      strides == at::IntArrayRef(cell.last_strides_))
    return cell.last_;
  Value content = cell.content_as(t.scalar_type());
  if (fenced) content = behind_barrier(content);
  if (t.storage_offset() == 0 && t.numel() == content.type().numel() && is_dense(sizes, strides)) return reshaped(content, sizes);
  if (t.numel() == 0) return make_value(builtin::constant, {}, {Attribute(0.0)}, {t.scalar_type(), at::DimVector(sizes)});
  if (t.storage_offset() == 0 && t.numel() == content.type().numel())
    if (auto order = storage_order(sizes, strides)) {
      at::DimVector physical;
      std::vector<int64_t> back(order->size());
      for (size_t i = 0; i < order->size(); ++i) physical.push_back(sizes[(*order)[i]]), back[(*order)[i]] = int64_t(i);
      return permuted(reshaped(content, physical), back);
    }
  return make_value(builtin::window_read, {content}, {list(sizes), list(strides), t.storage_offset()}, {t.scalar_type(), at::DimVector(sizes)});
}

Value converted(Value v, at::ScalarType dtype) {
  if (v.type().dtype == dtype) return v;
  TensorType type{dtype, v.type().sizes};
  return make_value(builtin::convert, {v}, {}, std::move(type));
}

Value expanded(Value v, at::IntArrayRef sizes) {
  if (at::IntArrayRef(v.type().sizes) == sizes) return v;
  return make_value(builtin::expand, {v}, {}, {v.type().dtype, at::DimVector(sizes)});
}

// Of a storage that ends within an element, which no window of elements shows as a whole.
static void write_bytes(const at::Tensor& t, Value v) {
  TORCH_CHECK(!capturing() && !recording_body(), "cresset: a graph writes ", t.scalar_type(), " into a storage of ", Cell::of(t).nbytes(), " bytes, which is no multiple of its size");
  HeldBuffers held;  // an operator may hold its other results
  at::Tensor value = make_tensor(std::move(v), c10::contiguous_strides(t.sizes()));
  BufferPtr from = bytes(value), to = bytes(t)->copy();
  cpu_tensor(to, t.sizes(), t.strides(), t.storage_offset(), t.scalar_type()).copy_(cpu_tensor(from, t.sizes(), value.strides(), 0, t.scalar_type()));
  replace_bytes(Cell::of(t), std::move(to), at::kByte);
}

// The elements of an expanded tensor, each once.
static at::Tensor without_repeats(at::Tensor t) {
  for (int64_t d = 0; d < t.dim(); ++d)
    if (t.stride(d) == 0 && t.size(d) > 1) t = t.narrow(d, 0, 1);
  return t;
}

void write(const at::Tensor& t, Value v) {
  std::lock_guard lock(trace_mutex());
  Cell& cell = Cell::of(t);
  if (t.numel() == 0) return;
  check_written_in_body(cell);
  if (&v.node->op() == &op::fill_Scalar || &v.node->op() == &op::zero) {  // PyTorch writes one number as often as it likes
    at::Tensor once = without_repeats(t);
    if (once.numel() < t.numel()) {
      auto strides = c10::contiguous_strides(once.sizes());
      return write(once, make_value(builtin::window_read, {v}, {list(once.sizes()), list(strides), int64_t(0)}, {v.type().dtype, at::DimVector(once.sizes())}));
    }
  }
  at::assert_no_internal_overlap(t);
  v = expanded(converted(std::move(v), t.scalar_type()), t.sizes());
  if (cell.nbytes() % t.itemsize() != 0) return write_bytes(t, std::move(v));
  int64_t capacity = int64_t(cell.nbytes()) / int64_t(t.itemsize());
  if (t.storage_offset() == 0 && t.numel() == capacity)
    if (auto order = storage_order(t.sizes(), t.strides())) {
      cell.set_content(permuted(v, *order));
      cell.last_ = v;
      cell.last_sizes_ = at::DimVector(t.sizes());
      cell.last_strides_ = at::DimVector(t.strides());
      return;
    }
  Value base = cell.content_as(t.scalar_type());
  TensorType type = base.type();
  cell.set_content(make_value(builtin::window_write, {base, v}, {list(t.sizes()), list(t.strides()), t.storage_offset()}, std::move(type)));
}

at::Tensor new_tensor(size_t bytes, at::ScalarType dtype, at::IntArrayRef sizes, at::IntArrayRef strides) {
  auto t = at::detail::make_tensor<c10::TensorImpl>(
      c10::Storage(c10::make_intrusive<Cell>(c10::SymInt(int64_t(bytes)), device_allocator(), true)),
      c10::DispatchKeySet{c10::DispatchKey::PrivateUse1, c10::DispatchKey::AutogradPrivateUse1, c10::DispatchKey::ADInplaceOrView}, c10::scalarTypeToTypeMeta(dtype));
  t.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, strides);
  return t;
}
at::Tensor make_tensor(Value v, at::IntArrayRef strides) {
  const TensorType& type = v.type();
  auto t = new_tensor(size_t(type.numel()) * c10::elementSize(type.dtype), type.dtype, type.sizes, strides);
  if (type.numel() > 0) write(t, std::move(v));
  return t;
}

BufferPtr bytes(Cell& cell) {
  std::lock_guard lock(trace_mutex());
  check_readable(cell);
  check_not_in_body("read a tensor's value (.item(), .cpu(), an operator that is not lowered)");
  cell.check_not_forgotten();
  if (!cell.content()) {
    auto buffer = Buffer::allocate(cell.nbytes());
    std::memset(buffer->data(), 0, cell.nbytes());
    replace_bytes(cell, buffer, at::kByte);
  }
  if (cell.pending() && capturing()) return computed(cell.content());  // a constant, which stays one in the graph
  if (cell.pending()) run_for(cell);
  return cell.content().node->buffer();
}
BufferPtr bytes(const at::Tensor& t) { return bytes(Cell::of(t)); }

void replace_bytes(Cell& cell, BufferPtr buffer, at::ScalarType dtype) {
  std::lock_guard lock(trace_mutex());
  cell.set_content({NodeFactory::input(std::move(buffer), {dtype, {int64_t(cell.nbytes()) / int64_t(c10::elementSize(dtype))}}), 0});
}

}  // namespace cresset::trace
