#include "cpu/prepare/channels_last.h"

#include "cpu/convolution/convolution.h"
#include "cpu/emit/element.h"
#include "cpu/matmul/tiles.h"
#include "cpu/prepare/rewrite.h"
#include "cpu/prepare/sink_transposes.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "runtime/write_watch.h"

namespace cresset::cpu {

using namespace mlir;
using namespace mlir::stablehlo;
namespace {

Value to_last(Value v, int64_t first, ArrayRef<int64_t> spatial, int64_t last, OpBuilder& b) {
  SmallVector<int64_t> order{first};
  llvm::append_range(order, spatial);
  order.push_back(last);
  return transposed(v, order, b);
}

}  // namespace

Value image_with_channels_last(ConvolutionOp op, Value image, OpBuilder& b) {
  auto dims = op.getDimensionNumbers();
  return to_last(image, dims.getInputBatchDimension(), dims.getInputSpatialDimensions(), dims.getInputFeatureDimension(), b);
}
Value kernel_with_channels_last(ConvolutionOp op, Value kernel, OpBuilder& b) {
  auto dims = op.getDimensionNumbers();
  return to_last(kernel, dims.getKernelOutputFeatureDimension(), dims.getKernelSpatialDimensions(), dims.getKernelInputFeatureDimension(), b);
}
Value kernel_with_places_first(ConvolutionOp op, Value kernel, OpBuilder& b) {
  auto dims = op.getDimensionNumbers();
  SmallVector<int64_t> order(dims.getKernelSpatialDimensions());
  order.push_back(dims.getKernelInputFeatureDimension()), order.push_back(dims.getKernelOutputFeatureDimension());
  return transposed(kernel, order, b);
}
RankedTensorType type_with_channels_last(ConvolutionOp op, int64_t features, Type type) {
  auto dims = op.getDimensionNumbers();
  SmallVector<int64_t> shape{shaped(op).getDimSize(dims.getOutputBatchDimension())};
  for (int64_t d : dims.getOutputSpatialDimensions()) shape.push_back(shaped(op).getDimSize(d));
  shape.push_back(features);
  return RankedTensorType::get(shape, type);
}
static ConvolutionOp made_with(ConvolutionOp op, Value image, Value kernel, int64_t in, int64_t out, ArrayRef<int64_t> places, Type type, OpBuilder& b) {
  const int64_t last = shaped(op).getRank() - 1;
  auto spatial = llvm::to_vector(llvm::seq<int64_t>(1, last));
  auto made = cast<ConvolutionOp>(b.clone(*op));
  made->setOperands({image, kernel});
  made.setDimensionNumbersAttr(ConvDimensionNumbersAttr::get(b.getContext(), 0, last, spatial, in, out, places, 0, last, spatial));
  made->getResult(0).setType(type_with_channels_last(op, shaped(kernel).getDimSize(out), type));
  return made;
}
ConvolutionOp convolution_with_channels_last(ConvolutionOp op, Value image, Value kernel, Type type, OpBuilder& b) {
  const int64_t last = shaped(op).getRank() - 1;
  return made_with(op, image, kernel, last, 0, llvm::to_vector(llvm::seq<int64_t>(1, last)), type, b);
}
ConvolutionOp depthwise_with_channels_last(ConvolutionOp op, Value image, Value kernel, Type type, OpBuilder& b) {
  const int64_t last = shaped(op).getRank() - 1;
  return made_with(op, image, kernel, last - 1, last, llvm::to_vector(llvm::seq<int64_t>(0, last - 1)), type, b);
}
Value as_result_of(ConvolutionOp op, Value result, OpBuilder& b) {
  auto dims = op.getDimensionNumbers();
  SmallVector<int64_t> back(shaped(result).getRank());
  back[dims.getOutputBatchDimension()] = 0, back[dims.getOutputFeatureDimension()] = shaped(result).getRank() - 1;
  for (auto [i, d] : llvm::enumerate(dims.getOutputSpatialDimensions())) back[d] = int64_t(i) + 1;
  return llvm::is_sorted(back) ? result : sinking_transpose(b, result, back);
}

namespace {

// Which convolutions gain. Connected ones, between which transposes sink (sink_transposes.h), share what is transposed around all of them.
class Chooser {
 public:
  explicit Chooser(func::FuncOp function) : function_(function) {}

  SmallVector<ConvolutionOp> chosen() {
    SmallVector<ConvolutionOp> all;
    function_.walk([&](ConvolutionOp op) {
      if (!gains(op)) return;
      all.push_back(op), connected_.insert(op);
      if (Operation*& first = readers_[op.getLhs()]) connected_.unionSets(first, op);
      else first = op;
    });
    if (all.empty()) return all;
    for (Operation& op : function_.getBody().front()) visit(&op);
    llvm::DenseMap<Operation*, double> seconds;
    for (auto [op, s] : seconds_) seconds[connected_.getLeaderValue(op)] += s;
    llvm::erase_if(all, [&](ConvolutionOp op) { return seconds[connected_.getLeaderValue(op)] <= 0; });
    return all;
  }

 private:
  // A thread of an Emerald Rapids: what a convolution gains for each multiply-add, or one whose rows fill no vector, and for each element of all windows that is not packed; what a byte costs that is
  // transposed, by what else makes or reads it, and one of weights that are transposed once and compared in every call where writes to them can't be watched.
  static constexpr double kGain = 4e-13, kGainOfShortRows = 7e-13, kGainOfWindows = 9e-11, kSecondsPerByte = 1.5e-10, kSecondsPerByteOfWeights = 1e-10;

