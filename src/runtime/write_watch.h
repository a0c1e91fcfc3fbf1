// Which memory was written to since somebody looked: a few microseconds for what takes milliseconds to read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace cresset {

/// Watches pages of this process for writes, whoever makes them: PyTorch, NumPy, a pointer in C, or the kernel in its name. Linux 6.7 and later can (userfaultfd(2), asynchronous write protection, and
/// PAGEMAP_SCAN): the first write to a page since the last look costs a microsecond, all others nothing. It sees no device that writes to memory which was pinned before it was watched. Thread-safe.
class WriteWatch {
 public:
  struct Range {
    uintptr_t begin, end;  ///< addresses; of pages for begin()
  };
  static constexpr uintptr_t kPage = 4096;

  /// Whether this process can watch at all. Not one that was forked from one that did, nor with CRESSET_WRITE_WATCH=0.
  static bool is_available();
  /// Watches these pages from now on, in place of others. False if there are none or they can't be watched: what other processes may write to, shared memory or files.
  bool begin(std::vector<Range> pages);
  /// What has been written to since the last call, or since begin(), and maybe more; none if that is not known, as for memory that was mapped anew. Then nothing is watched any more.
  std::optional<std::vector<Range>> written();

 private:
  std::vector<Range> pages_;
  uint64_t seen_ = 0;  // of what all watches together have found
};

}  // namespace cresset
