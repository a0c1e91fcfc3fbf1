// What is sampled is computed once, and anew only where it depends on what varies.
#include "composite/sampler.h"

#include <gtest/gtest.h>

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "stablehlo/dialect.h"

namespace cresset::composite {
namespace {

TEST(Sampler, ForgetsOnlyWhatDependsOnTheValueThatVaries) {
  mlir::MLIRContext context;
  context.loadDialect<mlir::func::FuncDialect, mlir::stablehlo::StableHLODialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(R"(
    func.func @main(%a: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<8xf32> {
      %0 = stablehlo.multiply %a, %a : tensor<8xf32>
      %1 = stablehlo.add %0, %b : tensor<8xf32>
      %2 = stablehlo.add %1, %1 : tensor<8xf32>
      return %2 : tensor<8xf32>
    })", &context);
  ASSERT_TRUE(module);
  auto main = *module->getOps<mlir::func::FuncOp>().begin();
  mlir::Value result = main.front().getTerminator()->getOperand(0);

  Sampler sampler(1);
  int reads = 0;
  double varying = 1;
  sampler.set(main.getArgument(0), [&](int64_t i) { return ++reads, double(i); });
  sampler.vary(main.getArgument(1), [&](int64_t) { return varying; });
  EXPECT_EQ(sampler.get(result, 3), 20);
  int once = reads;
  varying = 2;
  sampler.forget();
  EXPECT_EQ(sampler.get(result, 3), 22);
  EXPECT_EQ(reads, once);
}

}  // namespace
}  // namespace cresset::composite
