// Micro-benchmarks: StableHLO modules of one kernel each, compiled and run as programs, and the part of the machine's limit that they
// reach. "Time" is the mean, the counters are those of the fastest call. The limit is the larger of the arithmetic at the peak of
// multiply-adds and the bytes, read and written once each, at the bandwidth of a copy (element-wise and rows) or of reads (products)
// of the same size; both are measured in this process.
//   bench_kernels --benchmark_filter='matmul/.*'         CRESSET_THREADS=1, CRESSET_CPU=avx2: as everywhere
#include <benchmark/benchmark.h>

#include <chrono>
#include <cmath>
#include <functional>
#include <map>

#include "cpu/compiler.h"
#include "machine.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "runtime/buffer.h"
#include "runtime/thread_pool.h"
#include "stablehlo/dialect.h"

namespace {

using cresset::Buffer;
using cresset::BufferPtr;

using Floats = std::vector<const float*>;

struct Kernel {
  std::string name, text;
  double flops = 0, bytes = 0;
  bool reads = false;  // its bytes are read, not copied
  /// What element i of the result must be.
  std::function<double(const Floats& inputs, int64_t i)> expected;
};

// `text` with $R, $C, … replaced by sizes.
std::string with_sizes(std::string text, std::initializer_list<std::pair<char, int64_t>> sizes) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$') {
      result += text[i];
      continue;
    }
    char name = text[++i];
    for (auto [n, size] : sizes)
      if (n == name) result += std::to_string(size);
  }
  return result;
}

std::string shape(std::initializer_list<int64_t> sizes) {
  std::string result;
  for (int64_t size : sizes) result += (result.empty() ? "" : "x") + std::to_string(size);
  return result;
}

double gelu_of(double x) { return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))); }

Kernel gelu(int64_t rows, int64_t columns) {
  const char* text = R"(
func.func @main(%x: tensor<$Rx$Cxf32>) -> tensor<$Rx$Cxf32> {
  %0 = stablehlo.composite "aten.gelu" %x {composite_attributes = {approximate = "tanh"}, decomposition = @gelu, version = 1 : i32} : (tensor<$Rx$Cxf32>) -> tensor<$Rx$Cxf32>
  return %0 : tensor<$Rx$Cxf32>
}
func.func private @gelu(%x: tensor<$Rx$Cxf32>) -> tensor<$Rx$Cxf32> {
  %a = stablehlo.constant dense<4.471500e-02> : tensor<$Rx$Cxf32>
  %b = stablehlo.constant dense<0.797884583> : tensor<$Rx$Cxf32>
  %half = stablehlo.constant dense<0.5> : tensor<$Rx$Cxf32>
  %one = stablehlo.constant dense<1.0> : tensor<$Rx$Cxf32>
  %0 = stablehlo.multiply %x, %x : tensor<$Rx$Cxf32>
  %1 = stablehlo.multiply %0, %x : tensor<$Rx$Cxf32>
  %2 = stablehlo.multiply %1, %a : tensor<$Rx$Cxf32>
  %3 = stablehlo.add %x, %2 : tensor<$Rx$Cxf32>
  %4 = stablehlo.multiply %3, %b : tensor<$Rx$Cxf32>
  %5 = stablehlo.tanh %4 : tensor<$Rx$Cxf32>
  %6 = stablehlo.add %5, %one : tensor<$Rx$Cxf32>
  %7 = stablehlo.multiply %x, %half : tensor<$Rx$Cxf32>
  %8 = stablehlo.multiply %7, %6 : tensor<$Rx$Cxf32>
  return %8 : tensor<$Rx$Cxf32>
})";
  return {"gelu/" + shape({rows, columns}), with_sizes(text, {{'R', rows}, {'C', columns}}), 0, 8.0 * rows * columns, false,
          [](const Floats& in, int64_t i) { return gelu_of(in[0][i]); }};
}

