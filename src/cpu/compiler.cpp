#include "cpu/compiler.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <numeric>
#include <set>
#include <thread>

#include "composite/decompose.h"
#include "composite/kernels.h"
#include "cpu/assumed_zeros.h"
#include "cpu/prepare/control_flow.h"
#include "cpu/jit/family.h"
#include "cpu/jit/kernel_cache.h"
#include "cpu/jit/numbers.h"
#include "cpu/emit/kernels.h"
#include "cpu/kept.h"
#include "cpu/native_program.h"
#include "cpu/plan.h"
#include "cpu/schedule.h"
#include "cpu/emit/random.h"
#include "cpu/prepare/quantised.h"
#include "cpu/prepare/simplify.h"
#include "cpu/roundings.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/Support/xxhash.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "runtime/arena.h"
#include "runtime/environment.h"
#include "runtime/thread_pool.h"

namespace cresset::cpu {

using namespace mlir;
using namespace mlir::stablehlo;
namespace {

// What a kernel does, in short: its kind, the types it works on, its operations.
std::string label_of(const Fusion& fusion) {
  static constexpr const char* kinds[] = {"rows", "reduce", "concatenate", "dot", "convolution", "attention", "attention_gradient", "window", "select_and_scatter", "scatter", "sort", "triangular_solve", "alignment", "update", "composite"};
  static_assert(std::size(kinds) == Fusion::Composite + 1);
  std::string text = kinds[fusion.kind];
  llvm::raw_string_ostream out(text);
  auto type = [&](Value v) { out << ' ' << cast<RankedTensorType>(v.getType()).getElementType() << '['; llvm::interleave(shaped(v).getShape(), out, "x"); out << ']'; };
  if (fusion.product)
    for (Value v : fusion.product->getOperands()) type(v);
  if (!fusion.outputs.empty()) out << " ->", type(fusion.outputs.front());
  llvm::SetVector<StringRef> names;
  for (auto& [op, role] : fusion.roles)
    if (op != fusion.product && !isa<ConstantOp, BroadcastInDimOp, ReshapeOp, ConvertOp>(op))
      names.insert(isa<CompositeOp>(op) ? cast<CompositeOp>(op).getName() : op->getName().stripDialect());
  if (names.size()) out << ": ";
  llvm::interleaveComma(names.getArrayRef().take_front(8), out);
  if (names.size() > 8) out << ", …";
  return text;
}

// Types and attributes as text. Each is printed once, which is dear; equal layers share theirs.
class Texts {
 public:
  template <class T>
  StringRef of(T printed) {
    std::string& text = texts_[printed.getAsOpaquePointer()];
    if (text.empty()) llvm::raw_string_ostream(text) << printed << ' ';
    return text;
  }

