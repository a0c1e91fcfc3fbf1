#include "cpu/prepare/channels_first.h"

#include "cpu/convolution/convolution.h"
#include "cpu/emit/element.h"
#include "cpu/prepare/rewrite.h"
#include "cpu/prepare/sink_transposes.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"

namespace cresset::cpu {

using namespace mlir;
using namespace mlir::stablehlo;
namespace {

using Dims = ConvDimensionNumbersAttr;

// Gradients of kernels exchange images and channels.
bool is_exchanged(Dims dims) { return dims.getInputFeatureDimension() < dims.getInputBatchDimension(); }

bool has_channels_last(ConvolutionOp op) {
  auto dims = op.getDimensionNumbers();
  const int64_t last = shaped(op).getRank() - 1;
  return last >= 2 && shaped(op).getNumElements() > 0 && std::max(dims.getInputFeatureDimension(), dims.getInputBatchDimension()) == last && !llvm::is_contained(dims.getInputSpatialDimensions(), 0) &&
         dims.getOutputFeatureDimension() == last && dims.getOutputBatchDimension() == (is_exchanged(dims) ? last - 1 : 0);
}
bool is_matrix_product(ConvolutionOp op) {
  auto dims = op.getDimensionNumbers();
  return !is_exchanged(dims) && dims.getInputSpatialDimensions() == dims.getOutputSpatialDimensions() && op.getFeatureGroupCount() == 1 && op.getBatchGroupCount() == 1 && is_pointwise(op);
}
// [first, second, spatial…]
SmallVector<int64_t> order(int64_t first, int64_t second, ArrayRef<int64_t> spatial) {
  SmallVector<int64_t> result{first, second};
  llvm::append_range(result, spatial);
  return result;
}

void put_channels_first(ConvolutionOp op, OpBuilder& b) {
  auto dims = op.getDimensionNumbers();
  const int64_t rank = shaped(op).getRank(), exchanged = is_exchanged(dims);
  auto spatial = llvm::to_vector(llvm::seq<int64_t>(2, rank)), kernel_spatial = llvm::to_vector(dims.getKernelSpatialDimensions());
  auto by_role = [&](int64_t images, int64_t features, ArrayRef<int64_t> spatial) { return exchanged ? order(features, images, spatial) : order(images, features, spatial); };
  Value image = transposed(op.getLhs(), by_role(dims.getInputBatchDimension(), dims.getInputFeatureDimension(), dims.getInputSpatialDimensions()), b), kernel = op.getRhs();
  int64_t kernel_in = dims.getKernelInputFeatureDimension(), kernel_out = dims.getKernelOutputFeatureDimension();
  if (exchanged) {  // others are read in any order
    kernel = transposed(kernel, by_role(kernel_out, kernel_in, kernel_spatial), b);
    kernel_out = exchanged, kernel_in = 1 - exchanged, kernel_spatial = spatial;
  }
  auto back = by_role(dims.getOutputBatchDimension(), dims.getOutputFeatureDimension(), dims.getOutputSpatialDimensions());
  auto made = cast<ConvolutionOp>(b.clone(*op));
  made->setOperands({image, kernel});
  made.setDimensionNumbersAttr(Dims::get(b.getContext(), exchanged, 1 - exchanged, spatial, kernel_in, kernel_out, kernel_spatial, exchanged, 1 - exchanged, spatial));
  made->getResult(0).setType(shaped(op).clone(llvm::map_to_vector(back, [&](int64_t d) { return shaped(op).getDimSize(d); })));
  auto inverse = invertPermutationVector(back);
  op.replaceAllUsesWith(exchanged ? Value(TransposeOp::create(b, op.getLoc(), made, inverse)) : sinking_transpose(b, made, inverse));
  op.erase();
}

void make_matrix_product(ConvolutionOp op, OpBuilder& b) {
  auto dims = op.getDimensionNumbers();
  auto kernel = shaped(op.getRhs());
  const int64_t in = dims.getKernelInputFeatureDimension(), out = dims.getKernelOutputFeatureDimension();
  auto matrix = kernel.clone({kernel.getDimSize(std::min(in, out)), kernel.getDimSize(std::max(in, out))});
  Value weights = ReshapeOp::create(b, op.getLoc(), matrix, op.getRhs());
  auto contract = DotDimensionNumbersAttr::get(b.getContext(), {}, {}, {shaped(op).getRank() - 1}, {in > out});
  op.replaceAllUsesWith(DotGeneralOp::create(b, op.getLoc(), op.getType(), op.getLhs(), weights, contract, op.getPrecisionConfigAttr()).getResult());
  op.erase();
}

}  // namespace

bool use_channels_first(func::FuncOp function) {
  SmallVector<ConvolutionOp> moved, products;
  function.walk([&](ConvolutionOp op) {
    const bool depthwise = is_depthwise_channels_last(op), product = is_matrix_product(op);
    if (!has_channels_last(op) || (is_channels_last(op) && !depthwise)) return;
    if ((!depthwise && !product) || sinks(op.getLhs())) moved.push_back(op);
    else if (product) products.push_back(op);
  });
  for (ConvolutionOp op : moved) {
    OpBuilder b(op);
    put_channels_first(op, b);
  }
  if (!moved.empty()) return true;
  for (ConvolutionOp op : products) {
    OpBuilder b(op);
    make_matrix_product(op, b);
  }
  return !products.empty();
}

}  // namespace cresset::cpu
