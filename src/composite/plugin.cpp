// Plugins behind the C interface of include/cresset/kernel_plugin.h.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <mutex>
#include <stdexcept>

#include "composite/kernels.h"
#include "cresset/kernel_plugin.h"
#include "cresset/plugins.h"
#include "llvm/ADT/StringExtras.h"
#include "runtime/thread_pool.h"

namespace cresset::composite {
namespace {

using namespace mlir;

constexpr size_t kMessage = 1024;
constexpr unsigned kLoadSeconds = 60;
constexpr int kLoaded = 42;  // the child's exit status

struct TaskOf {
  cresset_task task;
  void* context;
};
void run_tasks(cresset_task task, void* context, int64_t tasks, int64_t grain) {
  TaskOf both{task, context};
  void* buffers[] = {&both};
  auto entry = [](void* const* buffers, int64_t begin, int64_t end, void*) {
    auto& both = *static_cast<TaskOf*>(buffers[0]);
    both.task(both.context, begin, end);
  };
  if (tasks > 0) together([&] { parallel_for(entry, buffers, 0, tasks, std::max<int64_t>(grain, 1), 64); });
}

class PluginKernel final : public Kernel {
 public:
  PluginKernel(const cresset_plugin& plugin, void* handle) : plugin_(plugin), handle_(handle) {}
  ~PluginKernel() override {
    if (plugin_.release) plugin_.release(handle_);
  }
  void run(const void* const* operands, void* const* results) override {
    cresset_threads threads{sizeof(cresset_threads), num_threads(), &run_tasks};
    char error[kMessage] = "";
    if (plugin_.run(handle_, operands, results, &threads, error, sizeof(error)) == 0) return;
    error[kMessage - 1] = 0;
    throw std::runtime_error(std::string("kernel plugin ") + plugin_.name + ": " + (*error ? error : "failed without a message"));
  }

 private:
  const cresset_plugin& plugin_;
  void* handle_;
};

// A query and everything it points to.
class Query {
 public:
  explicit Query(stablehlo::CompositeOp op) : name_(op.getName().str()) {
    for (Type t : op.getOperandTypes()) add(operands_, t);
    for (Type t : op.getResultTypes()) add(results_, t);
    for (NamedAttribute a : op.getCompositeAttributes()) attributes_.push_back(attribute(a));
    query_ = {sizeof(cresset_query), name_.c_str(), int64_t(op.getVersion()), int64_t(operands_.size()), operands_.data(),
              int64_t(results_.size()), results_.data(), int64_t(attributes_.size()), attributes_.data()};
  }
  const cresset_query* get() const { return &query_; }

 private:
  const char* keep(std::string text) { return strings_.emplace_back(std::make_unique<std::string>(std::move(text)))->c_str(); }
  void add(std::vector<cresset_type>& types, Type type) {
    auto tensor = cast<RankedTensorType>(type);
    std::string element;
    llvm::raw_string_ostream(element) << tensor.getElementType();
    types.push_back({keep(element), tensor.getRank(), tensor.getShape().data()});
  }
  cresset_attribute attribute(NamedAttribute a) {
    cresset_attribute result{};
    result.name = keep(a.getName().str());
    if (auto b = dyn_cast<BoolAttr>(a.getValue())) {
      result.kind = CRESSET_BOOL, result.integer = b.getValue();
    } else if (auto i = dyn_cast<IntegerAttr>(a.getValue())) {
      result.kind = CRESSET_INT, result.integer = i.getValue().getSExtValue();
    } else if (auto f = dyn_cast<FloatAttr>(a.getValue())) {
      result.kind = CRESSET_FLOAT, result.number = f.getValueAsDouble();
    } else if (auto s = dyn_cast<StringAttr>(a.getValue())) {
      result.kind = CRESSET_STRING, result.text = keep(s.getValue().str());
    } else if (auto is = dyn_cast<DenseI64ArrayAttr>(a.getValue())) {
      result.kind = CRESSET_INTS, result.integers = is.asArrayRef().data(), result.count = is.size();
    } else if (auto fs = dyn_cast<DenseF64ArrayAttr>(a.getValue())) {
      result.kind = CRESSET_FLOATS, result.numbers = fs.asArrayRef().data(), result.count = fs.size();
    } else {
      std::string text;
      llvm::raw_string_ostream(text) << a.getValue();
      result.kind = CRESSET_OTHER, result.text = keep(text);
    }
    return result;
  }