 private:
  DenseMap<const void*, std::string> texts_;
};

// What a kernel computes, with its buffers numbered: equal text, equal code. Twelve equal layers compile their kernels once. Without `windows` it does not say where
// slices begin that are read or written, which is all that tells the steps of a recurrent layer apart, or of a loop that fills an array.
std::string content_of(const Fusion& fusion, const Slots& slots, Texts& texts, bool windows = true) {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << fusion.kind << (fusion.in_place ? "in place" : "") << '[';
  llvm::interleave(fusion.shape, out, ",");
  out << ']' << fusion.row_rank << ' ';
  DenseMap<Value, int> numbers;
  auto name = [&](Value v) {
    auto constant = v.getDefiningOp<ConstantOp>();
    if (numbers.count(v)) out << '%' << numbers[v];
    else if (slots.has(v)) out << 'b' << slots.at(v) << ':' << texts.of(v.getType());
    else if (!constant) out << '?';
    // Emitters may look at a number that is in memory, too; at other constants there nobody does.
    if (constant && !numbers.count(v) && (!slots.has(v) || isa<SplatElementsAttr>(constant.getValue()))) out << texts.of(Attribute(constant.getValue()));
    out << ' ';
  };
  // What says where an update begins, and a number that does only that.
  auto is_begin = [](OpOperand& use) { return isa<DynamicUpdateSliceOp>(use.getOwner()) && use.getOperandNumber() > 1 && use.get().getDefiningOp<ConstantOp>(); };
  auto only_begins = [&](Operation* op) {
    return isa<ConstantOp>(op) && llvm::all_of(op->getUses(), [&](OpOperand& use) { return is_begin(use) || !fusion.roles.contains(use.getOwner()); });
  };
  std::function<void(Operation*)> describe = [&](Operation* op) {
    out << op->getName();
    if (auto slice = dyn_cast<SliceOp>(op); slice && !windows) llvm::interleave(slice.getStrides(), out, ",");
    else out << texts.of(Attribute(op->getAttrDictionary()));
    for (Type t : op->getResultTypes()) out << texts.of(t);
    out << '(';
    for (OpOperand& operand : op->getOpOperands())
      if (windows || !is_begin(operand)) name(operand.get());
    out << ')';
    for (Region& region : op->getRegions())
      for (Block& block : region) {
        for (Value v : block.getArguments()) numbers[v] = numbers.size(), out << texts.of(v.getType());
        for (Operation& inner : block) describe(&inner);
      }
    for (Value v : op->getResults()) {
      if (slots.has(v)) out << "->b" << slots.at(v);
      numbers[v] = numbers.size();
    }
  };
  for (auto& [op, role] : fusion.roles)
    if (windows || !only_begins(op)) out << role, describe(op);
  return text;
}

llvm::Error emit(KernelContext& c) {
  switch (c.fusion.kind) {
    case Fusion::Rows: return emit_rows(c);
    case Fusion::Reduce: return emit_reduce(c);
    case Fusion::Concatenate: return emit_concatenate(c);
    case Fusion::Dot: return emit_dot(c);
    case Fusion::Convolution: return emit_convolution(c);
    case Fusion::Attention: return emit_attention(c);
    case Fusion::AttentionGradient: return emit_attention_gradient(c);
    case Fusion::Window: return emit_window(c);
    case Fusion::SelectAndScatter: return emit_select_and_scatter(c);
    case Fusion::Scatter: return emit_scatter(c);
    case Fusion::Sort: return emit_sort(c);
    case Fusion::TriangularSolve: return emit_triangular_solve(c);
    case Fusion::Alignment: return emit_alignment(c);
    case Fusion::Update: return emit_update(c);
    case Fusion::Composite: break;  // nothing to emit
  }
  return llvm::Error::success();
}

// A kernel whose code is in no cache.
struct Fresh {
  Kernel kernel;
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module;
  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> object = nullptr;
};

// Says on the terminal how far a long compile is: every CRESSET_PROGRESS seconds, by default 5; 0 is never.
class Progress {
 public:
  void note(size_t done, size_t all) {
    auto now = std::chrono::steady_clock::now();
    if (interval_ <= 0 || std::chrono::duration<double>(now - last_).count() < interval_) return;
    last_ = now;
    std::fprintf(stderr, "cresset: compiling, %zu of %zu kernels after %.0f s\n", done, all, std::chrono::duration<double>(now - start_).count());
  }

