// Python's >> and <<, for which PyTorch has operators beside those of torch.bitwise_right_shift and torch.bitwise_left_shift.
#include <ATen/ATen.h>
#include <torch/library.h>

namespace cresset {
namespace {

template <class Other>
at::Tensor shifted_left(const at::Tensor& self, const Other& other) { return self.bitwise_left_shift(other); }
template <class Other>
at::Tensor shifted_right(const at::Tensor& self, const Other& other) { return self.bitwise_right_shift(other); }
template <class Other>
at::Tensor& shift_left(at::Tensor& self, const Other& other) { return self.bitwise_left_shift_(other); }
template <class Other>
at::Tensor& shift_right(at::Tensor& self, const Other& other) { return self.bitwise_right_shift_(other); }

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("__lshift__.Tensor", TORCH_FN(shifted_left<at::Tensor>));
  m.impl("__lshift__.Scalar", TORCH_FN(shifted_left<at::Scalar>));
  m.impl("__rshift__.Tensor", TORCH_FN(shifted_right<at::Tensor>));
  m.impl("__rshift__.Scalar", TORCH_FN(shifted_right<at::Scalar>));
  m.impl("__ilshift__.Tensor", TORCH_FN(shift_left<at::Tensor>));
  m.impl("__ilshift__.Scalar", TORCH_FN(shift_left<at::Scalar>));
  m.impl("__irshift__.Tensor", TORCH_FN(shift_right<at::Tensor>));
  m.impl("__irshift__.Scalar", TORCH_FN(shift_right<at::Scalar>));
}

}  // namespace
}  // namespace cresset