  std::string name_;
  std::vector<std::unique_ptr<std::string>> strings_;
  std::vector<cresset_type> operands_, results_;
  std::vector<cresset_attribute> attributes_;
  cresset_query query_;
};

class Plugin final : public KernelProvider {
 public:
  explicit Plugin(const cresset_plugin& plugin) : plugin_(plugin) {}
  std::string name() const override { return plugin_.name; }
  std::unique_ptr<Kernel> query(stablehlo::CompositeOp op, std::string& reason) override {
    auto ranked = [](Type t) { return isa<RankedTensorType>(t) && cast<RankedTensorType>(t).hasStaticShape(); };
    if (!llvm::all_of(op.getOperandTypes(), ranked) || !llvm::all_of(op.getResultTypes(), ranked)) return reason = "a type is no tensor of static shape", nullptr;
    void* handle = nullptr;
    char text[kMessage] = "";
    if (plugin_.query(Query(op).get(), &handle, text, sizeof(text))) return std::make_unique<PluginKernel>(plugin_, handle);
    text[kMessage - 1] = 0;
    reason = text;
    return nullptr;
  }

 private:
  const cresset_plugin& plugin_;
};

// "" if it is one we can use.
std::string problem(const cresset_plugin* plugin) {
  if (!plugin) return "cresset_get_plugin returns null";
  constexpr size_t needed = offsetof(cresset_plugin, release) + sizeof(plugin->release);
  if (plugin->size < needed) return "its cresset_plugin has " + std::to_string(plugin->size) + " bytes, " + std::to_string(needed) + " are needed; set size = sizeof(cresset_plugin)";
  if (plugin->abi != CRESSET_KERNEL_ABI)
    return "it is built for version " + std::to_string(plugin->abi) + " of the kernel interface, this is version " + std::to_string(CRESSET_KERNEL_ABI) + "; build it again";
  if (!plugin->name || !*plugin->name) return "it has no name";
  if (!plugin->query || !plugin->run) return "its query or run is null";
  return {};
}

// Opens it; `plugin` is what it exports. "" on success.
std::string open(const std::string& path, const cresset_plugin*& plugin) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return dlerror();
  auto get = reinterpret_cast<cresset_get_plugin_function>(dlsym(library, "cresset_get_plugin"));
  if (!get) return "it does not export cresset_get_plugin (in C++ declare it extern \"C\")";
  plugin = get();
  return problem(plugin);
}

// Loads it in a child, which may crash or hang.
std::string try_in_child(const std::string& path) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK)) return std::strerror(errno);
  pid_t child = fork();
  if (child < 0) return std::strerror(errno);
  if (child == 0) {
    for (int signal : {SIGSEGV, SIGABRT, SIGBUS, SIGILL, SIGFPE, SIGALRM}) std::signal(signal, SIG_DFL);
    alarm(kLoadSeconds);
    const cresset_plugin* plugin = nullptr;
    std::string text = open(path, plugin);
    [[maybe_unused]] auto written = write(ends[1], text.data(), std::min<size_t>(text.size(), 4000));
    _exit(text.empty() ? kLoaded : 1);
  }
  close(ends[1]);
  // A process that the plugin leaves behind may keep the pipe open: what has been written when the child ends is all there is.
  int status = 0, waited;
  while ((waited = waitpid(child, &status, 0)) < 0 && errno == EINTR) {}
  std::string text(4096, 0);
  text.resize(size_t(std::max<ssize_t>(0, read(ends[0], text.data(), text.size()))));
  close(ends[0]);
  if (waited < 0) return text;  // somebody else has waited for it (SIGCHLD is ignored)
  if (WIFSIGNALED(status))
    return WTERMSIG(status) == SIGALRM ? "loading it takes more than " + std::to_string(kLoadSeconds) + " s"
                                       : std::string("it crashes while it is loaded (") + strsignal(WTERMSIG(status)) + ")";
  if (WEXITSTATUS(status) != kLoaded && text.empty()) return "it ends the process while it is loaded";
  return text;
}

}  // namespace

}  // namespace cresset::composite

namespace cresset {

using namespace composite;

void load_plugin(const std::string& given) {
  // Without a directory it would be looked for among the system's libraries.
  std::string path = given.find('/') == std::string::npos ? "./" + given : given;
  std::string text = access(path.c_str(), R_OK) ? std::string(std::strerror(errno)) : try_in_child(path);
  const cresset_plugin* plugin = nullptr;
  if (text.empty()) text = open(path, plugin);
  if (!text.empty()) throw std::runtime_error("cresset: plugin " + path + " can't be loaded: " + text);
  register_provider(std::make_unique<Plugin>(*plugin));
}

}  // namespace cresset

namespace cresset::composite {

void load_plugins_from_environment() {
  static std::once_flag once;
  std::call_once(once, [] {
    const char* paths = std::getenv("CRESSET_PLUGINS");
    SmallVector<StringRef> each;
    StringRef(paths ? paths : "").split(each, ':', -1, false);
    for (StringRef path : each) {
      // What it would take is decomposed.
      try {
        cresset::load_plugin(path.str());
      } catch (const std::runtime_error& error) {
        llvm::errs() << error.what() << " (CRESSET_PLUGINS)\n";
      }
    }
  });
}

}  // namespace cresset::composite
