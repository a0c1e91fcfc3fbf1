// torch_cresset._C: what the Python package calls.
#include <torch/csrc/Dtype.h>
#include <pybind11/functional.h>
#include <torch/csrc/utils/pybind.h>

#include "composite/catalogue.h"
#include "composite/reference.h"
#include "cresset/metrics.h"
#include "cresset/plugins.h"
#include "device/generator.h"
#include "device/repeated_call.h"
#include "python/kept_operator.h"
#include "runtime/buffer.h"
#include "runtime/profile.h"
#include "runtime/thread_pool.h"
#include "trace/capture.h"
#include "trace/composite.h"
#include "trace/partition.h"
#include "trace/step.h"
#include "trace/window.h"
#include "trace/cell.h"

namespace py = pybind11;
using namespace cresset;

namespace {

// Where Python is, outside PyTorch: for the report of a recompile.
std::string python_line() {
  if (!Py_IsInitialized()) return {};
  py::gil_scoped_acquire gil;
  auto frame = py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
  while (frame) {
    auto* f = reinterpret_cast<PyFrameObject*>(frame.ptr());
    auto code = py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(PyFrame_GetCode(f)));
    auto file = code.attr("co_filename").cast<std::string>();
    if (file.find("/torch/") == std::string::npos && file.find("/torch_cresset/") == std::string::npos)
      return file + ":" + std::to_string(PyFrame_GetLineNumber(f));
    frame = py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(PyFrame_GetBack(f)));
  }
  return {};
}

