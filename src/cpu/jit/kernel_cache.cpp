#include "cpu/jit/kernel_cache.h"

#include <link.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include "cresset/metrics.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CachePruning.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"

namespace cresset::cpu {
namespace {

// Precedes the object in a file, or what was noted down.
struct Header {
  char magic[8];
  char key[32];
  int64_t tasks;
  double cost;
  uint64_t scratch_bytes, packed_bytes;
  uint64_t size;
  uint64_t checksum;  // of what follows
};
constexpr char kMagic[8] = {'c', 'r', 'e', 's', 's', 'e', 't', '2'};

std::mutex& mutex() {
  static auto* m = new std::mutex;
  return *m;
}
std::map<std::string, std::weak_ptr<NativeKernel>>& in_memory() {
  static auto* m = new std::map<std::string, std::weak_ptr<NativeKernel>>;
  return *m;
}

// The linker's identification of the file that this function is in: another build of the compiler, another key.
std::string build_id() {
  struct Search {
    uintptr_t self;
    std::string id;
  } search{reinterpret_cast<uintptr_t>(&build_id), {}};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        auto& search = *static_cast<Search*>(data);
        bool here = false;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& header = info->dlpi_phdr[i];
          uintptr_t start = info->dlpi_addr + header.p_vaddr;
          here |= header.p_type == PT_LOAD && search.self >= start && search.self < start + header.p_memsz;
        }
        if (!here) return 0;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& header = info->dlpi_phdr[i];
          if (header.p_type != PT_NOTE) continue;
          auto* at = reinterpret_cast<const char*>(info->dlpi_addr + header.p_vaddr);
          for (auto* end = at + header.p_memsz; at + sizeof(ElfW(Nhdr)) <= end;) {
            auto* note = reinterpret_cast<const ElfW(Nhdr)*>(at);
            const char* description = at + sizeof(*note) + llvm::alignTo(note->n_namesz, 4);
            if (note->n_type == NT_GNU_BUILD_ID) search.id = llvm::toHex(llvm::StringRef(description, note->n_descsz));
            at = description + llvm::alignTo(note->n_descsz, 4);
          }
        }
        return 1;
      },
      &search);
  return search.id;
}

const std::string& directory() {
  static auto* path = new std::string([] {
    const char* given = std::getenv("CRESSET_CACHE_DIR");
    llvm::SmallString<128> path;
    if (given) path = given;
    else if (llvm::sys::path::cache_directory(path)) llvm::sys::path::append(path, "cresset");
    // Without an identification, code of another build could be taken for this one's.
    if (path.empty() || build_id().empty() || llvm::sys::fs::create_directories(path)) return std::string();
    llvm::CachePruningPolicy policy;
    policy.MaxSizeBytes = 2ull << 30;
    policy.MaxSizePercentageOfAvailableSpace = 0;
    llvm::pruneCache(path, policy);
    return std::string(path);
  }());
  return *path;
}

std::string path_of(const std::string& key) { return directory() + "/llvmcache-" + key; }  // the prefix that pruning looks for

std::shared_ptr<NativeKernel> remember(NativeKernel kernel) {
  auto native = std::make_shared<NativeKernel>(std::move(kernel));
  if (in_memory().size() > 4096) std::erase_if(in_memory(), [](auto& entry) { return entry.second.expired(); });
  in_memory()[native->kernel.name] = native;
  return native;
}

// What a file has behind its header; null if there is none, or if it is damaged.
std::unique_ptr<llvm::MemoryBuffer> read(const std::string& key, Header& header) {
  auto file = llvm::MemoryBuffer::getFile(path_of(key), false, false);
  if (!file || (*file)->getBufferSize() < sizeof(Header)) return {};
  std::memcpy(&header, (*file)->getBufferStart(), sizeof(header));
  llvm::StringRef content = (*file)->getBuffer().drop_front(sizeof(header));
  if (std::memcmp(header.magic, kMagic, sizeof(kMagic)) || llvm::StringRef(header.key, sizeof(header.key)) != key || header.size != content.size() ||
      header.checksum != llvm::xxh3_64bits(content))
    return {};
  return llvm::MemoryBuffer::getMemBufferCopy(content, key);
}

