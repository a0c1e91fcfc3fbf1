// Operators of ATen's that Python's composites keep whole: the calls that it has planned are made without it.
#pragma once

#include <torch/csrc/utils/pybind.h>

#include <string>

namespace cresset::python {

/// Registers the device's kernel for autograd of an operator with one result. Both functions take all its arguments, in the schema's order. `kernel` makes
/// every call that is not ordinary; `repeated`, asked once for each set of attributes and of the tensors' types, says which RepeatedCall takes the tensors of such
/// calls, in the schema's order as well, or None if `kernel` makes them all.
void keep_operator(const std::string& name, pybind11::function kernel, pybind11::function repeated);

}  // namespace cresset::python
