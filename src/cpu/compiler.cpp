#include "cpu/compiler.h"

#include <sys/mman.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <unordered_map>

#include "composite/decompose.h"
#include "cpu/jit.h"
#include "cpu/kernels.h"
#include "cpu/plan.h"
#include "cpu/simplify.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "runtime/buffer.h"
#include "runtime/thread_pool.h"

namespace cresset::cpu {

using namespace mlir;
using namespace mlir::stablehlo;
namespace {

constexpr double kParallelCost = 40000;  // below about 10 us of work a second thread does not pay

struct Launch {
  const Kernel* kernel;
  SmallVector<Value> buffers;
};

using Driver = void (*)(void* const* inputs, void* const* outputs, void* const* constants, void* arena, void* scratch);

class NativeProgram final : public Program {
 public:
  void run(void* const* inputs, void* const* outputs) override {
    driver(inputs, outputs, constant_pointers.data(), arena ? arena->data() : nullptr, thread_scratch(scratch_bytes));
    for (const Copy& copy : copies) {
      const void* from = copy.from.kind == Place::Input      ? inputs[copy.from.index]
                         : copy.from.kind == Place::Output   ? outputs[copy.from.index]
                         : copy.from.kind == Place::Constant ? constant_pointers[copy.from.index]
                                                             : static_cast<char*>(arena->data()) + copy.from.index;
      std::memmove(outputs[copy.output], from, copy.bytes);
    }
  }
  using Program::inputs_;
  using Program::outputs_;
  using Program::stats_;
  std::unique_ptr<Jit> jit;
  Driver driver = nullptr;
  BufferPtr arena;
  std::vector<Copy> copies;
  std::vector<std::vector<char>> constants;
  std::vector<void*> constant_pointers;
  size_t scratch_bytes = 64;
};

// What a kernel computes, with its buffers numbered: equal text, equal code. Twelve equal layers compile their kernels once.
std::string content_of(const Fusion& fusion, const Slots& slots) {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << fusion.kind << '[';
  llvm::interleave(fusion.shape, out, ",");
  out << ']';
  DenseMap<Value, int> numbers;
  auto name = [&](Value v) {
    if (numbers.count(v)) out << '%' << numbers[v];
    else if (slots.has(v)) out << 'b' << slots.at(v) << ':' << v.getType();
    else if (auto constant = v.getDefiningOp<ConstantOp>()) out << constant.getValue();
    else out << '?';
    out << ' ';
  };
  std::function<void(Operation*)> describe = [&](Operation* op) {
    out << op->getName() << op->getAttrDictionary() << op->getResultTypes() << '(';
    for (Value v : op->getOperands()) name(v);
    out << ')';
    for (Region& region : op->getRegions())
      for (Block& block : region) {
        for (Value v : block.getArguments()) numbers[v] = numbers.size(), out << v.getType();
        for (Operation& inner : block) describe(&inner);
      }
    for (Value v : op->getResults()) {
      if (slots.has(v)) out << "->b" << slots.at(v);
      numbers[v] = numbers.size();
    }
  };
  for (auto& [op, role] : fusion.roles) {
    out << role;
    describe(op);
  }
  return text;
}

llvm::Error emit(KernelContext& c) {
  switch (c.fusion.kind) {
    case Fusion::Rows: return emit_rows(c);
    case Fusion::Reduce: return emit_reduce(c);
    case Fusion::Concatenate: return emit_concatenate(c);
    case Fusion::Dot: return emit_dot(c);
    case Fusion::Convolution: return emit_convolution(c);
    case Fusion::Window: return emit_window(c);
    case Fusion::SelectAndScatter: return emit_select_and_scatter(c);
    case Fusion::Scatter: return emit_scatter(c);
    case Fusion::Sort: return emit_sort(c);
  }
  return llvm::Error::success();
}

llvm::orc::ThreadSafeModule make_module(const std::string& name, llvm::function_ref<void(llvm::Module&)> fill) {
  auto context = std::make_unique<llvm::LLVMContext>();
  auto module = std::make_unique<llvm::Module>(name, *context);
  module->setTargetTriple(llvm::Triple("x86_64-unknown-linux-gnu"));
  fill(*module);
  return {std::move(module), std::move(context)};
}

// The one function of the program: the kernels in order, each with its buffers.
void emit_driver(llvm::Module& module, const std::vector<Launch>& launches, const BufferPlan& plan) {
  llvm::IRBuilder<> b(module.getContext());
  auto* pointer = b.getPtrTy();
  auto* function = llvm::Function::Create(llvm::FunctionType::get(b.getVoidTy(), {pointer, pointer, pointer, pointer, pointer}, false),
                                          llvm::Function::ExternalLinkage, "run", module);
  b.SetInsertPoint(llvm::BasicBlock::Create(b.getContext(), "entry", function));
  auto* kernel_type = llvm::FunctionType::get(b.getVoidTy(), {pointer, b.getInt64Ty(), b.getInt64Ty(), pointer}, false);
  auto parallel = module.getOrInsertFunction("cresset_parallel_for",
      llvm::FunctionType::get(b.getVoidTy(), {pointer, pointer, b.getInt64Ty(), b.getInt64Ty(), b.getInt64Ty()}, false));
  size_t most = 1;
  for (const Launch& launch : launches) most = std::max(most, launch.buffers.size());
  IR array = b.CreateAlloca(pointer, b.getInt64(most));
  auto address = [&](Value v) -> IR {
    Place place = plan.places.lookup(v);
    if (place.kind == Place::Arena) return b.CreateConstGEP1_64(b.getInt8Ty(), function->getArg(3), place.index);
    int table = place.kind == Place::Input ? 0 : place.kind == Place::Output ? 1 : 2;
    return b.CreateLoad(pointer, b.CreateConstGEP1_64(pointer, function->getArg(table), place.index));
  };
  for (const Launch& launch : launches) {
    const Kernel& kernel = *launch.kernel;
    for (auto [i, v] : llvm::enumerate(launch.buffers)) b.CreateStore(address(v), b.CreateConstGEP1_64(pointer, array, i));
    auto callee = module.getOrInsertFunction(kernel.name, kernel_type);
    if (kernel.cost < kParallelCost || kernel.tasks < 2) {
      b.CreateCall(callee, {array, b.getInt64(0), b.getInt64(kernel.tasks), function->getArg(4)});
    } else {
      int64_t grain = std::max<int64_t>(1, std::min<int64_t>(kernel.tasks / 16, kernel.tasks * (kParallelCost / 4) / kernel.cost + kernel.tasks / 64));
      b.CreateCall(parallel, {callee.getCallee(), array, b.getInt64(kernel.tasks), b.getInt64(grain), b.getInt64(kernel.scratch_bytes)});
    }
  }
  b.CreateRetVoid();
}

// Values that are returned as they came, or twice, need a kernel that writes them.
void copy_returned_values(func::FuncOp main) {
  Operation* end = main.getBody().front().getTerminator();
  OpBuilder b(end);
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

Port port_of(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  Port port;
  llvm::raw_string_ostream(port.type) << tensor.getElementType();
  port.shape.assign(tensor.getShape().begin(), tensor.getShape().end());
  port.bytes = tensor.getNumElements() * element_bytes(tensor.getElementType());
  return port;
}

llvm::Expected<std::unique_ptr<Program>> compile_main(ModuleOp module, func::FuncOp main, const CompileOptions& options) {
  auto start = std::chrono::steady_clock::now();
  auto target = select_target(options.cpu);
  if (!target) return target.takeError();
  auto broken = [&] { return llvm::createStringError("the module can't be compiled"); };

  if (failed(composite::decompose(module, [](CompositeOp) { return true; })) || failed(simplify(module))) return broken();
  auto program = std::make_unique<NativeProgram>();
  for (Type t : main.getArgumentTypes()) program->inputs_.push_back(port_of(t));
  for (Type t : main.getResultTypes()) program->outputs_.push_back(port_of(t));
  SmallVector<int> aliased(main.getNumResults(), -1);
  for (unsigned i = 0; i < main.getNumArguments(); ++i)
    if (auto output = main.getArgAttrOfType<IntegerAttr>(i, "tf.aliasing_output")) program->outputs_[output.getInt()].aliased = aliased[output.getInt()] = int(i);
  copy_returned_values(main);

  auto fusions = fuse(main);
  if (failed(fusions)) return broken();
  BufferPlan plan = plan_buffers(main, *fusions, aliased);

  // Unique kernels, spread over as many modules as threads compile them.
  size_t parts = std::max(1, num_threads());
  std::vector<std::unique_ptr<llvm::LLVMContext>> contexts;
  std::vector<std::unique_ptr<llvm::Module>> parts_of_code;
  for (size_t i = 0; i < parts; ++i) {
    contexts.push_back(std::make_unique<llvm::LLVMContext>());
    parts_of_code.push_back(std::make_unique<llvm::Module>("kernels" + std::to_string(i), *contexts.back()));
    parts_of_code.back()->setTargetTriple(llvm::Triple("x86_64-unknown-linux-gnu"));
  }
  std::unordered_map<std::string, std::unique_ptr<Kernel>> kernels;
  std::vector<Launch> launches;
  for (const Fusion& fusion : *fusions) {
    Slots slots(fusion);
    auto& kernel = kernels[content_of(fusion, slots)];
    if (!kernel) {
      kernel = std::make_unique<Kernel>();
      kernel->name = "kernel" + std::to_string(kernels.size());
      KernelEmitter k(*parts_of_code[kernels.size() % parts], *target, kernel->name, slots.count());
      KernelContext context{k, fusion, slots, *kernel};
      if (auto error = emit(context)) return error;
      k.finish();
      program->scratch_bytes = std::max(program->scratch_bytes, kernel->scratch_bytes);
    }
    Launch launch{kernel.get(), {}};
    launch.buffers.resize(slots.count());
    for (Value v : fusion.outputs) launch.buffers[slots.at(v)] = v;
    for (Value v : fusion.inputs) launch.buffers[slots.at(v)] = v;
    if (kernel->tasks > 0) launches.push_back(std::move(launch));
  }
  std::vector<llvm::orc::ThreadSafeModule> modules;
  for (size_t i = 0; i < parts; ++i) modules.emplace_back(std::move(parts_of_code[i]), std::move(contexts[i]));
  modules.push_back(make_module("driver", [&](llvm::Module& m) { emit_driver(m, launches, plan); }));

  auto jit = compile_modules(std::move(modules), *target, "program");
  if (!jit) return jit.takeError();
  program->jit = std::move(*jit);
  auto run = program->jit->lookup("run");
  if (!run) return run.takeError();
  program->driver = reinterpret_cast<Driver>(*run);
  for (Value v : plan.constants) program->constants.push_back(bytes_of(cast<DenseElementsAttr>(v.getDefiningOp<ConstantOp>().getValue())));
  for (auto& c : program->constants) program->constant_pointers.push_back(c.data());
  program->copies = plan.copies;
  if (plan.arena_bytes) program->arena = Buffer::allocate(plan.arena_bytes);
  program->stats_ = {size_t(plan.arena_bytes), size_t(plan.temporary_bytes), int(launches.size()), int(kernels.size()),
                     std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()};
  return program;
}

}  // namespace

llvm::Expected<std::unique_ptr<Program>> compile(ModuleOp module, const CompileOptions& options) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  if (!main || main.isDeclaration()) return llvm::createStringError("the module has no function @main to compile");
  // Diagnostics become part of the error instead of going to the terminal.
  std::string messages;
  ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic& d) {
    messages += (messages.empty() ? "" : "\n") + d.str();
    return success();
  });
  auto program = compile_main(module, main, options);
  if (!program && !messages.empty()) {
    llvm::consumeError(program.takeError());
    return llvm::createStringError(messages);
  }
  return program;
}

}  // namespace cresset::cpu
