// Fourier transforms on the CPU are PyTorch's library's (MKL, or pocketfft): products with matrices of roots take three to nine times as long.
#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>

#include <cstring>

#include "composite/kernels.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

namespace cresset::device {
namespace {

using namespace mlir;

class FourierKernel final : public composite::Kernel {
 public:
  explicit FourierKernel(stablehlo::CompositeOp op) : name_(op.getName()), operand_(op.getOperand(0).getType()), result_(op.getResult(0).getType()) {
    auto attributes = op.getCompositeAttributes();
    dim_ = attributes.getAs<DenseI64ArrayAttr>("dim").asArrayRef();
    normalization_ = attributes.getAs<IntegerAttr>("normalization").getInt();
    if (auto forward = attributes.getAs<BoolAttr>("forward")) flag_ = forward.getValue();
    if (auto onesided = attributes.getAs<BoolAttr>("onesided")) flag_ = onesided.getValue();
    if (auto size = attributes.getAs<IntegerAttr>("last_dim_size")) last_dim_size_ = size.getInt();
  }

  void run(const void* const* operands, void* const* results) override {
    at::AutoDispatchBelowADInplaceOrView below;
    at::Tensor in = operand_.at(const_cast<void*>(operands[0])), out = result_.at(results[0]);
    try {
      if (name_ == "aten._fft_c2c") write(at::view_as_complex(out), at::_fft_c2c(at::view_as_complex(in), dim_, normalization_, flag_));
      else if (name_ == "aten._fft_r2c") write(at::view_as_complex(out), at::_fft_r2c(in, dim_, normalization_, flag_));
      else write(out, at::_fft_c2r(at::view_as_complex(in), dim_, normalization_, last_dim_size_));
    } catch (const c10::Error& error) {
      throw std::runtime_error(error.what_without_backtrace());
    }
  }

 private:
  struct Buffer {
    explicit Buffer(Type type) : shape(cast<RankedTensorType>(type).getShape()), dtype(cast<RankedTensorType>(type).getElementType().isF64() ? at::kDouble : at::kFloat) {}
    at::Tensor at(void* bytes) const { return at::from_blob(bytes, at::IntArrayRef(shape.data(), shape.size()), at::TensorOptions(dtype)); }
    std::vector<int64_t> shape;
    at::ScalarType dtype;
  };

  // PyTorch copies complex numbers one by one.
  static void write(const at::Tensor& out, const at::Tensor& transformed) {
    if (transformed.is_contiguous()) std::memcpy(out.mutable_data_ptr(), transformed.const_data_ptr(), out.nbytes());
    else out.copy_(transformed);
  }

  std::string name_;
  Buffer operand_, result_;
  std::vector<int64_t> dim_;
  int64_t normalization_ = 0, last_dim_size_ = 0;
  bool flag_ = false;
};

class FourierProvider final : public composite::KernelProvider {
 public:
  std::string name() const override { return "PyTorch's Fourier transforms"; }
  bool is_pytorch() const override { return true; }
  bool offers(llvm::StringRef composite) const override { return composite == "aten._fft_c2c" || composite == "aten._fft_r2c" || composite == "aten._fft_c2r"; }
  std::unique_ptr<composite::Kernel> query(stablehlo::CompositeOp op, std::string& reason) override {
    auto element = cast<RankedTensorType>(op.getOperand(0).getType()).getElementType();
    if (!element.isF32() && !element.isF64()) return reason = "there are transforms of f32 and f64", nullptr;
    return std::make_unique<FourierKernel>(op);
  }
};

[[maybe_unused]] const bool registered = (composite::register_provider(std::make_unique<FourierProvider>()), true);

}  // namespace
}  // namespace cresset::device
