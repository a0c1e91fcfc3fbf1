#include "runtime/write_watch.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cinttypes>
#include <climits>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <memory>
#include <mutex>
#include <utility>

#include "runtime/environment.h"

namespace cresset {
namespace {

using Range = WriteWatch::Range;

// Of the kernel's interface, what older headers lack.
constexpr uint64_t kUserModeOnly = 1, kFeatureUnpopulated = 1 << 13, kFeatureAsync = 1 << 15;
struct ScanRegion {
  uint64_t begin, end, categories;
};
struct Scan {
  uint64_t size, flags, begin, end, walked, regions, region_count, most_pages, inverted, all_of, any_of, returned;
};
constexpr uint64_t kScanProtects = 1, kScanChecks = 2, kIsWritten = 1 << 1;
#define CRESSET_PAGEMAP_SCAN _IOWR('f', 16, Scan)

// What the process has of the kernel. A page's protection is one for all watches: what a look of one of them finds is noted for the others.
class Pages {
 public:
  static Pages& of_process() {
    static auto* pages = new Pages;  // threads may run while the process exits
    return *pages;
  }

  bool can_watch() const { return pagemap_ >= 0 && getpid() == process_; }
  uint64_t now() const { return clock_; }
  std::mutex mutex;

  bool protect(const std::vector<Range>& ranges) {
    for (const Range& r : ranges) {
      uffdio_register area{};
      area.range = {r.begin, r.end - r.begin};
      area.mode = UFFDIO_REGISTER_MODE_WP;
      if (ioctl(faults_, UFFDIO_REGISTER, &area)) return false;
    }
    return look(ranges);
  }
  // Notes what was written to, and protects it again. False if something is not protected.
  bool look(const std::vector<Range>& ranges) {
    std::array<ScanRegion, 256> found;
    for (const Range& r : ranges)
      for (uint64_t at = r.begin; at < r.end;) {
        Scan scan{sizeof(Scan), kScanProtects | kScanChecks, at, r.end, 0, uint64_t(found.data()), found.size(), 0, 0, kIsWritten, 0, kIsWritten};
        int count = ioctl(pagemap_, CRESSET_PAGEMAP_SCAN, &scan);
        if (count < 0) return false;
        for (int i = 0; i < count; ++i) note({found[i].begin, found[i].end});
        at = scan.walked;
      }
    return true;
  }
  // What was noted after `since`; none if that is forgotten.
  std::optional<std::vector<Range>> noted(uint64_t since) const {
    if (since < forgotten_) return std::nullopt;
    return std::vector<Range>(log_.begin() + int64_t(since - forgotten_), log_.end());
  }

 private:
  Pages() {
    if (is_switched_off("CRESSET_WRITE_WATCH") || sysconf(_SC_PAGESIZE) != long(WriteWatch::kPage)) return;
    faults_ = int(syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | kUserModeOnly));
    uffdio_api api{};
    api.api = UFFD_API, api.features = kFeatureAsync | kFeatureUnpopulated;
    if (faults_ < 0 || ioctl(faults_, UFFDIO_API, &api)) return;
    pagemap_ = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    Scan nothing{sizeof(Scan), 0, 0, 0, 0, 0, 0, 0, 0, kIsWritten, 0, kIsWritten};
    if (pagemap_ >= 0 && ioctl(pagemap_, CRESSET_PAGEMAP_SCAN, &nothing) < 0) close(std::exchange(pagemap_, -1));
  }
  void note(Range r) {
    constexpr size_t kMost = 4096;
    if (log_.size() == kMost) forgotten_ = clock_, log_.clear();
    log_.push_back(r), ++clock_;
  }

  pid_t process_ = getpid();  // a forked one has the same descriptors, of its parent's memory
  int faults_ = -1, pagemap_ = -1;
  std::vector<Range> log_;                  // of the writes number forgotten_, forgotten_ + 1, …
  uint64_t clock_ = 0, forgotten_ = 0;
};

}  // namespace

std::optional<WriteWatch::File> WriteWatch::look_at(const std::string& path) {
  constexpr int64_t kSettled = 100'000'000;  // within a tick of the clock a file may be written twice at one time
  auto nanoseconds = [](const timespec& t) { return int64_t(t.tv_sec) * 1'000'000'000 + t.tv_nsec; };
  struct stat now;
  timespec clock;
  if (stat(path.c_str(), &now) || clock_gettime(CLOCK_REALTIME, &clock) || nanoseconds(clock) - nanoseconds(now.st_ctim) < kSettled) return std::nullopt;
  return File{path, now.st_dev, now.st_ino, uint64_t(now.st_size), nanoseconds(now.st_mtim), nanoseconds(now.st_ctim)};
}

std::optional<std::vector<WriteWatch::File>> WriteWatch::files_of(std::vector<Range> pages) {
  std::sort(pages.begin(), pages.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
  std::unique_ptr<FILE, int (*)(FILE*)> maps(std::fopen("/proc/self/maps", "re"), std::fclose);
  if (!maps) return std::nullopt;
  std::vector<File> files;
  auto next = pages.begin();
  for (char line[PATH_MAX + 128]; next != pages.end() && std::fgets(line, sizeof(line), maps.get());) {
    uintptr_t begin, end;
    uint64_t inode;
    char access[5];
    int path = 0;
    if (std::sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s %*x %*x:%*x %" SCNu64 " %n", &begin, &end, access, &inode, &path) != 4 || next->begin >= end) continue;
    // The next pages lie here, at least their beginning, or nowhere.
    if (next->begin < begin || access[3] != 'p') return std::nullopt;
    if (inode) {
      line[std::strcspn(line, "\n")] = 0;
      auto file = look_at(line + path);
      if (!file || file->inode != inode) return std::nullopt;
      if (std::find(files.begin(), files.end(), *file) == files.end()) files.push_back(std::move(*file));
    }
    while (next != pages.end() && next->end <= end) ++next;
    if (next != pages.end()) next->begin = std::max(next->begin, end);
  }
  return next == pages.end() ? std::optional(std::move(files)) : std::nullopt;
}

bool WriteWatch::is_available() { return Pages::of_process().can_watch(); }

// A forked process must not wait for a lock that a thread of its parent held.
bool WriteWatch::begin(std::vector<Range> pages) {
  pages_.clear();
  auto files = pages.empty() || !is_available() ? std::nullopt : files_of(pages);
  if (!files) return false;
  Pages& all = Pages::of_process();
  std::lock_guard lock(all.mutex);
  if (!all.protect(pages)) return false;
  pages_ = std::move(pages), files_ = std::move(*files), seen_ = all.now();
  return true;
}

std::optional<std::vector<WriteWatch::Range>> WriteWatch::written() {
  if (pages_.empty() || !is_available()) return std::nullopt;
  Pages& all = Pages::of_process();
  std::lock_guard lock(all.mutex);
  bool same_files = std::all_of(files_.begin(), files_.end(), [](const File& file) { return look_at(file.path) == file; });
  auto found = same_files && all.look(pages_) ? all.noted(seen_) : std::nullopt;
  seen_ = all.now();
  if (!found) pages_.clear();
  return found;
}

}  // namespace cresset