// A composite's attribute. bool before int: Python's is one of those too.
trace::Attribute attribute_of(const std::string& name, const py::handle& value) {
  if (value.is_none()) return {};
  if (py::isinstance<py::bool_>(value)) return value.cast<bool>();
  auto fits = [](const py::handle& v) {
    int overflow = 0;
    PyLong_AsLongLongAndOverflow(v.ptr(), &overflow);
    return overflow == 0;
  };
  if (py::isinstance<py::int_>(value) && fits(value)) return value.cast<int64_t>();
  if (py::isinstance<py::float_>(value)) return value.cast<double>();
  if (py::isinstance<py::str>(value)) return value.cast<std::string>();
  if (THPDtype_Check(value.ptr())) return reinterpret_cast<THPDtype*>(value.ptr())->scalar_type;
  if (py::isinstance<py::sequence>(value)) {
    auto all = [&](auto test) { return std::all_of(value.begin(), value.end(), test); };
    if (all([](const py::handle& v) { return py::isinstance<py::bool_>(v); }) && py::len(value) > 0) return value.cast<std::vector<bool>>();
    if (all([&](const py::handle& v) { return py::isinstance<py::int_>(v) && !py::isinstance<py::bool_>(v) && fits(v); })) return value.cast<std::vector<int64_t>>();
    if (all([](const py::handle& v) { return py::isinstance<py::float_>(v) || py::isinstance<py::int_>(v); })) return value.cast<std::vector<double>>();
  }
  throw py::type_error("cresset: attribute " + name + " of a composite is bool, int (of 64 bits), float, str, torch.dtype, None or a list of numbers, not " +
                       py::repr(value).cast<std::string>());
}

}  // namespace

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  auto release = py::call_guard<py::gil_scoped_release>();
  trace::location_hook = &python_line;
  m.def("counters", &counters);
  m.def("reset_counters", &reset_counters);
  m.def("count", &count, py::arg("name"), py::arg("n") = 1);
  m.def("metrics_report", &trace::metrics_report);
  m.def("sync", &trace::sync, release);
  m.def("begin_optimizer_step", &trace::begin_optimizer_step, release);
  m.def("end_optimizer_step", &trace::end_optimizer_step, release);
  m.def("begin_step", &trace::begin_step, release);
  m.def("end_step", &trace::end_step, release);
  m.def("set_num_threads", &set_num_threads, py::arg("threads"));
  m.def("num_threads", &num_threads);
  m.def("default_generator", [] { return device::default_generator(); });
  m.def("empty_cache", &empty_cache);
  m.def("reset_peak_memory", &reset_peak_memory);
  m.def("memory_stats", [] {
    MemoryStats s = memory_stats();
    return std::map<std::string, size_t>{{"in_use", s.in_use}, {"peak", s.peak}, {"cached", s.cached}};
  });
  m.def("compile_records", [] {
    py::list all;
    for (const auto& r : trace::compile_records())
      all.append(py::dict(py::arg("hash") = r.hash, py::arg("nodes") = r.nodes, py::arg("seconds") = r.seconds, py::arg("why") = r.why, py::arg("where") = r.where,
                          py::arg("path") = r.path, py::arg("kernels") = r.stats.kernels, py::arg("unique_kernels") = r.stats.unique_kernels,
                          py::arg("arena_bytes") = r.stats.arena_bytes, py::arg("temporary_bytes") = r.stats.temporary_bytes, py::arg("donated_bytes") = r.stats.donated_bytes, py::arg("kept_bytes") = r.stats.kept_bytes));
    return all;
  });
  m.def("begin_profile", &begin_profile);
  m.def("end_profile", [] {
    py::list rows;
    for (const ProfileRow& row : end_profile()) rows.append(py::make_tuple(row.kernel, row.calls, row.seconds));
    return rows;
  });
  m.def("implicit_composites", [] {
    std::vector<std::tuple<std::string, std::string, int>> all;  // name, operator, version
    for (const composite::Entry& e : composite::catalogue())
      if (!e.implicit.empty()) all.emplace_back(e.name, e.implicit, e.version);
    return all;
  });
  m.def("interpret_composites", [](const std::string& selection) {
    trace::sync();
    composite::interpret_composites(selection);
  }, py::arg("selection"), release);
  m.def("load_plugin", &load_plugin, py::arg("path"), release);
  m.def("add_raised", &trace::add_raised, release);
  m.def("check_composites", &trace::check_composites);
  m.def("define_composite", &composite::define_composite);
  m.def("is_saved", [](const std::string& name) { return composite::is_saved(name); }, "By a name of the catalogue or of one of its operators.");
  m.def("set_composites", &trace::set_composites, release);
  m.def("own_composites", &trace::own_composites);
  m.def("composites", &trace::composites);
  m.def("begin_watch", &trace::begin_watch);
  m.def("end_watch", [] {
    py::list programs;
    for (const auto& program : trace::end_watch()) {
      py::list fates;
      for (const CompositeFate& f : program->composites()) fates.append(py::make_tuple(f.name, f.version, f.attributes, f.types, f.became, f.why, f.count));
      programs.append(fates);
    }
    return programs;
  });
  m.def("wrap", py::overload_cast<const at::Tensor&, bool, bool>(&trace::stand_in), py::arg("tensor"), py::arg("known") = false, py::arg("weight") = false,
        "A device tensor over a tensor's bytes to record a graph on, within a capture. `known`: the values may be read there. `weight`: they are the same in most calls.");
  py::class_<trace::CapturedProgram, std::shared_ptr<trace::CapturedProgram>>(m, "CapturedProgram")
      .def("run", &trace::CapturedProgram::run, release)
      .def("takes", &trace::CapturedProgram::takes)
      .def("written", &trace::CapturedProgram::written)
      .def("draws", &trace::CapturedProgram::draws);
  m.def("begin_body", &trace::begin_body, py::arg("arguments"));
  m.def("abort_body", &trace::abort_body);
  m.def("end_body", [](const std::string& name, int version, const py::dict& attributes, const std::vector<at::Tensor>& results) {
    std::vector<std::pair<std::string, trace::Attribute>> all;
    for (auto [key, value] : attributes) all.emplace_back(key.cast<std::string>(), attribute_of(key.cast<std::string>(), value));
    return trace::end_body(name, version, all, results);
  }, py::arg("name"), py::arg("version"), py::arg("attributes"), py::arg("results"));
  py::class_<trace::Composite, std::shared_ptr<trace::Composite>>(m, "Composite").def("record", &trace::Composite::record, py::arg("arguments"));
  using device::RepeatedCall;
  py::class_<RepeatedCall, std::unique_ptr<RepeatedCall, py::nodelete>>(m, "RepeatedCall")
      .def(py::init<RepeatedCall::Record, RepeatedCall::RecordGradient, RepeatedCall::Backward>(), py::arg("record"), py::arg("record_gradient"), py::arg("backward"))
      .def("__call__", &RepeatedCall::operator(), py::arg("inputs"), release)
      .def("forget", &RepeatedCall::forget);
  m.def("keep_operator", &python::keep_operator, py::arg("name"), py::arg("kernel"), py::arg("repeated"));
  m.def("begin_capture", &trace::begin_capture, py::arg("calls_kernels") = false);
  m.def("abort_capture", &trace::abort_capture);
  m.def("captured_program", &trace::captured_program, py::arg("inputs"), py::arg("outputs"), py::arg("saved") = std::vector<at::Tensor>(), release);
  m.def("partition", [](const std::vector<at::Tensor>& inputs, const std::vector<at::Tensor>& outputs, const std::vector<at::Tensor>& tangents,
                        const std::vector<at::Tensor>& gradients) {
    auto [saved, stand_ins, used] = trace::partition(inputs, outputs, tangents, gradients);
    return std::make_tuple(saved, stand_ins, used);
  }, py::arg("inputs"), py::arg("outputs"), py::arg("tangents"), py::arg("gradients"));
  m.def("end_capture_as_text", &trace::end_capture_as_text, py::arg("inputs"), py::arg("outputs"), py::arg("custom_calls"), release);
}
