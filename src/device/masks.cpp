#include "device/masks.h"

#include <ATen/ATen.h>
#include <torch/library.h>

#include <algorithm>

#include "device/indices.h"
#include "device/shapes.h"

namespace cresset::device {
namespace {

// A row for each, whose columns are arrays, as PyTorch's own returns them.
at::Tensor positions_of(const at::Tensor& self) { return at::nonzero(self.to(at::kCPU)).t().to(self.device()).t(); }

// Of the true elements of a mask, counted through all its dimensions; int64, on its device.
at::Tensor flat_positions(const at::Tensor& mask) {
  at::Tensor known = mask.to(at::kCPU).contiguous();
  const bool* chosen = known.const_data_ptr<bool>();
  const int64_t count = std::count(chosen, chosen + known.numel(), true);
  at::Tensor positions = at::empty({count + 1}, at::kLong);  // each is written to where the next true one's goes, without a branch
  int64_t* next = positions.mutable_data_ptr<int64_t>();
  for (int64_t i = 0; i < known.numel(); ++i) *next = i, next += chosen[i];
  return positions.narrow(0, 0, count).to(mask.device());
}

// On the device; each mask becomes the integer indices of its true elements, one tensor for each of its dimensions.
Indices without_masks(const at::Tensor& self, const Indices& indices) {
  Indices integers;
  for (const std::optional<at::Tensor>& index : indices) {
    if (!index || !index->defined() || (index->scalar_type() != at::kBool && index->scalar_type() != at::kByte)) {
      integers.push_back(index && index->defined() ? std::optional(index->to(self.device())) : index);
      continue;
    }
    for (int64_t d = 0; d < index->dim(); ++d) {
      int64_t dim = int64_t(integers.size()) + d;
      TORCH_CHECK_INDEX(dim < self.dim() && index->size(d) == self.size(dim), "The shape of the mask ", index->sizes(), " at index ", d,
                        " does not match the shape of the indexed tensor ", self.sizes(), " at index ", dim);
    }
    at::Tensor positions = positions_of(*index).to(self.device());
    for (int64_t d = 0; d < index->dim(); ++d) integers.push_back(positions.select(1, d));
  }
  TORCH_CHECK_INDEX(std::any_of(integers.begin(), integers.end(), [](const std::optional<at::Tensor>& index) { return index && index->defined(); }), "at least one index must be provided");
  return integers;
}

at::Tensor masked_select(const at::Tensor& self, const at::Tensor& mask) {
  TORCH_CHECK(mask.scalar_type() == at::kBool, "masked_select: expected BoolTensor for mask");
  auto expanded = at::expand_outplace(self, mask);
  at::Tensor values = std::get<0>(expanded)->reshape({-1}), chosen = std::get<1>(expanded)->reshape({-1});
  return values.index_select(0, flat_positions(chosen));
}

at::Tensor repeat_interleave(const at::Tensor& repeats, std::optional<int64_t> output_size) {
  return at::repeat_interleave(repeats.to(at::kCPU), output_size).to(repeats.device());
}

bool equal(const at::Tensor& self, const at::Tensor& other) {
  TORCH_CHECK(self.device() == other.device(), "equal: expected two tensors on one device, but got ", self.device(), " and ", other.device());
  return self.sizes() == other.sizes() && at::eq(self, other).all().item<bool>();
}

// For each element of a flat mask, which of `count` values it takes if it is true: the k-th true one takes the k-th. Nothing has to be read.
at::Tensor order_of(const at::Tensor& mask, int64_t count) { return mask.to(at::kLong).cumsum(0).sub(1).clamp(0, count - 1); }

at::Tensor& masked_scatter_(at::Tensor& self, const at::Tensor& mask, const at::Tensor& source) {
  TORCH_CHECK(self.scalar_type() == source.scalar_type(), "masked_scatter: expected self and source to have same dtypes but got ", self.scalar_type(), " and ",
              source.scalar_type());
  TORCH_CHECK(mask.scalar_type() == at::kBool, "masked_scatter_ only supports boolean masks, but got mask with dtype ", mask.scalar_type());
  if (self.numel() == 0) return self;
  at::Tensor chosen = mask.expand_as(self).reshape({-1});
  check_true(chosen.sum().le(source.numel()), "masked_scatter: Number of elements of source < number of ones in mask");
  if (source.numel() == 0) return self;
  at::Tensor values = source.reshape({-1}).index_select(0, order_of(chosen, source.numel()));
  return self.copy_(at::where(chosen, values, self.reshape({-1})).reshape(self.sizes()));
}

// The k-th true element took the k-th value: its gradient is that value's.
at::Tensor masked_scatter_backward(const at::Tensor& gradient, const at::Tensor& mask, c10::SymIntArrayRef symbolic_sizes) {
  auto sizes = C10_AS_INTARRAYREF_SLOW(symbolic_sizes);
  at::Tensor values = at::zeros({c10::multiply_integers(sizes)}, gradient.options());
  if (gradient.numel() == 0 || values.numel() == 0) return values.reshape(sizes);
  at::Tensor chosen = mask.expand_as(gradient).reshape({-1});
  return values.scatter_add(0, order_of(chosen, values.numel()), at::where(chosen, gradient.reshape({-1}), 0)).reshape(sizes);
}

// x[mask] = values, one for each true element of one mask that is still to be computed. False where it is something else.
bool put_in_order(at::Tensor& self, const Indices& indices, const at::Tensor& values, bool accumulate) {
  auto one = shapes::one_mask(self, indices);
  if (!one || one->mask.dim() == 0 || is_known(one->mask)) return false;
  const auto& [mask, place] = *one;
  int64_t behind = self.dim() - place - mask.dim(), dim = values.dim() - 1 - behind;
  if (dim < 0) return false;
  int64_t count = values.size(dim);
  at::DimVector chosen = shapes::masked_sizes(self, *one, count), around(place, 1);
  around.append(mask.sizes().begin(), mask.sizes().end()), around.append(behind, 1);
  if (!at::is_expandable_to(values.sizes(), chosen)) return false;
  check_true(mask.sum().eq(count), c10::str("shape mismatch: value tensor of shape ", values.sizes(), " cannot be broadcast to indexing result: the mask does not have ", count, " true elements"));
  if (values.numel() == 0) return true;
  at::Tensor source = values.expand(chosen).index_select(place, order_of(mask.reshape({-1}), count)).reshape(self.sizes());
  self.copy_(at::where(mask.reshape(around), accumulate ? self.add(source) : source, self));
  return true;
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("nonzero", TORCH_FN(positions_of));
  m.impl("masked_select", TORCH_FN(masked_select));
  m.impl("repeat_interleave.Tensor", TORCH_FN(repeat_interleave));
  m.impl("equal", TORCH_FN(equal));
  m.impl("masked_scatter_", TORCH_FN(masked_scatter_));
  m.impl("masked_scatter_backward", TORCH_FN(masked_scatter_backward));
}

}  // namespace

at::Tensor index_by_masks(const at::Tensor& self, const Indices& indices) {
  auto one = shapes::one_mask(self, indices);
  if (!one || one->mask.dim() == 0) return at::index(self, without_masks(self, indices));
  at::Tensor positions = flat_positions(one->mask);
  at::DimVector flat = shapes::masked_sizes(self, *one, one->mask.numel());
  return self.reshape(flat).index_select(one->place, positions);
}
at::Tensor& index_put_by_masks_(at::Tensor& self, const Indices& indices, const at::Tensor& values, bool accumulate, bool unsafe) {
  return put_in_order(self, indices, values, accumulate) ? self : at::_index_put_impl_(self, without_masks(self, indices), values, accumulate, unsafe);
}
at::Tensor index_put_by_masks_(const at::Tensor& self, const Indices& indices, const at::Tensor& values, bool accumulate, bool unsafe) {
  at::Tensor result = self.clone();
  return index_put_by_masks_(result, indices, values, accumulate, unsafe);
}

}  // namespace cresset::device