  static bool gains(ConvolutionOp op) {
    auto dims = op.getDimensionNumbers();
    auto kernel = shaped(op.getRhs());
    int64_t channels = kernel.getDimSize(dims.getKernelInputFeatureDimension()), features = kernel.getDimSize(dims.getKernelOutputFeatureDimension());
    bool bf16 = (element(op).isBF16() || element(op).isF32()) && element(op.getLhs()).isBF16() && element(op.getRhs()).isBF16();
    return bf16 && op.getFeatureGroupCount() == 1 && is_plain(op) && shaped(op).getRank() >= 3 && shaped(op).getNumElements() > 0 && channels > 0 && channels % kFeaturesOfStep == 0 && kernel.getNumElements() / channels / features <= kMostPlacesOfWindow;
  }
  static bool moves_channels(ConvolutionOp op) {
    return op.getDimensionNumbers().getInputFeatureDimension() != shaped(op).getRank() - 1 || op.getDimensionNumbers().getOutputFeatureDimension() != shaped(op).getRank() - 1;
  }
  static double bytes_of(Value v) { return double(shaped(v).getNumElements()) * 2; }
  static double seconds_to_transpose(Value v) { return kSecondsPerByte * bytes_of(v); }
  static double gain_of(ConvolutionOp op) {
    auto dims = op.getDimensionNumbers();
    auto kernel = shaped(op.getRhs());
    double terms = double(kernel.getNumElements()) / double(kernel.getDimSize(dims.getKernelOutputFeatureDimension()));
    bool has_windows = terms > double(kernel.getDimSize(dims.getKernelInputFeatureDimension()));
    double gain = shaped(op).getDimSize(dims.getOutputSpatialDimensions().back()) < TileRegisters::kRows ? kGainOfShortRows : kGain;
    double positions = double(shaped(op).getNumElements()) / double(kernel.getDimSize(dims.getKernelOutputFeatureDimension()));
    return gain * double(shaped(op).getNumElements()) * terms + (has_windows ? kGainOfWindows * positions * terms : 0) - (has_windows && !WriteWatch::is_available() ? kSecondsPerByteOfWeights * bytes_of(op.getRhs()) : 0);
  }

  // Values that are transposed behind, or will be: each is one of the convolutions that it is connected with.
  void visit(Operation* op) {
    if (connected_.contains(op)) {
      auto convolution = cast<ConvolutionOp>(op);
      Value x = convolution.getLhs();
      if (!moves_channels(convolution)) return void(seconds_[op] += 1);  // which costs nothing
      seconds_[op] += gain_of(convolution);
      if (auto it = behind_.find(x); it != behind_.end()) connected_.unionSets(op, it->second);
      else if (readers_[x] == op) seconds_[op] -= seconds_to_transpose(x);
      behind_[op->getResult(0)] = op;
    } else if (Operation* carried = carries(op)) {
      behind_[op->getResult(0)] = carried;
    } else if (!isa<ReduceOp>(op)) {  // which takes any order
      for (Value v : op->getOperands())
        if (auto it = behind_.find(v); it != behind_.end() && returned_.insert(v).second) seconds_[it->second] -= seconds_to_transpose(v);
    }
  }
  // The convolution that transposes it anyway, or what it is converted from.
  Operation* reader_of(Value v) const {
    if (Operation* reader = readers_.lookup(v)) return reader;
    auto convert = v.getDefiningOp<ConvertOp>();
    return convert ? reader_of(convert.getOperand()) : nullptr;
  }
  // Whether transposes sink past it; then its operands' convolutions are connected.
  Operation* carries(Operation* op) {
    if (op->getNumResults() != 1 || !sinks_past(op)) return nullptr;
    SmallVector<Operation*> found;
    for (Value v : op->getOperands()) {
      if (auto it = behind_.find(v); it != behind_.end()) found.push_back(it->second);
      else if (shaped(v).getRank() == 0 || splat(v) || v.getDefiningOp<BroadcastInDimOp>()) continue;
      else if (Operation* reader = reader_of(v); reader && moves_channels(cast<ConvolutionOp>(reader))) found.push_back(reader);
      else return nullptr;
    }
    if (llvm::none_of(op->getOperands(), [&](Value v) { return behind_.contains(v); })) return nullptr;
    for (Operation* other : found) connected_.unionSets(found.front(), other);
    return found.front();
  }

  func::FuncOp function_;
  llvm::EquivalenceClasses<Operation*> connected_;
  llvm::DenseMap<Value, Operation*> readers_, behind_;  // the first convolution that reads a value, one that a value comes from
  llvm::DenseMap<Operation*, double> seconds_;
  llvm::DenseSet<Value> returned_;  // that are transposed back
};

}  // namespace

bool use_channels_last(func::FuncOp function) {
  auto chosen = Chooser(function).chosen();
  for (ConvolutionOp op : chosen) {
    OpBuilder b(op);
    auto made = convolution_with_channels_last(op, image_with_channels_last(op, op.getLhs(), b), kernel_with_channels_last(op, op.getRhs(), b), element(op), b);
    made->setAttr(kChannelsLast, b.getUnitAttr());
    op.replaceAllUsesWith(as_result_of(op, made, b));
    op.erase();
  }
  return !chosen.empty();
}

}  // namespace cresset::cpu
