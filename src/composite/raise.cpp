#include "composite/raise.h"

#include <cmath>

#include "composite/decompose.h"
#include "composite/raise_attention.h"
#include "composite/raise_channels.h"
#include "composite/raise_library.h"
#include "composite/raise_loss.h"
#include "composite/raise_rows.h"
#include "composite/raise_scalar.h"
#include "composite/region.h"

namespace cresset::composite {
namespace {

using namespace mlir;
using namespace mlir::stablehlo;

// A composite by a foreign name becomes ours; its decomposition and attributes stay.
void accept_names(Block& block, RaiseReport& report) {
  for (auto op : block.getOps<CompositeOp>()) {
    const Entry* entry = find_composite(op.getName());
    if (!entry || entry->name == op.getName()) continue;
    report.raised.push_back(entry->name + ": by its foreign name " + op.getName().str());
    op.setName(entry->name);
    op.setVersion(uint32_t(entry->version));
  }
}

// Products are what attention is made of; so they are plain while it is looked for, and composites again where they are left.
constexpr StringRef kProduct = "cresset.product";

void unwrap_products(ModuleOp module, Block& block) {
  for (auto op : llvm::make_early_inc_range(block.getOps<CompositeOp>())) {
    if (op.getName() != "aten.mm" && op.getName() != "aten.bmm") continue;
    auto body = module.lookupSymbol<func::FuncOp>(op.getDecomposition());
    if (!body || body.isDeclaration() || !llvm::hasNItems(body.getBody().front(), 2)) continue;
    auto dot = dyn_cast<DotGeneralOp>(body.getBody().front().front());
    if (!dot || !llvm::equal(dot->getOperands(), body.getArguments()) || dot->getUsers().empty()) continue;
    Operation* plain = OpBuilder(op).clone(*dot);
    plain->setOperands(op->getOperands());
    plain->setLoc(op.getLoc());
    plain->setAttr(kProduct, op->getAttrDictionary());
    op->replaceAllUsesWith(plain);
    op.erase();
  }
}
void wrap_products(ModuleOp module) {
  module.walk([](DotGeneralOp dot) {
    auto attributes = dot->getAttrOfType<DictionaryAttr>(kProduct);
    if (!attributes) return;
    OpBuilder b(dot);
    auto op = CompositeOp::create(b, dot.getLoc(), dot->getResultTypes(), dot->getOperands(), attributes.getValue());
    dot.replaceAllUsesWith(op->getResult(0));
    dot.erase();
  });
}

}  // namespace

void raise(ModuleOp module, RaiseReport* report, ArrayRef<Reference> references) {
  RaiseReport unread;
  if (!report) report = &unread;
  // Calls hide what is computed. One that can't be inlined stays as it is.
  if (failed(decompose(module, [](CompositeOp) { return false; }))) return;
  SmallVector<func::FuncOp> functions;
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isPrivate() && !function.isDeclaration() && llvm::hasSingleElement(function.getBody())) functions.push_back(function);
  for (auto function : functions) {
    accept_names(function.getBody().front(), *report);
    unwrap_products(module, function.getBody().front());
    Program program(module, function);
    raise_references(program, references, *report);
    // Norms and softmax before what is element-wise, forward before backward: a gradient is known by its forward's values.
    raise_channels(program, *report);
    raise_channel_gradients(program, *report);  // before their rows look like norms of rows
    raise_rows(program, *report);
    Attentions attentions;
    raise_attention(program, attentions, *report);
    raise_losses(program, *report);
    raise_loss_gradients(program, *report);
    raise_scalars(program, *report);
    raise_row_gradients(program, *report);
    raise_attention_gradients(program, attentions, *report);
    raise_scalar_gradients(program, *report);
  }
  wrap_products(module);
  erase_unreachable(module);  // decompositions of composites that have become part of others
}

}  // namespace cresset::composite