 private:
  static double interval() {
    const char* text = std::getenv("CRESSET_PROGRESS");
    return text && *text ? std::atof(text) : 5;
  }
  double interval_ = interval();
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now(), last_ = start_;
};

// On as many threads as programs run on.
void compile_objects(std::vector<Fresh>& fresh, const Target& target) {
  std::atomic<size_t> next = 0;
  Progress progress;
  auto work = [&](bool says) {
    for (size_t i; (i = next++) < fresh.size();) {
      if (says) progress.note(i, fresh.size());
      llvm::consumeError(fresh[i].object.takeError());
      fresh[i].object = compile_object(*fresh[i].module, target);
      fresh[i].module.reset();
      fresh[i].context.reset();
    }
  };
  std::vector<std::thread> helpers;
  for (int i = 1; i < num_threads() && i < int(fresh.size()); ++i) helpers.emplace_back(work, false);
  work(true);
  for (auto& helper : helpers) helper.join();
}

// What a kernel finds in its table, before the numbers of its family.
int buffers_of(const Fusion& fusion, const Slots& slots) { return slots.count() + keeps_packed(fusion); }

llvm::Expected<Fresh> emit_kernel(const Fusion& fusion, const Slots& slots, const std::string& key, const Target& target, bool any_size = false) {
  Fresh fresh;
  fresh.kernel.name = key;
  fresh.context = std::make_unique<llvm::LLVMContext>();
  fresh.module = std::make_unique<llvm::Module>(key, *fresh.context);
  KernelEmitter k(*fresh.module, target, key, buffers_of(fusion, slots), any_size);
  KernelContext context{k, fusion, slots, fresh.kernel};
  if (auto error = emit(context)) return error;
  k.finish();
  return fresh;
}

// With CRESSET_CHECK_KEYS=1, as in the tests, what shares a key is compared, also if it would only be found.
bool checks_keys() {
  static const bool wanted = is_switched_on("CRESSET_CHECK_KEYS");
  return wanted;
}

// That kernels of one key are the same code.
llvm::Error check_code(const Fusion& fusion, const std::string& key, const llvm::Module& module) {
  llvm::SmallString<0> code;
  llvm::raw_svector_ostream out(code);
  llvm::WriteBitcodeToFile(module, out);
  static std::mutex mutex;
  static auto* digests = new std::map<std::string, uint64_t>;
  std::lock_guard lock(mutex);
  uint64_t digest = llvm::xxh3_64bits(llvm::StringRef(code)), first = digests->insert({key, digest}).first->second;
  if (digest == first) return llvm::Error::success();
  return llvm::createStringError("two kernels have one key, but not the same code: " + label_of(fusion));
}

// What an emitter looks at beyond its fusion's content is not in the key.
llvm::Error check_key(const Fusion& fusion, const std::string& key, const Target& target) {
  if (!checks_keys()) return llvm::Error::success();
  auto emitted = emit_kernel(fusion, Slots(fusion), key, target);
  return emitted ? check_code(fusion, key, *emitted->module) : emitted.takeError();
}

// That kernels of one digest differ in numbers only: they are the same once all of these are loaded.
llvm::Error check_digest(const Fusion& fusion, const Numbers& numbers, const Target& target, bool any_size) {
  if (!checks_keys()) return llvm::Error::success();
  auto emitted = emit_kernel(fusion, Slots(fusion), "kernel", target, any_size);
  if (!emitted) return emitted.takeError();
  Numbers again(*emitted->module->getFunction("kernel"));
  std::vector<int> classes(again.values().size());
  std::iota(classes.begin(), classes.end(), 1);
  again.load(classes, buffers_of(fusion, Slots(fusion)));
  return check_code(fusion, numbers.digest(), *emitted->module);
}

// A kernel that runs for less than this is shared by all sizes: its compilation takes some of it.
constexpr double kShareSeconds = 1e-1;
// So many that differ in where they read or write only share their code, too.
constexpr size_t kShareWindows = 4;

using Kernels = std::map<std::string, std::shared_ptr<NativeKernel>>;  // by key

// The kernels of one program, from the caches or compiled.
class KernelMaker {
 public:
  KernelMaker(const Target& target, bool sizes_change) : target_(target), sizes_change_(sizes_change || serves_any_size()) { forget_families(); }

