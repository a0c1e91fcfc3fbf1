// Which memory was written to since somebody looked: a few microseconds for what takes milliseconds to read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
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
  /// Watches these pages from now on, in place of others. False if there are none or they can't be watched, as shared memory. Of a file that is mapped for this process alone, as checkpoints often are, its
  /// time and size are watched too: POSIX leaves open whether what others write to it shows.
  bool begin(std::vector<Range> pages);
  /// What has been written to since the last call, or since begin(), and maybe more; none if that is not known, as for memory that was mapped anew. Then nothing is watched any more.
  std::optional<std::vector<Range>> written();

 private:
  struct File {
    std::string path;
    uint64_t device, inode, size;
    int64_t modified, changed;  // nanoseconds
    bool operator==(const File&) const = default;
  };
  /// The file as it is now; none if it can't be told from what it may be soon.
  static std::optional<File> look_at(const std::string& path);
  /// The files of which these pages are private copies, each once; none if others may write to one of the pages.
  static std::optional<std::vector<File>> files_of(std::vector<Range> pages);

  std::vector<Range> pages_;
  std::vector<File> files_;
  uint64_t seen_ = 0;  // of what all watches together have found
};

}  // namespace cresset