Kernel softmax(int64_t rows, int64_t columns) {
  const char* text = R"(
func.func @main(%x: tensor<$Rx$Cxf32>) -> tensor<$Rx$Cxf32> {
  %0 = stablehlo.composite "aten.softmax" %x {composite_attributes = {dim = 1 : i64, half_to_float = false}, decomposition = @softmax, version = 1 : i32} : (tensor<$Rx$Cxf32>) -> tensor<$Rx$Cxf32>
  return %0 : tensor<$Rx$Cxf32>
}
func.func private @softmax(%x: tensor<$Rx$Cxf32>) -> tensor<$Rx$Cxf32> {
  %lowest = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %lowest) applies stablehlo.maximum across dimensions = [1] : (tensor<$Rx$Cxf32>, tensor<f32>) -> tensor<$Rxf32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<$Rxf32>) -> tensor<$Rx$Cxf32>
  %2 = stablehlo.subtract %x, %1 : tensor<$Rx$Cxf32>
  %3 = stablehlo.exponential %2 : tensor<$Rx$Cxf32>
  %4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<$Rx$Cxf32>, tensor<f32>) -> tensor<$Rxf32>
  %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<$Rxf32>) -> tensor<$Rx$Cxf32>
  %6 = stablehlo.divide %3, %5 : tensor<$Rx$Cxf32>
  return %6 : tensor<$Rx$Cxf32>
})";
  auto expected = [columns](const Floats& in, int64_t i) {
    const float* row = in[0] + i / columns * columns;
    double sum = 0;
    for (int64_t j = 0; j < columns; ++j) sum += std::exp(double(row[j]));
    return std::exp(double(in[0][i])) / sum;
  };
  return {"softmax/" + shape({rows, columns}), with_sizes(text, {{'R', rows}, {'C', columns}}), 0, 8.0 * rows * columns, false, expected};
}

Kernel layer_norm(int64_t rows, int64_t columns) {
  const char* text = R"(
func.func @main(%x: tensor<$Rx$Cxf32>, %w: tensor<$Cxf32>, %b: tensor<$Cxf32>) -> tensor<$Rx$Cxf32> {
  %size = stablehlo.constant dense<$C.0> : tensor<$Rxf32>
  %eps = stablehlo.constant dense<1.0e-5> : tensor<$Rxf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<$Rx$Cxf32>, tensor<f32>) -> tensor<$Rxf32>
  %1 = stablehlo.divide %0, %size : tensor<$Rxf32>
  %2 = stablehlo.broadcast_in_dim %1, dims = [0] : (tensor<$Rxf32>) -> tensor<$Rx$Cxf32>
  %3 = stablehlo.subtract %x, %2 : tensor<$Rx$Cxf32>
  %4 = stablehlo.multiply %3, %3 : tensor<$Rx$Cxf32>
  %5 = stablehlo.reduce(%4 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<$Rx$Cxf32>, tensor<f32>) -> tensor<$Rxf32>
  %6 = stablehlo.divide %5, %size : tensor<$Rxf32>
  %7 = stablehlo.add %6, %eps : tensor<$Rxf32>
  %8 = stablehlo.rsqrt %7 : tensor<$Rxf32>
  %9 = stablehlo.broadcast_in_dim %8, dims = [0] : (tensor<$Rxf32>) -> tensor<$Rx$Cxf32>
  %10 = stablehlo.multiply %3, %9 : tensor<$Rx$Cxf32>
  %11 = stablehlo.broadcast_in_dim %w, dims = [1] : (tensor<$Cxf32>) -> tensor<$Rx$Cxf32>
  %12 = stablehlo.multiply %10, %11 : tensor<$Rx$Cxf32>
  %13 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<$Cxf32>) -> tensor<$Rx$Cxf32>
  %14 = stablehlo.add %12, %13 : tensor<$Rx$Cxf32>
  return %14 : tensor<$Rx$Cxf32>
})";
  auto expected = [columns](const Floats& in, int64_t i) {
    const float* row = in[0] + i / columns * columns;
    double sum = 0, squares = 0;
    for (int64_t j = 0; j < columns; ++j) sum += row[j];
    for (int64_t j = 0; j < columns; ++j) squares += (row[j] - sum / columns) * (row[j] - sum / columns);
    return (in[0][i] - sum / columns) / std::sqrt(squares / columns + 1e-5) * in[1][i % columns] + in[2][i % columns];
  };
  return {"layer_norm/" + shape({rows, columns}), with_sizes(text, {{'R', rows}, {'C', columns}}), 0, 8.0 * rows * columns, false, expected};
}

