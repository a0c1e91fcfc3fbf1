// Indices out of range are errors; compiled code would clamp them. Where the values are known they are checked on the user's line,
// otherwise by the program that computes them.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/List.h>

#include <optional>
#include <string_view>

#include "trace/node.h"

namespace cresset::device {

/// Whether a tensor of the device has its values, so that they can be looked at without running what is recorded.
bool is_known(const at::Tensor& t);

/// What eager raises for this operator.
enum class IndexFailure { IndexError, RuntimeError };

/// Checks low <= index < high for every index except `allowed`. Raises now if the values are there, or lets the program do so.
void check_indices(const trace::Operator& op, const at::Tensor& indices, int64_t low, int64_t high, IndexFailure failure = IndexFailure::IndexError,
                   std::optional<int64_t> allowed = std::nullopt);
/// The same for x[indices], whose indices may be negative; masks have nothing to check.
void check_indices(const trace::Operator& op, const at::Tensor& self, const c10::List<std::optional<at::Tensor>>& indices);

/// The items of bags are rows of the table, and bags begin within the items.
void check_bags(const trace::Operator& op, const at::Tensor& weight, const at::Tensor& indices, const at::Tensor& offsets);

/// Integers are not divided by zero, here as little as on the CPU.
void check_divisor(const trace::Operator& op, const at::Tensor& dividend, const at::Tensor& divisor);

/// The groups of _grouped_mm end one behind the other, within the matrix that they divide.
void check_groups(const trace::Operator& op, const at::Tensor& self, const at::Tensor& mat2, const std::optional<at::Tensor>& ends);

/// torch._assert_async: raises RuntimeError with this message if the one element is zero.
void check_true(const at::Tensor& condition, std::string_view message);

/// The size of a dimension; 1 for a tensor of rank 0.
int64_t size_of(const at::Tensor& t, int64_t dim);

}  // namespace cresset::device
