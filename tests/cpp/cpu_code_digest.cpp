// What digests of code tell apart, and what they don't.
#include <gtest/gtest.h>

#include "cpu/jit/code_digest.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Support/SourceMgr.h"

namespace cresset::cpu {
namespace {

std::string digest(llvm::StringRef text, bool leaves_integers = false) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  auto module = llvm::parseAssemblyString(text, error, context);
  EXPECT_TRUE(module) << error.getMessage().str() << " in " << text.str();
  if (!module) return "";
  return digest_of_code(*module, [&](const llvm::Use& use) { return leaves_integers && llvm::isa<llvm::ConstantInt>(use.get()); });
}

constexpr const char* kCode = R"(
@table = private constant [2 x i32] [i32 3, i32 5], align 64
declare float @powf(float, float)
declare void @llvm.masked.store.v4f32.p0(<4 x float>, ptr, <4 x i1>)
define internal i32 @inner(i32 %x) {
  %y = add nsw i32 %x, 1
  ret i32 %y
}
define void @kernel(ptr %p, i64 %n) #0 {
entry:
  %room = alloca [4 x float], align 16
  %a = load float, ptr %p, align 4
  %b = getelementptr inbounds float, ptr %p, i64 %n
  %c = call float @powf(float %a, float 2.5)
  %d = fadd contract float %c, %a
  store float %d, ptr %b, align 4
  %v = load <4 x float>, ptr %p, align 16, !invariant.load !0
  %w = shufflevector <4 x float> %v, <4 x float> poison, <4 x i32> <i32 1, i32 0, i32 3, i32 2>
  call void @llvm.masked.store.v4f32.p0(<4 x float> %w, ptr align 8 %p, <4 x i1> <i1 1, i1 1, i1 0, i1 0>)
  %e = load i32, ptr @table, align 4
  %f = call i32 @inner(i32 %e)
  %less = icmp ult i64 %n, 9
  br i1 %less, label %one, label %two, !prof !1
one:
  br label %two
two:
  %g = phi i32 [ %f, %entry ], [ 4, %one ]
  %h = insertvalue { i32, i32 } zeroinitializer, i32 %g, 1
  %i = extractvalue { i32, i32 } %h, 0
  store i32 %i, ptr %room, align 4
  switch i64 %n, label %end [ i64 1, label %end ]
end:
  ret void
}
attributes #0 = { nounwind "target-cpu"="znver5" }
!0 = !{}
!1 = !{!"branch_weights", i32 1, i32 2000}
)";

std::string with(llvm::StringRef from, llvm::StringRef to) {
  std::string text = kCode;
  EXPECT_NE(text.find(from), std::string::npos) << from.str();
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) text.replace(at, from.size(), to);
  return text;
}

TEST(CodeDigest, IsOfAllThatCodeIsMadeOf) {
  const std::pair<const char*, const char*> changes[] = {
      {"[i32 3, i32 5]", "[i32 3, i32 6]"},
      {"5], align 64", "5], align 32"},
      {"@powf", "@fmodf"},
      {"add nsw i32 %x", "add i32 %x"},
      {"add nsw i32 %x, 1", "add nsw i32 %x, 2"},
      {"[4 x float], align 16", "[4 x float], align 32"},
      {"alloca [4 x float]", "alloca [8 x float]"},
      {"load float, ptr %p, align 4", "load float, ptr %p, align 2"},
      {"load float, ptr %p, align 4", "load volatile float, ptr %p, align 4"},
      {"getelementptr inbounds float", "getelementptr float"},
      {"getelementptr inbounds float", "getelementptr inbounds double"},
      {"float 2.5", "float 3.5"},
      {"fadd contract", "fadd reassoc"},
      {"fadd contract float %c, %a", "fadd contract float %a, %c"},
      {"store float %d, ptr %b, align 4", "store float %d, ptr %b, align 1"},
      {"align 16, !invariant.load !0", "align 16"},
      {"align 16, !invariant.load !0", "align 16, !nontemporal !2"},
      {"<i32 1, i32 0, i32 3, i32 2>", "<i32 1, i32 0, i32 3, i32 1>"},
      {"ptr align 8 %p", "ptr align 4 %p"},
      {"<i1 1, i1 1, i1 0, i1 0>", "<i1 1, i1 1, i1 1, i1 0>"},
      {"%f = call i32", "%f = tail call i32"},
      {"icmp ult", "icmp ule"},
      {"label %two, !prof !1", "label %two"},
      {"i32 2000", "i32 20"},
      {"label %one, label %two,", "label %two, label %one,"},
      {"[ %f, %entry ], [ 4, %one ]", "[ 4, %entry ], [ %f, %one ]"},
      {"%g, 1", "%g, 0"},
      {"%h, 0", "%h, 1"},
      {"[ i64 1, label %end ]", "[ i64 2, label %end ]"},
      {"znver5", "znver4"},
      {"define void @kernel(ptr %p, i64 %n)", "define void @kernel(ptr noalias %p, i64 %n)"},
  };
  std::string extended = std::string(kCode) + "!2 = !{i32 1}\n", original = digest(extended);
  for (auto [from, to] : changes) EXPECT_NE(digest(with(from, to) + "!2 = !{i32 1}\n"), original) << from << " -> " << to;
}

TEST(CodeDigest, IsNotOfNames) {
  EXPECT_EQ(digest(with("@kernel", "@other")), digest(kCode));
  EXPECT_EQ(digest(with("%less", "%small")), digest(kCode));
}

TEST(CodeDigest, LeavesOutWhatIsAskedFor) {
  EXPECT_EQ(digest(with("ult i64 %n, 9", "ult i64 %n, 12"), true), digest(kCode, true));
  EXPECT_NE(digest(with("ult i64 %n, 9", "ult i64 %n, 12")), digest(kCode));
  EXPECT_NE(digest(with("ult i64 %n, 9", "ult i64 %n, %n"), true), digest(kCode, true));
}

}  // namespace
}  // namespace cresset::cpu
