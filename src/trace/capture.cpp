#include "trace/capture.h"

#include <ATen/ATen.h>

#include <cstring>
#include <unordered_map>

#include "trace/cell.h"
#include "trace/step.h"

namespace cresset::trace {

std::pair<int64_t, int64_t> (*draw_random)() = nullptr;

namespace {

struct Capture {
  bool active = false;
  std::vector<std::pair<NodePtr, NodePtr>> randoms;  // seed, offset
};
Capture& capture() {
  static auto* c = new Capture;
  return *c;
}

at::Tensor device_tensor(BufferPtr buffer, const TensorType& type, at::IntArrayRef sizes, at::IntArrayRef strides, int64_t offset, at::ScalarType dtype) {
  auto t = at::empty({0}, at::TensorOptions().dtype(dtype).device(at::Device(c10::DeviceType::PrivateUse1, 0)));
  auto cell = c10::make_intrusive<Cell>(c10::SymInt(int64_t(buffer->size())), device_allocator(), true);
  cell->materialise(NodeFactory::input(std::move(buffer), type));
  t.unsafeGetTensorImpl()->set_storage_keep_dtype(c10::Storage(std::move(cell)));
  t.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, strides);
  t.unsafeGetTensorImpl()->set_storage_offset(offset);
  return t;
}

at::Tensor cpu_tensor(BufferPtr buffer, at::IntArrayRef sizes, at::IntArrayRef strides, int64_t offset, at::ScalarType dtype) {
  auto* data = static_cast<char*>(buffer->data()) + offset * int64_t(c10::elementSize(dtype));
  return at::from_blob(data, sizes, strides, [buffer](void*) mutable { buffer.reset(); }, at::TensorOptions().dtype(dtype));
}

}  // namespace

at::Tensor wrap_cpu(const at::Tensor& t) {
  TORCH_CHECK(t.device().is_cpu(), "cresset: wrap_cpu takes a CPU tensor, this one is on ", t.device());
  auto owner = std::make_shared<at::Tensor>(t);
  void* data = const_cast<void*>(t.storage().data());
  auto buffer = Buffer::wrap(data, t.storage().nbytes(), owner);
  TensorType type{t.scalar_type(), {int64_t(t.storage().nbytes() / t.itemsize())}};
  return device_tensor(std::move(buffer), type, t.sizes(), t.strides(), t.storage_offset(), t.scalar_type());
}

void begin_capture() {
  sync();  // nothing of the ordinary trace is pending while the graph is recorded
  std::lock_guard lock(trace_mutex());
  begin_step();
  capture() = {true, {}};
}
void abort_capture() {
  std::lock_guard lock(trace_mutex());
  if (!capture().active) return;
  capture() = {};
  end_step();
}

void note_random(const NodePtr& seed, const NodePtr& offset) {
  if (capture().active) capture().randoms.push_back({seed, offset});
}

