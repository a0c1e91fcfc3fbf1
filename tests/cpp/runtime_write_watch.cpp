// Pages that are watched for writes, and the fingerprint that is taken of what was written.
#include "runtime/write_watch.h"

#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <random>
#include <string>

#include "cpu/kept.h"

namespace cresset {
namespace {

constexpr size_t kPage = WriteWatch::kPage;

// Memory of its own, written once.
class Memory {
 public:
  explicit Memory(size_t pages, int sharing = MAP_PRIVATE) : bytes_(pages * kPage), data_(static_cast<char*>(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, sharing | MAP_ANONYMOUS, -1, 0))) {
    std::memset(data_, 1, bytes_);
  }
  ~Memory() { munmap(data_, bytes_); }
  char& operator[](size_t i) { return data_[i]; }
  char* page(size_t i) { return data_ + i * kPage; }
  std::vector<WriteWatch::Range> range() { return {{reinterpret_cast<uintptr_t>(data_), reinterpret_cast<uintptr_t>(data_) + bytes_}}; }
  // Of the pages that were written to, all in all; -1 if that is not known.
  int seen_by(WriteWatch& watch) {
    auto written = watch.written();
    if (!written) return -1;
    std::vector<bool> pages(bytes_ / kPage);
    for (auto& r : *written)
      for (size_t i = 0; i < pages.size(); ++i)
        if (auto p = reinterpret_cast<uintptr_t>(page(i)); r.begin <= p && p < r.end) pages[i] = true;
    return int(std::count(pages.begin(), pages.end(), true));
  }

