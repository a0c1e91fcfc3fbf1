#include "device/indices.h"

#include <ATen/ATen.h>
#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <torch/library.h>

#include <atomic>

#include "device/convert.h"
#include "trace/cell.h"
#include "trace/composite.h"
#include "trace/step.h"
#include "trace/capture.h"

namespace cresset::device {

bool is_known(const at::Tensor& t) {
  const auto& cell = trace::Cell::of(t);
  return !trace::capturing() && cell.content() && !cell.pending();
}

namespace {

at::Tensor known(const at::Tensor& t) {
  return at::empty({0}, t.options().device(at::kCPU)).set_(cpu_storage(trace::Cell::of(t).content().node->buffer()), t.storage_offset(), t.sizes(), t.strides());
}

// Negative if an index lies outside [low, high), by signs of differences alone: neither can overflow into the range.
inline int64_t sign_of(int64_t index, int64_t low, int64_t high) {
  return int64_t((uint64_t(index) - uint64_t(low)) | (uint64_t(high - 1) - uint64_t(index)));
}

constexpr int kBlock = 64;  // a number of rounds that the compiler knows, so that it makes vectors of them
__attribute__((target_clones("avx512f", "avx2", "default"))) int64_t sign_of_blocks(const int64_t* data, int64_t blocks, int64_t low, int64_t high) {
  int64_t sign = 0;
  for (int64_t i = 0; i < blocks; ++i, data += kBlock)
    for (int j = 0; j < kBlock; ++j) sign |= sign_of(data[j], low, high);
  return sign;
}

template <class T>
bool all_inside(const T* data, int64_t count, int64_t low, int64_t high, std::optional<int64_t> allowed) {
  int64_t sign = 0, i = 0;
  if constexpr (std::is_same_v<T, int64_t>)
    if (!allowed) sign = sign_of_blocks(data, count / kBlock, low, high), i = count / kBlock * kBlock;
  for (; i < count; ++i)
    if (!allowed || int64_t(data[i]) != *allowed) sign |= sign_of(data[i], low, high);
  return sign >= 0;
}

}  // namespace

void check_indices(const trace::Operator& op, const at::Tensor& indices, int64_t low, int64_t high, IndexFailure failure, std::optional<int64_t> allowed) {
  if (indices.numel() == 0 || indices.device().type() != c10::DeviceType::PrivateUse1 || !at::isIntegralType(indices.scalar_type(), false)) return;
  if (trace::recording_body())
    return trace::check_argument(trace::read(indices), [&op, low, high, failure, allowed](const at::Tensor& t) { check_indices(op, t, low, high, failure, allowed); });
  bool index_error = failure == IndexFailure::IndexError;
  if (!is_known(indices))
    return trace::check_later(indices, low, high, allowed, c10::str("index out of range in ", op.name, ": an index lies outside [", low, ", ", high, ")"), index_error);
  auto values = known(indices).contiguous();
  int64_t wrong = low;
  bool inside = AT_DISPATCH_INTEGRAL_TYPES(indices.scalar_type(), "check_indices", [&] {
    const scalar_t* data = values.const_data_ptr<scalar_t>();
    auto is_inside = [&](int64_t from, int64_t to) { return all_inside(data + from, to - from, low, high, allowed); };
    std::atomic<bool> inside{true};
    at::parallel_for(0, values.numel(), at::internal::GRAIN_SIZE, [&](int64_t from, int64_t to) {
      if (!is_inside(from, to)) inside = false;
    });
    if (!inside)
      for (int64_t i = values.numel(); i-- > 0;)
        if (!is_inside(i, i + 1)) wrong = int64_t(data[i]);
    return inside.load();
  });
  if (inside) return;
  std::string text = c10::str("index out of range in ", op.name, ": index ", wrong, " lies outside [", low, ", ", high, ")");
  TORCH_CHECK_INDEX(!index_error, text);
  TORCH_CHECK(index_error, text);
}

void check_indices(const trace::Operator& op, const at::Tensor& self, const c10::List<std::optional<at::Tensor>>& indices) {
  int64_t dim = 0;
  for (const std::optional<at::Tensor>& index : indices) {
    bool mask = index && index->defined() && (index->scalar_type() == at::kBool || index->scalar_type() == at::kByte);
    if (index && index->defined() && !mask && dim < self.dim()) check_indices(op, *index, -self.size(dim), self.size(dim));
    dim += mask ? index->dim() : 1;
  }
}

void check_divisor(const trace::Operator& op, const at::Tensor& dividend, const at::Tensor& divisor) {
  if (divisor.numel() == 0 || dividend.numel() == 0 || !at::isIntegralType(at::result_type(dividend, divisor), true)) return;
  constexpr const char* text = "ZeroDivisionError";
  if (trace::recording_body() && divisor.is_privateuseone())
    return trace::check_argument(trace::read(divisor), [&op](const at::Tensor& t) { check_divisor(op, t, t); });
  if (divisor.is_privateuseone() && !is_known(divisor)) return trace::check_later(divisor.ne(0).to(at::kLong), 1, 2, std::nullopt, text, false);
  TORCH_CHECK((divisor.is_privateuseone() ? known(divisor) : divisor).all().item<bool>(), text);
}

void check_bags(const trace::Operator& op, const at::Tensor& weight, const at::Tensor& indices, const at::Tensor& offsets) {
  check_indices(op, indices, 0, size_of(weight, 0), IndexFailure::RuntimeError);
  check_indices(op, offsets, 0, size_of(indices, 0) + 1, IndexFailure::RuntimeError);
}

void check_groups(const trace::Operator& op, const at::Tensor& self, const at::Tensor& mat2, const std::optional<at::Tensor>& ends) {
  if (!ends || !ends->defined() || ends->dim() != 1 || ends->numel() == 0 || ends->scalar_type() != at::kInt || !ends->is_privateuseone()) return;
  int64_t size = self.dim() == 3 ? mat2.size(-1) : mat2.dim() == 3 ? self.size(0) : self.size(-1);
  auto check = [&op, size](const at::Tensor& ends, bool all_known) {
    at::Tensor sizes = at::diff(ends, 1, 0, at::zeros({1}, ends.options()), at::full({1}, size, ends.options()));
    if (!all_known) return check_indices(op, sizes, 0, size + 1, IndexFailure::RuntimeError);
    TORCH_CHECK(sizes.ge(0).all().item<bool>(), op.name, ": offs must not decrease and has to lie within [0, ", size, "], but is ", ends);
  };
  if (trace::recording_body()) return trace::check_argument(trace::read(*ends), [check](const at::Tensor& t) { check(t, false); });
  check(is_known(*ends) ? known(*ends) : *ends, is_known(*ends));
}

void check_true(const at::Tensor& condition, std::string_view message) {
  std::string text(message.empty() ? "Assertion is failed" : message);
  TORCH_CHECK(condition.numel() == 1, "_assert_async: expected a tensor of one element, but its shape is ", condition.sizes());
  if (trace::recording_body()) return trace::check_argument(trace::read(condition), [text](const at::Tensor& t) { check_true(t, text); });
  if (!is_known(condition)) return trace::check_later(condition.ne(0).to(at::kLong), 1, 2, std::nullopt, text, false);
  TORCH_CHECK(known(condition).is_nonzero(), text);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_assert_async", [](const at::Tensor& condition) { check_true(condition, {}); });
  m.impl("_assert_async.msg", TORCH_FN(check_true));
}

int64_t size_of(const at::Tensor& t, int64_t dim) { return t.dim() == 0 ? 1 : t.size(dim); }

}  // namespace cresset::device
