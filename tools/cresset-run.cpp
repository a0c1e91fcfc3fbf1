// cresset-run: compiles @main of a StableHLO module and runs it on random inputs; prints the results' first elements.
#include <chrono>
#include <cstring>
#include <random>

#include "cpu/compiler.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/InitLLVM.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "stablehlo/dialect.h"

namespace {

llvm::cl::opt<std::string> path(llvm::cl::Positional, llvm::cl::desc("FILE.mlir"), llvm::cl::init("-"));
llvm::cl::opt<unsigned> seed("seed", llvm::cl::desc("of the inputs"), llvm::cl::init(0));
llvm::cl::opt<int> repeat("repeat", llvm::cl::desc("runs; with more than one the fastest time is printed"), llvm::cl::init(1));
llvm::cl::opt<std::string> cpu("cpu", llvm::cl::desc("avx512, avx2 or baseline"));
llvm::cl::opt<int> elements("elements", llvm::cl::desc("printed of each result"), llvm::cl::init(8));

int64_t count(const cresset::Port& port) {
  int64_t n = 1;
  for (int64_t d : port.shape) n *= d;
  return n;
}

// Normal floats, small integers, random bools.
std::vector<char> random_input(const cresset::Port& port, std::mt19937& generator) {
  std::vector<char> bytes(std::max<size_t>(port.bytes, 1));
  std::normal_distribution<double> normal;
  for (int64_t i = 0, n = count(port); i < n; ++i) {
    double v = normal(generator);
    auto put = [&](auto x) { std::memcpy(bytes.data() + i * sizeof x, &x, sizeof x); };
    if (port.type == "f32") put(float(v));
    else if (port.type == "f64") put(v);
    else if (port.type == "bf16") { float f = float(v); uint32_t bits; std::memcpy(&bits, &f, 4); put(uint16_t(bits >> 16)); }
    else if (port.type == "i64" || port.type == "ui64") put(int64_t(generator() % 4));
    else if (port.type == "i32" || port.type == "ui32") put(int32_t(generator() % 4));
    else if (port.type == "i1") put(char(generator() % 2));
    else put(char(0));
  }
  return bytes;
}

void print(const cresset::Port& port, const char* data) {
  llvm::outs() << "tensor<";
  for (int64_t d : port.shape) llvm::outs() << d << 'x';
  llvm::outs() << port.type << ">:";
  int64_t n = count(port), shown = std::min<int64_t>(n, elements);
  for (int64_t i = 0; i < shown; ++i) {
    auto get = [&]<class T>(T x) { std::memcpy(&x, data + i * sizeof x, sizeof x); return x; };
    if (port.type == "f32") llvm::outs() << ' ' << llvm::format("%.6g", double(get(float())));
    else if (port.type == "f64") llvm::outs() << ' ' << llvm::format("%.6g", get(double()));
    else if (port.type == "i64") llvm::outs() << ' ' << get(int64_t());
    else if (port.type == "i32") llvm::outs() << ' ' << get(int32_t());
    else llvm::outs() << ' ' << int(get(char()));
  }
  llvm::outs() << (shown < n ? " …\n" : "\n");
}

}  // namespace

int main(int argc, char** argv) {
  llvm::InitLLVM init(argc, argv);
  llvm::cl::ParseCommandLineOptions(argc, argv, "Runs a StableHLO module on the CPU\n");
  mlir::MLIRContext context;
  context.loadDialect<mlir::func::FuncDialect, mlir::stablehlo::StableHLODialect>();
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(path, &context);
  if (!module) return 1;
  auto program = cresset::cpu::compile(*module, {cpu});
  if (!program) {
    llvm::errs() << "error: " << llvm::toString(program.takeError()) << "\n";
    return 1;
  }
  std::mt19937 generator(seed);
  std::vector<std::vector<char>> inputs, outputs;
  std::vector<void*> in, out;
  for (const auto& port : (*program)->inputs()) inputs.push_back(random_input(port, generator));
  for (const auto& port : (*program)->outputs()) outputs.emplace_back(std::max<size_t>(port.bytes, 1));
  for (auto& v : inputs) in.push_back(v.data());
  for (auto& v : outputs) out.push_back(v.data());
  double best = 1e30;
  for (int i = 0; i < repeat; ++i) {
    auto start = std::chrono::steady_clock::now();
    (*program)->run(in.data(), out.data());
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  for (size_t i = 0; i < outputs.size(); ++i) print((*program)->outputs()[i], outputs[i].data());
  if (repeat > 1) llvm::outs() << llvm::format("%.3f ms\n", best * 1e3);
}