 private:
  size_t bytes_;
  char* data_;
};

class RuntimeWriteWatch : public testing::Test {
 protected:
  void SetUp() override {
    if (!WriteWatch::is_available()) GTEST_SKIP() << "this system cannot watch writes: it takes Linux 6.7 with userfaultfd";
  }
};

TEST_F(RuntimeWriteWatch, EveryWriteIsSeenOnce) {
  Memory memory(64);
  WriteWatch watch;
  ASSERT_TRUE(watch.begin(memory.range()));
  EXPECT_EQ(memory.seen_by(watch), 0);
  memory[5 * kPage + 17] = 2, *memory.page(9) = 1, *memory.page(10) = 2;  // also where it changes nothing
  EXPECT_EQ(memory.seen_by(watch), 3);
  EXPECT_EQ(memory.seen_by(watch), 0);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(write(ends[1], "abc", 3), 3);
  ASSERT_EQ(read(ends[0], memory.page(20), 3), 3);  // by the kernel
  close(ends[0]), close(ends[1]);
  EXPECT_EQ(memory.seen_by(watch), 1);
  ASSERT_EQ(madvise(memory.page(30), 2 * kPage, MADV_DONTNEED), 0);  // become zeros
  EXPECT_EQ(memory.seen_by(watch), 2);
}

TEST_F(RuntimeWriteWatch, EachOfSeveralSeesAll) {
  Memory memory(16);
  WriteWatch a, b;
  ASSERT_TRUE(a.begin(memory.range()));
  memory[0] = 2;
  ASSERT_TRUE(b.begin(memory.range()));  // protects the page again
  EXPECT_EQ(memory.seen_by(a), 1);
  EXPECT_EQ(memory.seen_by(b), 0);
  memory[3 * kPage] = 2;
  EXPECT_EQ(memory.seen_by(b), 1);
  memory[4 * kPage] = 2;
  EXPECT_EQ(memory.seen_by(a), 2);
  EXPECT_EQ(memory.seen_by(b), 1);
}

TEST_F(RuntimeWriteWatch, SaysSoWhenItDoesNotKnow) {
  Memory memory(1 << 14), other(1);
  WriteWatch a, b;
  ASSERT_TRUE(a.begin(memory.range()) && b.begin(other.range()));
  for (size_t i = 0; i < 1 << 14; i += 2) *memory.page(i) = 2;  // more ranges than are noted
  int seen = memory.seen_by(a);
  EXPECT_TRUE(seen == -1 || seen >= 1 << 13) << seen;
  EXPECT_EQ(other.seen_by(b), -1);
  ASSERT_TRUE(b.begin(other.range()));
  ASSERT_EQ(mmap(&other[0], kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0), &other[0]);
  EXPECT_EQ(other.seen_by(b), -1);  // other memory at the same place
  EXPECT_FALSE(WriteWatch().written());
}

TEST_F(RuntimeWriteWatch, WhatOthersMayWriteToIsNotWatched) {
  Memory shared(4, MAP_SHARED), mine(4);
  EXPECT_FALSE(WriteWatch().begin(shared.range()));
  EXPECT_FALSE(WriteWatch().begin({mine.range()[0], shared.range()[0]}));
  EXPECT_FALSE(WriteWatch().begin({}));
  std::vector<WriteWatch::Range> nothing{{0x10000, 0x10000 + kPage}};
  EXPECT_FALSE(WriteWatch().begin(nothing));
}

// A file that is mapped for this process alone.
TEST_F(RuntimeWriteWatch, FilesAreWatchedByTheirTimes) {
  std::string path = testing::TempDir() + "cresset-watch-XXXXXX";
  char* name = path.data();
  int file = mkstemp(name);
  struct statfs system;
  ASSERT_EQ(fstatfs(file, &system), 0);
  if (system.f_type == OVERLAYFS_SUPER_MAGIC) GTEST_SKIP() << "a layered file system shows other inodes of what is mapped: set TMPDIR to another";
  auto make_old = [&] { usleep(200'000); };
  ASSERT_EQ(ftruncate(file, 4 * kPage), 0);
  auto map = [&](int sharing) { return static_cast<char*>(mmap(nullptr, 4 * kPage, PROT_READ | PROT_WRITE, sharing, file, 0)); };
  char *mine = map(MAP_PRIVATE), *shared = map(MAP_SHARED);
  auto range = [](char* p) { return std::vector<WriteWatch::Range>{{reinterpret_cast<uintptr_t>(p), reinterpret_cast<uintptr_t>(p) + 4 * kPage}}; };
  WriteWatch watch;
  EXPECT_FALSE(watch.begin(range(mine)));  // written just now
  make_old();
  EXPECT_FALSE(watch.begin(range(shared)));
  ASSERT_TRUE(watch.begin(range(mine)));
  EXPECT_EQ(watch.written()->size(), 0u);
  mine[2 * kPage] = 1;
  auto written = watch.written();
  ASSERT_TRUE(written && written->size() == 1);
  EXPECT_EQ((*written)[0].begin, reinterpret_cast<uintptr_t>(mine + 2 * kPage));
  ASSERT_EQ(pwrite(file, "abc", 3, 0), 3);
  EXPECT_FALSE(watch.written());
  make_old();
  ASSERT_TRUE(watch.begin(range(mine)));
  EXPECT_TRUE(watch.written());
  unlink(name);  // by another name, or none, it may be written to
  EXPECT_FALSE(watch.written());
  make_old();
  EXPECT_FALSE(watch.begin(range(mine)));
  munmap(mine, 4 * kPage), munmap(shared, 4 * kPage), close(file);
}

TEST_F(RuntimeWriteWatch, AForkedProcessDoesNotWatch) {
  Memory memory(8);
  WriteWatch watch;
  ASSERT_TRUE(watch.begin(memory.range()));
  pid_t child = fork();
  if (child == 0) _exit(!WriteWatch::is_available() && !watch.written() && !watch.begin(memory.range()) ? 0 : 1);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  *memory.page(3) = 2;
  EXPECT_EQ(memory.seen_by(watch), 1);
}

uint64_t fresh(llvm::ArrayRef<size_t> bytes, llvm::ArrayRef<const void*> arrays) { return cpu::Fingerprint(bytes).of(arrays); }

// Against one that has seen nothing before, wherever arrays begin and whoever writes.
TEST(CpuKept, FingerprintsAreOfWhatIsThere) {
  for (int sharing : {MAP_PRIVATE, MAP_SHARED}) {
    Memory memory(200, sharing);
    std::mt19937 random(0);
    std::vector<size_t> bytes{100, kPage, 2 * kPage + 1, 3 * kPage, 300'000, 70 * kPage, 8};
    std::vector<const void*> arrays;
    size_t offset = 40;
    for (size_t size : bytes) arrays.push_back(&memory[offset]), offset += size;
    ASSERT_LT(offset, 200 * kPage);
    cpu::Fingerprint watching(bytes);
    uint64_t before = 0;
    for (int i = 0; i < 300; ++i) {
      uint64_t now = watching.of(arrays);
      ASSERT_EQ(now, fresh(bytes, arrays)) << i;
      EXPECT_NE(now, before);
      EXPECT_EQ(watching.of(arrays), before = now);
      size_t at = 40 + random() % (offset - 40);
      if (sharing == MAP_PRIVATE || i % 20) {
        memory[at] = char(memory[at] + 1);
      } else if (pid_t child = fork(); child == 0) {
        memory[at] = char(memory[at] + 1), _exit(0);
      } else {
        waitpid(child, nullptr, 0);
      }
    }
    uint64_t now = watching.of(arrays);
    Memory elsewhere(200);
    std::memcpy(&elsewhere[0], &memory[0], 200 * kPage);
    for (auto& array : arrays) array = &elsewhere[0] + (static_cast<const char*>(array) - &memory[0]);
    EXPECT_EQ(watching.of(arrays), now);  // the same bytes at another place
    elsewhere[50] = char(elsewhere[50] + 1);
    EXPECT_NE(watching.of(arrays), now);
  }
}

}  // namespace
}  // namespace cresset