// `transposed`: B lies as N x K, as the weights of a linear layer do.
Kernel matmul(int64_t m, int64_t n, int64_t k, bool transposed) {
  const char* text = transposed ? R"(
func.func @main(%a: tensor<$Mx$Kxf32>, %b: tensor<$Nx$Kxf32>) -> tensor<$Mx$Nxf32> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1] : (tensor<$Mx$Kxf32>, tensor<$Nx$Kxf32>) -> tensor<$Mx$Nxf32>
  return %0 : tensor<$Mx$Nxf32>
})" : R"(
func.func @main(%a: tensor<$Mx$Kxf32>, %b: tensor<$Kx$Nxf32>) -> tensor<$Mx$Nxf32> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<$Mx$Kxf32>, tensor<$Kx$Nxf32>) -> tensor<$Mx$Nxf32>
  return %0 : tensor<$Mx$Nxf32>
})";
  auto expected = [=](const Floats& in, int64_t i) {
    double sum = 0;
    for (int64_t j = 0; j < k; ++j) sum += double(in[0][i / n * k + j]) * (transposed ? in[1][i % n * k + j] : in[1][j * n + i % n]);
    return sum;
  };
  return {(transposed ? "matmul_transposed/" : "matmul/") + shape({m, n, k}), with_sizes(text, {{'M', m}, {'N', n}, {'K', k}}), 2.0 * m * n * k,
          4.0 * (double(m) * k + double(k) * n + double(m) * n), true, expected};
}

// Measured once for each number of bytes.
double fma_peak() {
  static double peak = cresset::bench::fma_peak(cresset::num_threads());
  return peak;
}
double bandwidth(double bytes, bool reads) {
  static std::map<std::pair<size_t, bool>, double> known;
  size_t size = std::min<size_t>(bytes, 256 << 20);  // beyond every cache
  auto [it, fresh] = known.try_emplace({size, reads});
  if (fresh) it->second = (reads ? cresset::bench::read_bandwidth : cresset::bench::copy_bandwidth)(cresset::num_threads(), size);
  return it->second;
}

// Between -1 and 1: the same in every run.
BufferPtr random_values(size_t bytes, uint32_t seed) {
  BufferPtr buffer = Buffer::allocate(bytes);
  float* values = static_cast<float*>(buffer->data());
  for (size_t i = 0; i < bytes / sizeof(float); ++i) {
    seed = seed * 1664525u + 1013904223u;
    values[i] = float(int32_t(seed)) * 0x1p-31f;
  }
  return buffer;
}

// Whether some elements, spread over all of the result, are right: to 1e-5 of 1 + |value|, sums of products to 1e-5 of their root.
bool right(const Kernel& kernel, const Floats& inputs, const float* result, int64_t size) {
  constexpr int kSamples = 101;
  for (int sample = 0; sample < kSamples; ++sample) {
    int64_t i = size / kSamples * sample + sample % 17;
    if (i >= size) continue;
    double expected = kernel.expected(inputs, i), scale = 1 + std::fabs(expected);
    if (kernel.flops) scale += std::sqrt(kernel.flops / 2 / size);
    if (!(std::fabs(result[i] - expected) <= 1e-5 * scale)) return false;
  }
  return true;
}

