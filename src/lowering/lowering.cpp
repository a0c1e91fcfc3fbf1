#include "lowering/lowering.h"

#include <map>
#include <unordered_map>

#include "lowering/builder.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "trace/composite.h"

namespace cresset::lowering {

using namespace mlir;
namespace {

Type tensor_type(MLIRContext* c, const trace::TensorType& t) {
  return RankedTensorType::get(ArrayRef<int64_t>(t.sizes.data(), t.sizes.size()), element_type(c, t.dtype));
}

// Non-tensor arguments as composite attributes: typed, defaults written out, ATen's dimensions not negative, nothing for an absent one.
DictionaryAttr composite_attributes(OpBuilder& b, const trace::Node& n) {
  SmallVector<NamedAttribute> all;
  int64_t rank = n.operands().empty() || !n.operands()[0] ? 0 : int64_t(n.operands()[0].type().sizes.size());
  for (size_t i = 0; n.op().attributes[i] && i < n.attributes().size(); ++i) {
    StringRef name = n.op().attributes[i];
    bool dim = name == "dim" && !n.op().body;
    Attribute value = std::visit(
        [&](const auto& v) -> Attribute {
          using T = std::decay_t<decltype(v)>;
          if constexpr (std::is_same_v<T, bool>) return b.getBoolAttr(v);
          else if constexpr (std::is_same_v<T, int64_t>) return b.getI64IntegerAttr(dim ? wrap(v, rank) : v);
          else if constexpr (std::is_same_v<T, double>) return b.getF64FloatAttr(v);
          else if constexpr (std::is_same_v<T, at::ScalarType>) return TypeAttr::get(element_type(b.getContext(), v));
          else if constexpr (std::is_same_v<T, std::string>) return b.getStringAttr(v);
          else if constexpr (std::is_same_v<T, std::vector<int64_t>>) {
            Dims dims(v.begin(), v.end());
            if (dim) for (int64_t& d : dims) d = wrap(d, rank);
            return b.getDenseI64ArrayAttr(dims);
          } else if constexpr (std::is_same_v<T, std::vector<double>>) return b.getDenseF64ArrayAttr(v);
          else if constexpr (std::is_same_v<T, std::vector<bool>>) return b.getDenseBoolArrayAttr(SmallVector<bool>(v.begin(), v.end()));
          else return {};
        },
        n.attributes()[i]);
    if (value) all.push_back(b.getNamedAttr(name, value));
  }
  // Operands are in the schema's order; those that are absent at its end are just missing, others are named by their places.
  Dims absent, gap;
  for (size_t i = 0; i < n.operands().size(); ++i) {
    if (!n.operands()[i]) gap.push_back(int64_t(i));
    else if (!gap.empty() && &n.operands()[i].node->op() != &trace::builtin::scalar) absent.append(std::exchange(gap, {}));
  }
  if (!absent.empty()) all.push_back(b.getNamedAttr("absent_operands", b.getDenseI64ArrayAttr(absent)));
  return b.getDictionaryAttr(all);
}

class GraphLowering {
 public:
  GraphLowering(const trace::Graph& graph, MLIRContext& context)
      : graph_(graph), b_(&context), module_(ModuleOp::create(b_, b_.getUnknownLoc())) {}

  OwningOpRef<ModuleOp> run() {
    SmallVector<Type> inputs, outputs;
    for (const auto& n : graph_.inputs) inputs.push_back(tensor_type(b_.getContext(), n->types()[0]));
    for (const auto& v : graph_.outputs) outputs.push_back(tensor_type(b_.getContext(), v.type()));
    b_.setInsertionPointToEnd(module_->getBody());
    auto main = func::FuncOp::create(b_, b_.getUnknownLoc(), "main", b_.getFunctionType(inputs, outputs));
    set_argument_attributes(main);
    Block* block = main.addEntryBlock();
    b_.setInsertionPointToEnd(block);
    for (size_t i = 0; i < graph_.inputs.size(); ++i) values_[graph_.inputs[i].get()] = {block->getArgument(i)};
    for (const auto& n : graph_.nodes) values_[n.get()] = lower(*n);
    SmallVector<Value> results;
    for (const auto& v : graph_.outputs) results.push_back(values_[v.node.get()][v.index]);
    func::ReturnOp::create(b_, b_.getUnknownLoc(), results);
    shape_arguments(main);
    std::string messages;
    ScopedDiagnosticHandler handler(b_.getContext(), [&](Diagnostic& d) { messages += d.str() + "\n"; });
    TORCH_CHECK(succeeded(verify(*module_)), "cresset: lowering made an invalid module: ", messages);
    return std::move(module_);
  }

 private:
  // All at once: the context keeps each list of them for good.
  void set_argument_attributes(func::FuncOp main) {
    std::vector<NamedAttrList> attributes(graph_.inputs.size());
    for (auto [j, i] : llvm::enumerate(graph_.aliased))
      if (i >= 0) attributes[i].set("tf.aliasing_output", b_.getI32IntegerAttr(int32_t(j)));
    for (auto [i, weight] : llvm::enumerate(graph_.weights()))
      if (weight) attributes[i].set("cresset.weight", b_.getUnitAttr());
    main.setAllArgAttrs(llvm::map_to_vector(attributes, [&](NamedAttrList& list) { return list.getDictionary(b_.getContext()); }));
  }