std::shared_ptr<NativeKernel> read(const std::string& key) {
  Header header;
  auto object = read(key, header);
  if (!object) return {};
  auto code = link_object(std::move(object), key);
  if (!code) {
    llvm::consumeError(code.takeError());
    return {};
  }
  Kernel kernel{key, header.tasks, header.cost, header.scratch_bytes, header.packed_bytes};
  return remember({std::move(*code), kernel});
}

// Under another name first; a rename is atomic. A full disk only means that nothing is kept.
void write(const Kernel& kernel, llvm::StringRef object) {
  Header header{{}, {}, kernel.tasks, kernel.cost, kernel.scratch_bytes, kernel.packed_bytes, object.size(), llvm::xxh3_64bits(object)};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  std::memcpy(header.key, kernel.name.data(), sizeof(header.key));
  // No TempFile of LLVM's: that takes over the signals of the process, of which a trainer's may be.
  int descriptor;
  llvm::SmallString<128> temporary;
  if (llvm::sys::fs::createUniqueFile(path_of(kernel.name) + ".%%%%%%%%", descriptor, temporary)) return;
  llvm::raw_fd_ostream out(descriptor, true);
  out.write(reinterpret_cast<const char*>(&header), sizeof(header));
  out << object;
  out.close();
  const bool failed = out.has_error();
  out.clear_error();
  if (failed || llvm::sys::fs::rename(temporary, path_of(kernel.name))) (void)llvm::sys::fs::remove(temporary);
}

}  // namespace

std::string kernel_key(const std::string& content, const Target& target) {
  static const auto* compiler = new std::string(build_id() + LLVM_VERSION_STRING);
  std::string all = *compiler + '|' + target.name + target.cpu + target.features + std::to_string(target.bf16_dot) + std::to_string(target.tiles) + '|' + std::to_string(target.l1) + '|' + std::to_string(num_threads()) + '|' + content;
  auto hash = llvm::xxh3_128bits(llvm::ArrayRef(reinterpret_cast<const uint8_t*>(all.data()), all.size()));
  return llvm::utohexstr(hash.high64, true, 16) + llvm::utohexstr(hash.low64, true, 16);
}

std::shared_ptr<NativeKernel> find_kernel(const std::string& key) {
  static Counter hits("cresset.kernel_hit"), disk_hits("cresset.kernel_disk_hit");
  std::lock_guard lock(mutex());
  if (auto it = in_memory().find(key); it != in_memory().end())
    if (auto kernel = it->second.lock()) return hits.add(), kernel;
  auto kernel = directory().empty() ? nullptr : read(key);
  if (kernel) disk_hits.add();
  return kernel;
}

std::shared_ptr<NativeKernel> share_kernel(const Kernel& kernel, const std::shared_ptr<NativeKernel>& other, std::vector<int64_t> arguments) {
  static Counter shared("cresset.kernel_shared");
  shared.add();
  std::lock_guard lock(mutex());
  return remember({std::shared_ptr<Code>(other, other->code.get()), kernel, true, std::move(arguments)});  // as long as its code is linked, it can be found
}

std::string find_note(const std::string& key) {
  Header header;
  std::lock_guard lock(mutex());
  auto note = directory().empty() ? nullptr : read(key, header);
  return note ? note->getBuffer().str() : "";
}

void keep_note(const std::string& key, llvm::StringRef note) {
  std::lock_guard lock(mutex());
  if (!directory().empty()) write({.name = key}, note);
}

llvm::Expected<std::shared_ptr<NativeKernel>> add_kernel(const Kernel& kernel, std::unique_ptr<llvm::MemoryBuffer> object) {
  static Counter compiles("cresset.kernel_compile");
  compiles.add();
  std::lock_guard lock(mutex());
  if (!directory().empty()) write(kernel, object->getBuffer());
  auto code = link_object(std::move(object), kernel.name);
  if (!code) return code.takeError();
  return remember({std::move(*code), kernel});
}

}  // namespace cresset::cpu