  // `others`: what it has in common with others that differ in where they begin to read or write only; "" if there are few.
  llvm::Error add(const Fusion& fusion, const std::string& key, const std::string& others) {
    if (auto error = check_key(fusion, key, target_)) return error;
    auto [known, added] = kernels_.insert({key, nullptr});
    if (!added) return llvm::Error::success();
    auto native = find_kernel(key);
    if (native && !sizes_change_ && others.empty() && native->shared) native = nullptr;
    bool compared = native && !others.empty() && !native->shared;  // of its family, perhaps: what the others share depends on it
    if (native && !compared) return known->second = std::move(native), llvm::Error::success();
    Slots slots(fusion);
    auto emitted = emit_kernel(fusion, slots, key, target_, sizes_change_);
    if (!emitted) return emitted.takeError();
    if (sizes_change_ && emitted->kernel.cost * Kernel::kSecondsPerCost > kShareSeconds) {
      emitted = emit_kernel(fusion, slots, key, target_);
      if (!emitted) return emitted.takeError();
      return fresh_.push_back(std::move(*emitted)), llvm::Error::success();
    }
    if (!sizes_change_ && others.empty()) return fresh_.push_back(std::move(*emitted)), llvm::Error::success();
    Numbers numbers(*emitted->module->getFunction(key));
    if (auto error = check_digest(fusion, numbers, target_, sizes_change_)) return error;
    Family& family = family_of(numbers.digest() + (sizes_change_ ? "" : others), target_);
    if (serves_any_size()) {
      std::vector<int64_t> others = numbers.values();
      for (int64_t& v : others) ++v;
      family.add(others, false);
    }
    family.add(numbers.values(), sizes_change_);
    if (compared) known->second = std::move(native);
    else members_.push_back({std::move(*emitted), std::move(numbers), buffers_of(fusion, slots), family});
    return llvm::Error::success();
  }

  llvm::Expected<Kernels> finish() {
    std::map<std::string, Family*> begun;  // by the key of the code that is to be compiled
    for (Member& m : members_) {
      const std::string& code = m.family.key();
      if (!m.family.code && begun.insert({code, &m.family}).second) fresh_.push_back(shared_code(m));
      else m.emitted.module.reset(), m.emitted.context.reset();
    }
    compile_objects(fresh_, target_);
    for (Fresh& f : fresh_) {
      if (!f.object) return f.object.takeError();
      auto native = add_kernel(f.kernel, std::move(*f.object));
      if (!native) return native.takeError();
      auto family = begun.find(f.kernel.name);
      (family == begun.end() ? kernels_[f.kernel.name] : family->second->code) = *native;
    }
    for (Member& m : members_) kernels_[m.emitted.kernel.name] = share_kernel(m.emitted.kernel, m.family.code, m.family.arguments(m.numbers.values()));
    return std::move(kernels_);
  }

 private:
  // With CRESSET_ANY_SIZE=1, for tests, that of all kernels; no number in it is a constant.
  static bool serves_any_size() {
    static const bool wanted = is_switched_on("CRESSET_ANY_SIZE");
    return wanted;
  }

  // A kernel that takes the code of its family.
  struct Member {
    Fresh emitted;
    Numbers numbers;
    int buffers;
    Family& family;
  };

  Fresh shared_code(Member& m) {
    Fresh result = std::move(m.emitted);
    m.emitted.kernel = result.kernel;
    m.numbers.load(m.family.classes(), m.buffers);
    result.module->getFunction(result.kernel.name)->setName(m.family.key());
    result.kernel.name = m.family.key();
    return result;
  }