  // A tensor's storage is flat; an argument that is only ever seen in one shape has that shape.
  void shape_arguments(func::FuncOp main) {
    for (BlockArgument argument : main.getArguments()) {
      auto shape = [&](Operation* user) { auto reshape = dyn_cast<hlo::ReshapeOp>(user); return reshape ? reshape.getType() : RankedTensorType(); };
      if (cast<RankedTensorType>(argument.getType()).getRank() != 1 || argument.use_empty() || !shape(*argument.user_begin())) continue;
      auto type = shape(*argument.user_begin());
      if (!llvm::all_of(argument.getUsers(), [&](Operation* user) { return shape(user) == type; })) continue;
      argument.setType(type);
      for (Operation* user : llvm::make_early_inc_range(argument.getUsers())) {
        user->getResult(0).replaceAllUsesWith(argument);
        user->erase();
      }
    }
    main.setType(b_.getFunctionType(main.getBody().getArgumentTypes(), main.getResultTypes()));
  }

  Values lower(const trace::Node& n) {
    Values operands;
    for (const trace::Value& v : n.operands()) operands.push_back(v ? values_[v.node.get()][v.index] : Value());
    Location loc = NameLoc::get(b_.getStringAttr(n.op().name));
    if (n.op().composite) return lower_composite(n, operands, loc);
    return lower_plainly(n, operands, loc);
  }

  Values lower_body(const trace::Body& body, const Values& operands) {
    // Nodes without operands may be in the graph around it, too.
    auto around = std::exchange(values_, {});
    for (auto [input, operand] : llvm::zip(body.graph.inputs, body.operand_of_input)) values_[input.get()] = {operands[operand]};
    for (const auto& n : body.graph.nodes) values_[n.get()] = lower(*n);
    Values results;
    for (const auto& v : body.graph.outputs) results.push_back(values_[v.node.get()][v.index]);
    values_ = std::move(around);
    return results;
  }

  Values lower_plainly(const trace::Node& n, Values operands, Location loc) {
    if (n.op().body) return lower_body(*n.op().body, operands);
    Builder b(b_, loc, std::move(operands), n);
    TORCH_CHECK_NOT_IMPLEMENTED(n.op().lower, "cresset: ", n.op().name, " is not lowered");
    n.op().lower(b, n);
    TORCH_CHECK(b.results.size() == n.types().size(), "cresset: the lowering of ", n.op().name, " gives ", b.results.size(), " results instead of ", n.types().size());
    for (size_t i = 0; i < b.results.size(); ++i) {
      if (!b.results[i]) b.results[i] = b.constant(0.0, b.result_element(i), b.result_shape(i));  // an undefined result
      if (b.results[i].getType() != b.result_type(i)) {
        std::string text;
        llvm::raw_string_ostream(text) << "the lowering of " << n.op().name << " gives result " << i << " as " << b.results[i].getType() << " instead of " << b.result_type(i);
        TORCH_CHECK(false, "cresset: ", text);
      }
    }
    return b.results;
  }

  Values lower_composite(const trace::Node& n, const Values& operands, Location loc) {
    Values present;
    SmallVector<Type> types, results;
    std::string key = std::string(n.op().name) + n.op().overload;
    llvm::raw_string_ostream out(key);
    for (Value v : operands) {
      if (v) present.push_back(v), types.push_back(v.getType());
      out << (v ? v.getType() : Type(b_.getNoneType()));
    }
    for (const auto& t : n.types()) results.push_back(tensor_type(b_.getContext(), t));
    DictionaryAttr attributes = composite_attributes(b_, n);
    out << attributes;
    for (Type t : results) out << t;
    std::string base = n.op().composite;
    std::string& function = decompositions_[key];
    if (function.empty()) {
      function = base + ".impl_" + std::to_string(counts_[base]++);
      OpBuilder::InsertionGuard guard(b_);
      b_.setInsertionPointToEnd(module_->getBody());
      auto body = func::FuncOp::create(b_, loc, function, b_.getFunctionType(types, results));
      body.setPrivate();
      Block* block = body.addEntryBlock();
      b_.setInsertionPointToEnd(block);
      Values inner;
      size_t next = 0;
      for (Value v : operands) inner.push_back(v ? Value(block->getArgument(next++)) : Value());
      func::ReturnOp::create(b_, loc, lower_plainly(n, inner, loc));
    }
    auto op = hlo::CompositeOp::create(b_, loc, results, present, base, attributes, function, uint32_t(n.op().version));
    return Values(op.getResults().begin(), op.getResults().end());
  }

  const trace::Graph& graph_;
  OpBuilder b_;
  OwningOpRef<ModuleOp> module_;
  std::unordered_map<const trace::Node*, Values> values_;
  std::map<std::string, std::string> decompositions_;
  std::map<std::string, int> counts_;
};

}  // namespace

OwningOpRef<ModuleOp> lower(const trace::Graph& graph, MLIRContext& context) {
  return GraphLowering(graph, context).run();
}

std::unique_ptr<MLIRContext> make_context() {
  auto context = std::make_unique<MLIRContext>(MLIRContext::Threading::DISABLED);
  context->loadDialect<func::FuncDialect, hlo::StableHLODialect>();
  return context;
}

}  // namespace cresset::lowering
