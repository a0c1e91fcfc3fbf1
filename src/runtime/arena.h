// Temporary memory of programs: lent for one run, so that all programs of a process share it.
#pragma once

#include <cstddef>
#include <map>

#include "runtime/buffer.h"

namespace cresset {

class Arena {
 public:
  /// Throws std::bad_alloc with nothing lost if the machine has not that much.
  explicit Arena(size_t bytes);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  /// The piece of `bytes` at an offset. With CRESSET_GUARD each has memory of its own, as arrays have.
  char* at(size_t offset, size_t bytes);
  char* data() const { return data_; }

 private:
  char* data_ = nullptr;
  size_t size_ = 0;
  std::map<size_t, BufferPtr> pieces_;  // with CRESSET_GUARD
};

/// Whether CRESSET_GUARD is set. Then temporaries share no memory, and they, constants, kernels' scratch memory and PyTorch's CPU tensors are guarded as arrays are.
bool is_guarded();

/// With CRESSET_SCRATCH=nan, fills memory that nobody has written yet with bytes that are nan as a float and -1 as an integer,
/// so that a kernel which reads it is seen. Arenas, results and kernels' scratch memory go through here.
void scribble(void* memory, size_t bytes);

}  // namespace cresset
