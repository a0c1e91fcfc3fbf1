// cresset-run: runs @main of a StableHLO module on random inputs, compiled, interpreted or both ways to compare them; prints the
// results' first elements.
#include <chrono>
#include <cmath>
#include <random>

#include "cpu/compiler.h"
#include "interpreter/interpreter.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/InitLLVM.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "runtime/buffer.h"
#include "stablehlo/chlo.h"
#include "stablehlo/chlo_legalize.h"

namespace {

using cresset::interpreter::Number;
using cresset::interpreter::Tensor;
using cresset::interpreter::Tensors;

llvm::cl::OptionCategory ours("Options");  // beside which LLVM has a thousand
llvm::cl::opt<std::string> path(llvm::cl::Positional, llvm::cl::cat(ours), llvm::cl::desc("FILE.mlir"), llvm::cl::init("-"));
llvm::cl::opt<unsigned> seed("seed", llvm::cl::cat(ours), llvm::cl::desc("of the inputs"), llvm::cl::init(0));
llvm::cl::opt<int> repeat("repeat", llvm::cl::cat(ours), llvm::cl::desc("runs; with more than one the fastest time is printed"), llvm::cl::init(1));
llvm::cl::opt<std::string> cpu("cpu", llvm::cl::cat(ours), llvm::cl::desc("amx, avx512, avx2 or baseline"));
llvm::cl::opt<bool> excess_precision("excess-precision", llvm::cl::cat(ours), llvm::cl::desc("does not round to bf16 between operations of a kernel, as under PyTorch"));
llvm::cl::opt<bool> assembly("assembly", llvm::cl::cat(ours), llvm::cl::desc("print the kernels' instructions in place of running; --cpu may name what this machine lacks"));
llvm::cl::opt<int> elements("elements", llvm::cl::cat(ours), llvm::cl::desc("printed of each result; -1 for all"), llvm::cl::init(8));
llvm::cl::opt<bool> interpret("interpret", llvm::cl::cat(ours), llvm::cl::desc("with the reference interpreter instead of the compiler"));
llvm::cl::opt<bool> compare("compare", llvm::cl::cat(ours), llvm::cl::desc("compiled with interpreted results: the largest error of each; exit code 1 beyond the tolerance"));
llvm::cl::opt<double> tolerance("tolerance", llvm::cl::cat(ours), llvm::cl::desc("of --compare, relative to 1 + |expected|; by default by the element type"), llvm::cl::init(-1));
llvm::cl::opt<std::string> function("function", llvm::cl::cat(ours), llvm::cl::desc("that --interpret runs"), llvm::cl::init("main"));

// Normal floats, small integers, random bools.
Tensor random_input(mlir::RankedTensorType type, std::mt19937& generator) {
  Tensor result(type);
  std::normal_distribution<double> normal;
  for (Number& v : result.values) {
    double draw = normal(generator);
    bool floats = cresset::interpreter::is_float(type.getElementType());
    if (cresset::interpreter::is_complex(type.getElementType())) v = {draw, normal(generator)};
    else v = floats ? Number{draw} : Number{0, 0, int64_t(generator() % (type.getElementType().isInteger(1) ? 2 : 4))};
    v = cresset::interpreter::canonical(v, type.getElementType());
  }
  return result;
}

void print(const Tensor& tensor) {
  llvm::outs() << tensor.type << ":";
  size_t n = tensor.values.size(), shown = elements < 0 ? n : std::min<size_t>(n, elements);
  for (const Number& v : llvm::ArrayRef(tensor.values).take_front(shown)) {
    if (cresset::interpreter::is_complex(tensor.element())) llvm::outs() << llvm::format(" (%.6g,%.6g)", v.re, v.im);
    else if (cresset::interpreter::is_float(tensor.element())) llvm::outs() << llvm::format(" %.6g", v.re);
    else if (cresset::interpreter::is_unsigned(tensor.element())) llvm::outs() << ' ' << uint64_t(v.i);
    else llvm::outs() << ' ' << v.i;
  }
  llvm::outs() << (shown < n ? " …\n" : "\n");
}

double error(double actual, double expected) {
  if (actual == expected || (std::isnan(actual) && std::isnan(expected))) return 0;
  double e = std::fabs(actual - expected) / (1 + std::fabs(expected));
  return std::isnan(e) ? INFINITY : e;
}
// Prints the largest error; whether it is within the tolerance.
bool same(const Tensor& actual, const Tensor& expected) {
  mlir::Type type = expected.element();
  bool floats = cresset::interpreter::is_float(type) || cresset::interpreter::is_complex(type);
  unsigned width = cresset::interpreter::width_of(type) / (cresset::interpreter::is_complex(type) ? 2 : 1);
  double largest = 0, allowed = tolerance >= 0 ? tolerance : !floats ? 0 : width == 64 ? 1e-12 : width == 32 ? 1e-5 : width == 16 ? 1e-2 : 0.2;
  for (auto [a, e] : llvm::zip_equal(actual.values, expected.values))
    largest = std::max(largest, floats ? std::max(error(a.re, e.re), error(a.im, e.im)) : a.i == e.i ? 0 : INFINITY);
  llvm::outs() << expected.type << ": largest error " << llvm::format("%.3g", largest) << (largest <= allowed ? "\n" : ", too large\n");
  return largest <= allowed;
}

template <class T>
T or_exit(llvm::Expected<T> value) {
  if (value) return std::move(*value);
  llvm::errs() << "error: " << llvm::toString(value.takeError()) << "\n";
  exit(1);
}

llvm::Expected<mlir::func::FuncOp> entry(mlir::ModuleOp module) {
  auto main = module.lookupSymbol<mlir::func::FuncOp>(function);
  if (!main) return llvm::createStringError("the module has no function @" + function);
  for (mlir::Type type : llvm::concat<const mlir::Type>(main.getArgumentTypes(), main.getResultTypes())) {
    auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
    if (!tensor || !tensor.hasStaticShape() || !mlir::stablehlo::is_countable(tensor))
      return llvm::createStringError("@" + function + " must take and return tensors of static shapes, of at most 64 bits an element and 2^58 elements");
  }
  return main;
}

Tensors run_compiled(mlir::ModuleOp module, llvm::ArrayRef<Tensor> inputs, llvm::ArrayRef<mlir::Type> types) {
  auto program = or_exit(cresset::cpu::compile(module, {.cpu = cpu, .excess_precision = excess_precision}));
  std::vector<cresset::BufferPtr> buffers;  // as a tensor's: kernels are slower where vectors cross lines of the cache
  std::vector<void*> in, out;
  auto allocate = [&](size_t bytes) { return buffers.emplace_back(cresset::Buffer::allocate(bytes))->data(); };
  for (const Tensor& v : inputs) {
    std::vector<char> bytes = cresset::interpreter::to_memory(v);
    llvm::copy(bytes, static_cast<char*>(in.emplace_back(allocate(bytes.size()))));
  }
  // A result is written over the input that is donated to it, as on the device.
  for (const auto& port : program->outputs()) out.push_back(port.aliased < 0 ? allocate(port.bytes) : in[port.aliased]);
  double best = 1e30;
  for (int i = 0; i < repeat; ++i) {
    auto start = std::chrono::steady_clock::now();
    program->run(in.data(), out.data());
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  Tensors outputs;
  for (auto [type, bytes] : llvm::zip_equal(types, out)) outputs.push_back(cresset::interpreter::from_memory(llvm::cast<mlir::RankedTensorType>(type), static_cast<const char*>(bytes)));
  if (repeat > 1) llvm::outs() << llvm::format("%.3f ms\n", best * 1e3);
  return outputs;
}

}  // namespace

int main(int argc, char** argv) {
  llvm::InitLLVM init(argc, argv);
  llvm::cl::HideUnrelatedOptions(ours);
  llvm::cl::ParseCommandLineOptions(argc, argv, "Runs a StableHLO module on the CPU, on CRESSET_THREADS threads or on all cores\n");
  mlir::MLIRContext context;
  context.loadDialect<mlir::func::FuncDialect, mlir::stablehlo::StableHLODialect, mlir::chlo::CHLODialect>();
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(path, &context);
  if (!module) return 1;
  mlir::chlo::legalize(*module);
  auto main = or_exit(entry(*module));
  if (assembly) {
    llvm::outs() << or_exit(cresset::cpu::assembly(*module, {.cpu = cpu, .excess_precision = excess_precision}));
    return 0;
  }
  std::mt19937 generator(seed);
  Tensors inputs;
  for (mlir::Type type : main.getArgumentTypes()) inputs.push_back(random_input(llvm::cast<mlir::RankedTensorType>(type), generator));
  llvm::SmallVector<mlir::Type> types(main.getResultTypes());

  Tensors interpreted, compiled;
  if (interpret || compare) interpreted = or_exit(cresset::interpreter::interpret(main, inputs));
  if (!interpret || compare) compiled = run_compiled(*module, inputs, types);
  bool good = true;
  if (compare)
    for (auto [a, e] : llvm::zip_equal(compiled, interpreted)) good &= same(a, e);
  else
    for (const Tensor& t : interpret ? interpreted : compiled) print(t);
  return good ? 0 : 1;
}
