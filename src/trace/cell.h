// The storage of a device tensor. It has no bytes of its own: it holds the traced value of the whole storage, and tensors
// are windows (sizes, strides, offset) into it, so views and in-place writes alias exactly as on the CPU.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/StorageImpl.h>

#include "runtime/buffer.h"
#include "trace/node.h"

namespace cresset::trace {

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
  void set_content(Value v);
  bool pending() const;

 private:
  Value content_;
  // The last full write, so that reading back through the same window (also a permuted one) needs no node.
  Value last_;
  at::DimVector last_sizes_, last_strides_;
  Cell *previous_ = nullptr, *next_ = nullptr;  // all live cells
  friend class Trace;
};

/// The value seen through a tensor's window.
Value read(const at::Tensor& t);
/// Replaces what the window shows; converts dtype and broadcasts as copy_ does.
void write(const at::Tensor& t, Value v);
/// A new tensor over a new cell that holds `v`; `strides` are dense (maybe permuted), as a meta function gave them.
at::Tensor make_tensor(Value v, at::IntArrayRef strides);

/// Runs what is pending so that this tensor's storage has bytes; the buffer holds the whole storage.
/// For writing, the caller then calls `replace_bytes`.
BufferPtr bytes(const at::Tensor& t);
BufferPtr bytes(Cell& cell);
/// The cell's content becomes this buffer (bytes of the whole storage).
void replace_bytes(Cell& cell, BufferPtr buffer, at::ScalarType dtype);

/// Runs all that is pending for all live cells.
void sync();

}  // namespace cresset::trace
