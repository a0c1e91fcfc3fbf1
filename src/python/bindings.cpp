// torch_cresset._C: what the Python package calls.
#include <torch/csrc/utils/pybind.h>

#include "cresset/metrics.h"
#include "device/generator.h"
#include "runtime/buffer.h"
#include "runtime/thread_pool.h"
#include "trace/capture.h"
#include "trace/step.h"
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

}  // namespace

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  auto release = py::call_guard<py::gil_scoped_release>();
  trace::location_hook = &python_line;
  m.def("counters", &counters);
  m.def("reset_counters", &reset_counters);
  m.def("metrics_report", &trace::metrics_report);
  m.def("sync", &trace::sync, release);
  m.def("window_end", &trace::window_end, release);
  m.def("begin_step", &trace::begin_step);
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
                          py::arg("arena_bytes") = r.stats.arena_bytes));
    return all;
  });
  m.def("wrap", &trace::stand_in, "A device tensor over a tensor's bytes to record a graph on, within a capture.");
  py::class_<trace::CapturedProgram, std::shared_ptr<trace::CapturedProgram>>(m, "CapturedProgram").def("run", &trace::CapturedProgram::run, release);
  m.def("begin_capture", &trace::begin_capture);
  m.def("abort_capture", &trace::abort_capture);
  m.def("end_capture", &trace::end_capture, py::arg("inputs"), py::arg("outputs"), release);
}
