// The storage of a device tensor. It has no bytes of its own: it holds the traced value of the whole storage, and tensors
// are windows (sizes, strides, offset) into it, so views and in-place writes alias exactly as on the CPU.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/StorageImpl.h>

#include "runtime/buffer.h"
#include "trace/node.h"

namespace cresset::trace {

Value read(const at::Tensor& t);
void write(const at::Tensor& t, Value v);

class Cell final : public c10::StorageImpl {
 public:
  Cell(c10::SymInt bytes, c10::Allocator* allocator, bool resizable);
  void release_resources() override;
  ~Cell() override;

  /// The cell of a device tensor; an error names the tensor's storage if it is not a cell.
  static Cell& of(const at::TensorBase& t);
  static Cell* of(const c10::StorageImpl* storage);  // null if it is not a cell

  /// The content in storage order: dense, row-major, of exactly the storage's bytes. Null: never written.
  /// A builtin::input leaf once it is materialised.
  const Value& content() const { return content_; }
  /// The content as elements of this type; zeros if it was never written. Bytes that are there are only given another name.
  Value content_as(at::ScalarType dtype);
  void set_content(Value v);
  bool pending() const;
  /// The capture or composite's body that the pending content is recorded for, which no run of the trace may touch; null: none.
  const void* graph() const { return graph_; }
  /// That has ended: the content is gone, and reading the tensor is an error until it is written.
  void forget();
  /// All that is pending for it.
  static void forget(const void* graph);
  void check_not_forgotten() const;
  /// Why the pending content can't be computed, or "": other work does not wait for it any more.
  const std::string& failure() const { return failure_; }
  void fail(std::string why) { failure_ = std::move(why); }
  /// Grows or shrinks the storage; bytes that stay keep their values.
  void resize(size_t bytes);
  /// The leaf that held the bytes before what is pending now.
  const Node* origin() const { return origin_; }
  /// What was pending has been computed: it is this leaf's bytes.
  void materialise(NodePtr leaf);
  /// All live cells, for the trace, in the order in which they were last written: what is made of them is the same program whenever the same is recorded.
  static Cell* first();
  Cell* next() const { return next_; }

 private:
  Value content_;
  // The last full write, so that reading back through the same window (also a permuted one) needs no node.
  Value last_;
  at::DimVector last_sizes_, last_strides_;
  std::string failure_;
  const void* graph_ = nullptr;
  bool forgotten_ = false;
  Value before_;  // the content outside of the graph that writes to it, put back when that ends
  const Node* origin_ = nullptr;  // alive as long as the pending value refers to it; compared only
  Cell *previous_ = nullptr, *next_ = nullptr;
  void link();
  void unlink();
  friend Value read(const at::Tensor& t);
  friend void write(const at::Tensor& t, Value v);
};

/// The value seen through a tensor's window.
Value read(const at::Tensor& t);
/// Replaces what the window shows; converts dtype and broadcasts as copy_ does.
void write(const at::Tensor& t, Value v);
/// A tensor over a new, empty cell.
at::Tensor new_tensor(size_t bytes, at::ScalarType dtype, at::IntArrayRef sizes, at::IntArrayRef strides);
/// A new tensor over a new cell that holds `v`; `strides` are dense (maybe permuted), as a meta function gave them.
at::Tensor make_tensor(Value v, at::IntArrayRef strides);

/// Runs what is pending so that this tensor's storage has bytes; the buffer holds the whole storage.
/// For writing, the caller then calls `replace_bytes`.
BufferPtr bytes(const at::Tensor& t);
BufferPtr bytes(Cell& cell);
/// The cell's content becomes this buffer (bytes of the whole storage).
void replace_bytes(Cell& cell, BufferPtr buffer, at::ScalarType dtype);

/// Dimensions ordered by stride, outermost first: the storage order of a dense, permuted tensor; none if it is not dense. The same for all strides of single elements.
std::optional<std::vector<int64_t>> storage_order(at::IntArrayRef sizes, at::IntArrayRef strides);
/// `v` in another dtype, or broadcast to `sizes` by PyTorch's rules.
Value converted(Value v, at::ScalarType dtype);
Value expanded(Value v, at::IntArrayRef sizes);

/// The allocator of the device's storages; it gives no bytes.
c10::Allocator* device_allocator();

/// Runs all that is pending for all live cells.
void sync();

}  // namespace cresset::trace