  const Target& target_;
  bool sizes_change_;
  Kernels kernels_;
  std::vector<Fresh> fresh_;
  std::vector<Member> members_;
};

// Of results only the bytes matter: what is computed in another shape, as norms of groups are, or repeated along dimensions that become one, need not know it. Values that are returned as they came, or twice, need a kernel that writes them.
void settle_returned_values(func::FuncOp main) {
  Operation* end = main.getBody().front().getTerminator();
  OpBuilder b(end);
  for (OpOperand& operand : end->getOpOperands())
    if (auto reshape = operand.get().getDefiningOp<ReshapeOp>())
      if (Operation* from = reshape.getOperand().getDefiningOp(); from && !isa<ConstantOp>(from)) operand.set(reshape.getOperand());
  llvm::SmallDenseSet<Value> seen;
  for (OpOperand& operand : end->getOpOperands()) {
    Value v = operand.get();
    if (isa<BlockArgument>(v) || v.getDefiningOp<ConstantOp>() || !seen.insert(v).second)
      operand.set(ReshapeOp::create(b, end->getLoc(), v.getType(), v));
  }
}

std::vector<char> bytes_of(DenseElementsAttr value) {
  Type type = value.getElementType();
  std::vector<char> bytes;
  int64_t size = element_bytes(type);
  auto append = [&](const APInt& bits) {
    uint64_t raw = bits.getZExtValue();
    bytes.insert(bytes.end(), reinterpret_cast<char*>(&raw), reinterpret_cast<char*>(&raw) + size);
  };
  if (isa<FloatType>(type)) for (APFloat f : value.getValues<APFloat>()) append(f.bitcastToAPInt());
  else for (APInt i : value.getValues<APInt>()) append(i);
  return bytes;
}

// Not among the memory that tensors use, unless it is to be guarded.
BufferPtr constant_of(DenseElementsAttr value) {
  auto bytes = std::make_shared<std::vector<char>>(bytes_of(value));
  if (!is_guarded()) return Buffer::wrap(bytes->data(), bytes->size(), bytes);
  auto buffer = Buffer::allocate(bytes->size());
  std::memcpy(buffer->data(), bytes->data(), bytes->size());
  return buffer;
}

Port port_of(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  Port port;
  llvm::raw_string_ostream(port.type) << tensor.getElementType();
  port.shape.assign(tensor.getShape().begin(), tensor.getShape().end());
  port.bytes = tensor.getNumElements() * element_bytes(tensor.getElementType());
  return port;
}

// Offers every composite to the registered kernels, the outer before what is nested in it, and decomposes what nobody takes. Of what was nested, those that are run whole are reported.
LogicalResult choose_kernels(ModuleOp module, ForeignKernels& foreign, composite::Report& report) {
  composite::load_plugins_from_environment();
  DenseSet<Operation*> outer;
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isPrivate()) function.walk([&](CompositeOp op) { outer.insert(op); });
  return composite::decompose(module, [&](CompositeOp op) {
    auto choice = composite::choose_kernel(op);
    bool ours = !choice.kernel && composite_kind(op);
    if (outer.erase(op) || choice.kernel || ours) report.add(op, choice.kernel ? "kernel " + choice.provider : ours ? "kernel cresset" : "decomposed", choice.reason);
    if (choice.kernel) foreign[op] = std::move(choice.kernel);
    return !foreign.contains(op) && !ours && !is_random_bits(op);
  });
}

// Whether kernels can compute with the element type.
bool has_code(Type t) { return t.isBF16() || t.isF16() || t.isF32() || t.isF64() || (isa<IntegerType>(t) && llvm::is_contained({1, 8, 16, 32, 64}, t.getIntOrFloatBitWidth())); }

LogicalResult check_signature(func::FuncOp main) {
  for (Type t : llvm::concat<const Type>(main.getArgumentTypes(), main.getResultTypes()))
    if (auto tensor = dyn_cast<RankedTensorType>(t); !tensor || !tensor.hasStaticShape() || !is_countable(tensor))
      return main.emitOpError("can't be compiled: it takes or returns ") << t;
  return success();
}

// That kernels know what is computed; registered ones may know other types.
LogicalResult check_operations(func::FuncOp main, const ForeignKernels& foreign) {
  auto result = main.walk([&](Operation* op) {
    if (isa<func::CallOp>(op)) return op->emitOpError("can't be compiled: the function has no body"), WalkResult::interrupt();  // all others are inlined
    if (op == main || isa<ConstantOp>(op) || op->hasTrait<OpTrait::IsTerminator>() || foreign.contains(op)) return WalkResult::advance();
    for (Type t : llvm::concat<const Type>(SmallVector<Type>(op->getOperandTypes()), SmallVector<Type>(op->getResultTypes())))
      if (!has_code(getElementTypeOrSelf(t))) return op->emitOpError("is not supported by the CPU compiler: type ") << t, WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

void mark_shared_products(func::FuncOp main) {
  main.walk([](MulOp op) {
    if (isa<FloatType>(getElementTypeOrSelf(op.getType())) && !op->use_empty() && !op->hasOneUse()) op->setAttr(kShared, UnitAttr::get(op->getContext()));
  });
}

// Composites to kernels or their decomposition, the rest simplified, all of it shared out among kernels.
llvm::Expected<std::vector<Fusion>> divide(ModuleOp module, func::FuncOp main, const Target& target, const CompileOptions& options, CompileRegion compile_region, ForeignKernels& foreign, composite::Report& report, ProgramStats& stats) {
  auto broken = [&] { return llvm::createStringError("the module can't be compiled"); };
  if (failed(check_signature(main)) || failed(choose_kernels(module, foreign, report))) return broken();
  compile_control_flow(module, main, compile_region, foreign, report, stats);
  SmallVector<CompositeOp> ours;
  main.walk([&](CompositeOp op) {
    if (!foreign.contains(op)) ours.push_back(op);
  });
  for (CompositeOp op : ours) split_attention_gradient(op), write_results_in_order(share_heads(op));
  simplify(module, target.tiles);
  settle_returned_values(main);
  if (failed(check_operations(main, foreign))) return broken();
  mark_shared_products(main);
  auto fusions = fuse(main, [&](Operation* op) { return foreign.contains(op); });
  if (failed(fusions)) return broken();
  if (options.excess_precision) skip_roundings(main, *fusions);
  return std::move(*fusions);
}

llvm::Expected<std::string> assembly_of_main(ModuleOp module, func::FuncOp main, const CompileOptions& options) {
  auto target = describe_target(options.cpu);
  if (!target) return target.takeError();
  ForeignKernels foreign;
  composite::Report report;
  std::string all;
  auto assemble_region = [&](ModuleOp region) -> llvm::Expected<std::unique_ptr<Program>> {
    auto text = assembly(region, options);
    if (!text) return text.takeError();
    all += *text;
    return std::make_unique<NativeProgram>();
  };
  ProgramStats stats;
  auto fusions = divide(module, main, *target, options, assemble_region, foreign, report, stats);
  if (!fusions) return fusions.takeError();
  for (const Fusion& fusion : *fusions) {
    if (fusion.kind == Fusion::Composite) continue;
    auto fresh = emit_kernel(fusion, Slots(fusion), "kernel", *target);
    if (!fresh) return fresh.takeError();
    auto text = compile_assembly(*fresh->module, *target);
    if (!text) return text.takeError();
    all += "# " + label_of(fusion) + "\n" + *text;
  }
  return all;
}

// Those of all fusions, of which `keys` becomes each one's.
llvm::Expected<Kernels> make_kernels(const std::vector<Fusion>& fusions, const Target& target, bool sizes_change, std::vector<std::string>& keys) {
  std::vector<std::string> shapes;
  std::map<std::string, std::set<std::string>> alike;
  Texts texts;
  for (const Fusion& fusion : fusions) {
    Slots slots(fusion);
    std::string content = content_of(fusion, slots, texts);
    bool has_windows = llvm::any_of(fusion.roles, [](auto& role) { return isa<SliceOp, DynamicUpdateSliceOp>(role.first); });
    keys.push_back(kernel_key(content, target));
    shapes.push_back(has_windows ? content_of(fusion, slots, texts, false) : content);
    alike[shapes.back()].insert(keys.back());
  }
  KernelMaker maker(target, sizes_change);
  for (auto [fusion, key, shape] : llvm::zip(fusions, keys, shapes))
    if (fusion.kind != Fusion::Composite)
      if (auto error = maker.add(fusion, key, alike[shape].size() >= kShareWindows ? shape : "")) return error;
  return maker.finish();
}

// How many of the fusions are computed once, and for which arguments. They read nothing that others make.
std::pair<size_t, std::vector<int64_t>> put_kept_first(func::FuncOp main, std::vector<Fusion>& fusions, std::vector<std::string>& keys, const Kernels& kernels) {
  std::vector<double> seconds;
  for (auto [fusion, key] : llvm::zip(fusions, keys)) seconds.push_back(fusion.kind == Fusion::Composite ? 0 : kernels.at(key)->kernel.cost * Kernel::kSecondsPerCost);
  Kept kept = choose_kept(main, fusions, seconds);
  auto sort = [&](auto& all) {
    std::remove_reference_t<decltype(all)> sorted;
    for (bool first : {true, false})
      for (size_t i = 0; i < all.size(); ++i)
        if (kept.fusions[i] == first) sorted.push_back(std::move(all[i]));
    all = std::move(sorted);
  };
  sort(fusions), sort(keys);
  return {size_t(llvm::count(kept.fusions, true)), std::move(kept.weights)};
}

CompileOptions without_report(CompileOptions options) {
  options.report = nullptr;
  return options;
}

llvm::Expected<std::unique_ptr<Program>> compile_main(ModuleOp module, func::FuncOp main, const CompileOptions& options) {
  auto start = std::chrono::steady_clock::now();
  auto target = select_target(options.cpu);
  if (!target) return target.takeError();
  composite::Report report;
  if (options.report) report = *options.report;
  ForeignKernels foreign;
  auto program = std::make_unique<NativeProgram>();
  auto compile_region = [&](ModuleOp region) { return compile(region, without_report(options)); };
  auto fusions = divide(module, main, *target, options, compile_region, foreign, report, program->stats_);
  if (!fusions) return fusions.takeError();
  for (Type t : main.getArgumentTypes()) program->inputs_.push_back(port_of(t));
  for (Type t : main.getResultTypes()) program->outputs_.push_back(port_of(t));
  SmallVector<int> aliased(main.getNumResults(), -1);
  for (unsigned i = 0; i < main.getNumArguments(); ++i)
    if (auto output = main.getArgAttrOfType<IntegerAttr>(i, "tf.aliasing_output")) program->outputs_[output.getInt()].aliased = aliased[output.getInt()] = int(i);
  schedule(main, *fusions, aliased);
  llvm::DenseMap<Operation*, std::vector<int64_t>> packed;
  if (!options.sizes_change) packed = mark_packed(main, *fusions, *target);
  std::vector<std::string> keys;
  auto kernels = make_kernels(*fusions, *target, options.sizes_change, keys);
  if (!kernels) return kernels.takeError();
  auto [kept, weights] = put_kept_first(main, *fusions, keys, *kernels);
  BufferPlan plan = plan_buffers(main, *fusions, aliased, kept);
  program->kept_bytes = size_t(plan.kept_bytes);
  for (Value v : plan.constants) program->constants.push_back(constant_of(cast<DenseElementsAttr>(v.getDefiningOp<ConstantOp>().getValue())));
  program->copies = plan.copies;
  llvm::SetVector<int64_t> packed_weights;
  for (auto [fusion, key] : llvm::zip(*fusions, keys))
    if (keeps_packed(fusion) && kernels->at(key)->kernel.packed_bytes) packed_weights.insert_range(packed[fusion.product]);
  program->keep_packed(packed_weights.getArrayRef());

  for (auto& [key, kernel] : *kernels) program->kernels.push_back(kernel);
  for (auto [i, fusion, key] : llvm::enumerate(*fusions, keys)) {
    if (i == kept && kept > 0) program->keep_launches(weights);
    Slots slots(fusion);
    SmallVector<Value> buffers(slots.count());
    for (Value v : fusion.outputs) buffers[slots.at(v)] = v;
    for (Value v : fusion.inputs) buffers[slots.at(v)] = v;
    if (fusion.kind == Fusion::Composite) {
      Operation* op = fusion.roles.back().first;  // after the reshapes of its operands
      ForeignCall call{std::move(foreign[op]), {}, {}, is_control_flow(op)};
      for (Value v : op->getOperands()) call.operands.push_back(size_t(slots.at(v)));
      for (Value v : op->getResults()) call.results.push_back(size_t(slots.at(v)));
      program->add_foreign(std::move(call), buffers, plan);
      program->labels.push_back(is_control_flow(op) ? "" : label_of(fusion));
    } else if (const NativeKernel& native = *(*kernels)[key]; native.kernel.tasks > 0) {
      program->add_launch(native, buffers, plan, keeps_packed(fusion));
      if (fusion.in_place) {
        Value from = updated_by(fusion.product), to = fusion.product->getResult(0);
        if (plan.places.lookup(from) != plan.places.lookup(to)) program->copy_before(size_t(slots.at(from)), size_t(slots.at(to)), value_bytes(to));
      }
      if (options.sizes_change && native.shared) program->stats_.shared_seconds += native.kernel.cost * Kernel::kSecondsPerCost;
      program->labels.push_back(label_of(fusion));
    }
  }
  program->composites_ = report.fates();
  program->stats_.kept_bytes += program->kept_bytes + program->packed_bytes();
  program->stats_.arena_bytes = size_t(plan.arena_bytes), program->stats_.temporary_bytes += size_t(plan.temporary_bytes), program->stats_.donated_bytes = size_t(plan.donated_bytes);
  program->stats_.kernels += program->count(), program->stats_.unique_kernels += int(kernels->size());
  program->stats_.compile_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return program;
}

// Calls `use` with @main. Diagnostics become part of the error instead of going to the terminal.
template <class Use>
auto with_main(ModuleOp module, Use use) -> decltype(use(func::FuncOp())) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  if (!main || main.isDeclaration()) return llvm::createStringError("the module has no function @main to compile");
  std::string messages;
  ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic& d) {
    messages += (messages.empty() ? "" : "\n") + d.str();
    return success();
  });
  auto result = use(main);
  if (!result && !messages.empty()) {
    llvm::consumeError(result.takeError());
    return llvm::createStringError(messages);
  }
  return result;
}

}  // namespace