void run(benchmark::State& state, const Kernel& kernel) {
  mlir::MLIRContext context;
  context.loadDialect<mlir::func::FuncDialect, mlir::stablehlo::StableHLODialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(kernel.text, &context);
  if (!module) return state.SkipWithError("the module does not parse");
  auto program = cresset::cpu::compile(*module);
  if (!program) return state.SkipWithError(llvm::toString(program.takeError()).c_str());
  std::vector<BufferPtr> buffers;
  std::vector<void*> inputs;
  Floats values;
  for (const auto& port : (*program)->inputs()) {
    buffers.push_back(random_values(port.bytes, 1 + inputs.size()));
    inputs.push_back(buffers.back()->data());
    values.push_back(static_cast<const float*>(inputs.back()));
  }
  size_t bytes = (*program)->outputs()[0].bytes;
  BufferPtr output = Buffer::allocate(bytes);
  void* outputs[] = {output->data()};
  (*program)->run(inputs.data(), outputs);
  if (!right(kernel, values, static_cast<const float*>(outputs[0]), bytes / sizeof(float))) return state.SkipWithError("wrong result");
  double limit = std::max(kernel.flops / fma_peak(), kernel.bytes / bandwidth(kernel.bytes, kernel.reads)) * 1e-9;

  double best = 1e30;
  for (auto _ : state) {
    auto start = std::chrono::steady_clock::now();
    (*program)->run(inputs.data(), outputs);
    double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    state.SetIterationTime(seconds);
    best = std::min(best, seconds);
  }
  state.counters["best_us"] = best * 1e6;
  if (kernel.flops) state.counters["GFLOP/s"] = kernel.flops / best * 1e-9;
  state.counters["GB/s"] = kernel.bytes / best * 1e-9;
  state.counters["percent"] = limit / best * 100;
}

std::vector<Kernel> kernels() {
  std::vector<Kernel> all;
  for (auto [rows, columns] : {std::pair{64, 768}, {512, 3072}, {4096, 3072}}) all.push_back(gelu(rows, columns));
  for (auto [rows, columns] : {std::pair{512, 1024}, {4096, 1024}, {512, 50257}}) all.push_back(softmax(rows, columns));
  for (auto [rows, columns] : {std::pair{512, 768}, {4096, 768}, {512, 4096}}) all.push_back(layer_norm(rows, columns));
  all.push_back(matmul(1024, 1024, 1024, false));
  for (bool transposed : {false, true}) {
    for (int m : {128, 512, 2048})
      for (int n : {768, 3072, 50257})
        for (int k : {768, 3072}) all.push_back(matmul(m, n, k, transposed));
    for (int m : {1, 2, 4, 8, 16, 32, 64})
      for (auto [n, k] : {std::pair{768, 768}, {3072, 768}, {768, 3072}, {50257, 768}}) all.push_back(matmul(m, n, k, transposed));
    for (int m : {32, 128, 512})  // small models
      for (auto [n, k] : {std::pair{256, 256}, {1024, 256}, {256, 1024}, {384, 384}, {1536, 384}, {384, 1536}, {512, 784}}) all.push_back(matmul(m, n, k, transposed));
    for (int m : {50, 197, 257})  // patches of an image
      for (auto [n, k] : {std::pair{768, 768}, {3072, 768}, {768, 3072}}) all.push_back(matmul(m, n, k, transposed));
  }
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  for (const Kernel& kernel : kernels())
    benchmark::RegisterBenchmark(kernel.name.c_str(), [kernel](benchmark::State& state) { run(state, kernel); })
        ->UseManualTime()->Unit(benchmark::kMicrosecond);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::AddCustomContext("threads", std::to_string(cresset::num_threads()));
  benchmark::AddCustomContext("peak of multiply-adds, GFLOP/s", std::to_string(fma_peak()));
  benchmark::RunSpecifiedBenchmarks();
}
