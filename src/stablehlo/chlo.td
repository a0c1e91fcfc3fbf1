// The operations of CHLO that JAX leaves in the text it prints. Names and spellings are CHLO's; chlo_legalize.h makes StableHLO of them.
include "base.td"

def CHLO_Dialect : Dialect {
  let name = "chlo";
  let cppNamespace = "::mlir::chlo";
  let summary = "Client operations above StableHLO";
}

class CHLO_Unary<string mnemonic> : Op<CHLO_Dialect, mnemonic, [Pure, SameOperandsAndResultType]> {
  let arguments = (ins StableHLO_Tensor:$operand);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
}
def AcosOp : CHLO_Unary<"acos">;
def AcoshOp : CHLO_Unary<"acosh">;
def AsinOp : CHLO_Unary<"asin">;
def AsinhOp : CHLO_Unary<"asinh">;
def AtanOp : CHLO_Unary<"atan">;
def AtanhOp : CHLO_Unary<"atanh">;
def CoshOp : CHLO_Unary<"cosh">;
def DigammaOp : CHLO_Unary<"digamma">;
def ErfOp : CHLO_Unary<"erf">;
def ErfInvOp : CHLO_Unary<"erf_inv">;
def ErfcOp : CHLO_Unary<"erfc">;
def LgammaOp : CHLO_Unary<"lgamma">;
def SinhOp : CHLO_Unary<"sinh">;
def SquareOp : CHLO_Unary<"square">;
def TanOp : CHLO_Unary<"tan">;

def NextAfterOp : Op<CHLO_Dialect, "next_after", [Pure, SameOperandsAndResultType]> {
  let arguments = (ins StableHLO_TensorOf<[AnyFloat]>:$x, StableHLO_TensorOf<[AnyFloat]>:$y);
  let results = (outs StableHLO_TensorOf<[AnyFloat]>:$result);
  let assemblyFormat = "$x `,` $y attr-dict `:` type($x) `,` type($y) `->` type($result)";
}
def TopKOp : Op<CHLO_Dialect, "top_k", [Pure]> {
  let arguments = (ins StableHLO_Tensor:$operand, I64Attr:$k);
  let results = (outs StableHLO_Tensor:$values, StableHLO_IntTensor:$indices);
  let hasVerifier = 1;
  let assemblyFormat = "`(` $operand `,` `k` `=` $k `)` attr-dict `:` type($operand) `->` `(` type($values) `,` type($indices) `)`";
}