std::shared_ptr<CapturedProgram> end_capture(const std::vector<at::Tensor>& inputs, const std::vector<at::Tensor>& outputs) {
  std::lock_guard lock(trace_mutex());
  auto captured = std::make_shared<CapturedProgram>();
  std::vector<Value> results;
  std::unordered_map<const Node*, std::vector<std::pair<uint32_t, size_t>>> known;
  auto result_of = [&](const Value& v) {
    for (auto& [index, at] : known[v.node.get()])
      if (index == v.index) return at;
    known[v.node.get()].push_back({v.index, results.size()});
    results.push_back(v);
    return results.size() - 1;
  };
  std::unordered_map<const Cell*, int> input_of;
  std::unordered_map<const Node*, int> leaf_of;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Cell& cell = Cell::of(inputs[i]);
    input_of.insert({&cell, int(i)});
    if (cell.pending()) {
      if (cell.origin()) leaf_of.insert({cell.origin(), int(i)});
      captured->written_.push_back({int(i), result_of(cell.content())});
    } else if (cell.content()) {
      leaf_of.insert({cell.content().node.get(), int(i)});
    }
  }
  for (const at::Tensor& t : outputs) {
    CapturedProgram::Output out;
    if (t.defined()) {
      Cell& cell = Cell::of(t);
      out.sizes = at::DimVector(t.sizes()), out.strides = at::DimVector(t.strides());
      out.offset = t.storage_offset(), out.dtype = t.scalar_type();
      auto it = input_of.find(&cell);
      if (it != input_of.end()) {
        out.input = it->second;
      } else {
        if (!cell.content()) write(t, make_value(builtin::constant, {}, {Attribute(0.0)}, {t.scalar_type(), at::DimVector(t.sizes())}));
        out.result = result_of(cell.content());
      }
    } else {
      out.input = -2;
    }
    captured->outputs_.push_back(std::move(out));
  }
  Graph graph = make_graph(results);
  if (!results.empty()) captured->program_ = program_for(graph);
  for (const Value& v : results) captured->types_.push_back(v.type());
  for (const NodePtr& n : graph.inputs) {
    CapturedProgram::Leaf leaf;
    leaf.node = n;
    if (auto it = leaf_of.find(n.get()); it != leaf_of.end()) leaf.input = it->second, leaf.node = {};
    for (size_t r = 0; r < capture().randoms.size(); ++r) {
      if (capture().randoms[r].first == n) leaf.random = 0;
      if (capture().randoms[r].second == n) leaf.random = int(r) + 1;
    }
    captured->leaves_.push_back(std::move(leaf));
  }
  captured->randoms_ = int(capture().randoms.size());
  // What was recorded on the stand-ins must never run: they forget it.
  for (const at::Tensor& t : inputs) Cell::of(t).set_content({});
  for (const at::Tensor& t : outputs)
    if (t.defined()) Cell::of(t).set_content({});
  capture() = {};
  end_step();
  return captured;
}

std::vector<at::Tensor> CapturedProgram::run(const std::vector<at::Tensor>& inputs) {
  bool cpu = inputs.empty() || inputs[0].device().is_cpu();
  std::lock_guard lock(trace_mutex());
  std::vector<void*> pointers, result_pointers;
  std::vector<BufferPtr> held, buffers;
  std::vector<uint64_t> numbers(leaves_.size());
  std::vector<int64_t> offsets(randoms_);
  int64_t seed = 0;
  for (int64_t& o : offsets) std::tie(seed, o) = draw_random();
  for (size_t i = 0; i < leaves_.size(); ++i) {
    const Leaf& leaf = leaves_[i];
    if (leaf.input >= 0) {
      const at::Tensor& t = inputs[leaf.input];
      if (t.device().is_cpu()) {
        pointers.push_back(const_cast<void*>(t.storage().data()));
      } else {
        held.push_back(bytes(t));
        pointers.push_back(held.back()->data());
      }
    } else if (leaf.node->buffer()) {
      pointers.push_back(leaf.node->buffer()->data());
    } else {
      numbers[i] = leaf.random == 0 ? uint64_t(seed) : leaf.random > 0 ? uint64_t(offsets[leaf.random - 1]) : leaf.node->number_bits();
      pointers.push_back(&numbers[i]);
    }
  }
  if (program_) {
    for (const Port& port : program_->outputs()) {
      buffers.push_back(Buffer::allocate(port.bytes));
      result_pointers.push_back(buffers.back()->data());
    }
    program_->run(pointers.data(), result_pointers.data());
  }
  for (auto& [input, result] : written_) {
    const at::Tensor& t = inputs[input];
    if (t.device().is_cpu()) std::memcpy(t.storage().mutable_data(), buffers[result]->data(), t.storage().nbytes());
    else Cell::of(t).materialise(NodeFactory::input(buffers[result], types_[result]));
  }
  std::vector<at::Tensor> results;
  for (const Output& out : outputs_) {
    if (out.input == -2) results.emplace_back();
    else if (out.input >= 0) results.push_back(inputs[out.input].as_strided(out.sizes, out.strides, out.offset));
    else if (cpu) results.push_back(cpu_tensor(buffers[out.result], out.sizes, out.strides, out.offset, out.dtype));
    else results.push_back(device_tensor(buffers[out.result], types_[out.result], out.sizes, out.strides, out.offset, out.dtype));
  }
  return results;
}

}  // namespace cresset::trace