llvm::Expected<std::unique_ptr<Program>> compile(ModuleOp module, const CompileOptions& options) {
  return with_main(module, [&](func::FuncOp main) -> llvm::Expected<std::unique_ptr<Program>> {
    auto arguments = [&](auto is_wanted) {
      std::vector<size_t> found;
      for (unsigned i = 0; i < main.getNumArguments(); ++i)
        if (is_wanted(i)) found.push_back(i);
      return found;
    };
    // Only where weights are quantised zeros are assumed.
    bool may_assume = !main->hasAttr(kAssumesNothing) && !arguments([&](unsigned i) { return isa<RankedTensorType>(main.getArgumentTypes()[i]) && is_byte(element(main.getArgument(i))); }).empty();
    if (!may_assume) main->setAttr(kAssumesNothing, UnitAttr::get(main.getContext()));
    OwningOpRef<ModuleOp> original = may_assume ? module.clone() : OwningOpRef<ModuleOp>();
    auto program = compile_main(module, main, options);
    auto zeros = arguments([&](unsigned i) { return main.getArgAttr(i, kAssumedZero) != nullptr; });
    if (!program || zeros.empty()) return program;
    std::string text;
    llvm::raw_string_ostream(text) << *original;
    return guard_zeros(std::move(*program), std::move(zeros), std::move(text), without_report(options));
  });
}

llvm::Expected<std::string> assembly(ModuleOp module, const CompileOptions& options) {
  return with_main(module, [&](func::FuncOp main) { return assembly_of_main(module, main, options); });
}

}  // namespace cresset::cpu
