"""StableHLO for others: XLA runs the text with composites, and with custom calls that reach handlers of its typed FFI."""

import ctypes
import re
import subprocess

import pytest
import torch
import torch.nn.functional as F

import torch_cresset
from test_xla import execute


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.norm, self.up, self.down = torch.nn.LayerNorm(8), torch.nn.Linear(8, 16), torch.nn.Linear(16, 8)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x)), approximate="tanh"))


def test_a_module_and_an_exported_program():
    block, x = Block(), torch.randn(3, 8)
    texts = [torch_cresset.stablehlo(block, x), torch_cresset.stablehlo(torch.export.export(block, (x,)), x)]
    for text in texts:
        assert re.findall(r'composite "aten.gelu".*approximate = "tanh"', text)
        assert 'composite "aten.layer_norm"' in text
        (result,) = execute(text, [x.numpy(), *[p.detach().numpy() for p in block.parameters()]])
        torch.testing.assert_close(torch.from_numpy(result.copy()), block(x).detach())


class Tied(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.head = torch.nn.Embedding(7, 4), torch.nn.Linear(4, 7, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, ids):
        return self.head(self.embedding(ids))


@pytest.mark.parametrize("export", [False, True])
def test_tied_parameters_are_one_argument(export):
    model, ids = Tied().requires_grad_(False), torch.tensor([[1, 3, 6]])
    text = torch_cresset.stablehlo(torch.export.export(model, (ids,)) if export else model, ids)
    (result,) = execute(text, [ids.numpy(), model.head.weight.numpy()])
    torch.testing.assert_close(torch.from_numpy(result.copy()), model(ids))


class Numbered(torch.nn.Module):
    def forward(self, x, *, scale):
        return x * scale + torch.arange(x.shape[0], dtype=torch.float32)


def test_an_exported_program_that_makes_a_tensor_on_the_cpu():
    x, scale = torch.randn(4), torch.randn(4)
    text = torch_cresset.stablehlo(torch.export.export(Numbered(), (x,), dict(scale=scale)))
    (result,) = execute(text, [x.numpy(), scale.numpy()])
    torch.testing.assert_close(torch.from_numpy(result.copy()), Numbered()(x, scale=scale))


def test_gradients_are_part_of_it():
    def loss(x, w):
        return F.gelu(x @ w).square().sum()

    x, w = torch.randn(4, 5), torch.randn(5, 6, requires_grad=True)
    text = torch_cresset.stablehlo(lambda x, w: torch.autograd.grad(loss(x, w), w), x, w)
    assert 'composite "aten.gelu_backward"' in text
    (result,) = execute(text, [x.numpy(), w.detach().numpy()])
    torch.testing.assert_close(torch.from_numpy(result.copy()), torch.autograd.grad(loss(x, w), w)[0])


def test_unused_arguments_keep_their_place():
    text = torch_cresset.stablehlo(lambda a, b, c: c * 2, torch.ones(1), torch.ones(2), torch.ones(3))
    assert "@main(%arg0: tensor<1xf32>, %arg1: tensor<2xf32>, %arg2: tensor<3xf32>)" in text


def test_reading_a_value_is_an_error():
    with pytest.raises(RuntimeError, match="a value is read while its graph is captured"):
        torch_cresset.stablehlo(lambda x: x * float(x.sum()), torch.ones(3))
    assert (torch.ones(2, device="cresset") + 1).tolist() == [2, 2]


HANDLER = r"""
#include <cmath>
#include <cstring>
#include <string_view>
#include "xla/ffi/api/ffi.h"
namespace ffi = xla::ffi;
static int calls = 0, tanh_forms = 0;
static float cdf_slope(float x, float* slope) {
  float t = std::tanh(0.7978845608f * (x + 0.044715f * x * x * x));
  *slope = 0.5f * (1 - t * t) * 0.7978845608f * (1 + 3 * 0.044715f * x * x);
  return 0.5f * (1 + t);
}
static ffi::Error forward(ffi::Buffer<ffi::F32> x, std::string_view approximate, ffi::ResultBuffer<ffi::F32> y) {
  ++calls, tanh_forms += approximate == "tanh";
  float slope;
  for (size_t i = 0; i < x.element_count(); ++i) y->typed_data()[i] = x.typed_data()[i] * cdf_slope(x.typed_data()[i], &slope);
  return ffi::Error::Success();
}
static ffi::Error backward(ffi::Buffer<ffi::F32> g, ffi::Buffer<ffi::F32> x, std::string_view approximate, ffi::ResultBuffer<ffi::F32> y) {
  ++calls, tanh_forms += approximate == "tanh";
  for (size_t i = 0; i < x.element_count(); ++i) {
    float slope, v = x.typed_data()[i], cdf = cdf_slope(v, &slope);
    y->typed_data()[i] = g.typed_data()[i] * (cdf + v * slope);
  }
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(gelu, forward, ffi::Ffi::Bind().Arg<ffi::Buffer<ffi::F32>>().Attr<std::string_view>("approximate").Ret<ffi::Buffer<ffi::F32>>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(gelu_backward, backward,
  ffi::Ffi::Bind().Arg<ffi::Buffer<ffi::F32>>().Arg<ffi::Buffer<ffi::F32>>().Attr<std::string_view>("approximate").Ret<ffi::Buffer<ffi::F32>>());
extern "C" int counted() { return calls * 100 + tanh_forms; }
"""


def test_custom_calls_reach_xla_s_handlers(tmp_path):
    jax = pytest.importorskip("jax", reason="XLA comes with jax, which requirements.txt installs")
    (tmp_path / "handler.cpp").write_text(HANDLER)
    subprocess.run(["g++", "-std=c++17", "-O1", "-shared", "-fPIC", "-I", jax.ffi.include_dir(), tmp_path / "handler.cpp", "-o", tmp_path / "handler.so"], check=True)
    library = ctypes.CDLL(str(tmp_path / "handler.so"))
    jax.ffi.register_ffi_target("aten.gelu", jax.ffi.pycapsule(library.gelu), platform="cpu")
    jax.ffi.register_ffi_target("aten.gelu_backward", jax.ffi.pycapsule(library.gelu_backward), platform="cpu")

    def gradient(x, w):
        return torch.autograd.grad(F.gelu(x @ w, approximate="tanh").square().sum(), w)

    x, w = torch.randn(4, 5), torch.randn(5, 6, requires_grad=True)
    with torch_cresset.composites("gelu*"):
        text = torch_cresset.stablehlo(gradient, x, w, custom_calls=True)
    assert text.count("stablehlo.custom_call @aten.gelu") == 2 and text.count('composite_version = "1"') == 2 and "stablehlo.composite" not in text
    (result,) = execute(text, [x.numpy(), w.detach().numpy()])
    torch.testing.assert_close(torch.from_numpy(result.copy()), gradient(x, w)[0], atol=1e-5, rtol=1e-5)
    assert library.counted() == 202


def test_arguments_have_the_shapes_of_the_tensors():
    model = torch.nn.Sequential(torch.nn.Linear(20, 30), torch.nn.GELU())
    text = torch_cresset.stablehlo(model, torch.randn(4, 9, 20))
    assert "@main(%arg0: tensor<4x9x20xf32>, %arg1: tensor<30x20xf32>, %arg2: tensor<30xf32>) -> tensor<4x9x30xf32>" in text
    assert "slice" not in text
    assert "stablehlo.transpose %arg1, dims = [1, 0]" in torch_cresset.stablehlo(lambda x, w: x @ w.t(), torch.randn(4, 20), torch.randn(30, 20))


def test_constants_may_be_read():
    """As models of several scales do, whose levels' sizes are tensors; the constants stay what they are in the text."""
    def levels(x):
        sizes = torch.tensor([[2, 3], [1, 3]], device=x.device).square()
        areas = sizes.prod(1)
        torch._check_tensor_all(areas.sum() == 45)
        assert areas.tolist() == [36, 9] and areas.cpu().numpy().sum() == 45 and int(areas.max()) == 36
        return [part.sum() for part in x.split(areas.tolist())] + [areas]

    text = torch_cresset.stablehlo(levels, torch.randn(45))
    assert "tensor<36xf32>" in text and "tensor<9xf32>" in text and "stablehlo.reduce" in text


def test_distances_to_a_tensor_of_the_cpu():
    """As of a codec's table that is no buffer: cdist looks at devices before anything is dispatched."""
    table = torch.randn(5, 3)
    text = torch_cresset.stablehlo(lambda x: torch.cdist(x, table).argmin(-1), torch.randn(4, 3))
    assert "(%arg0: tensor<4x3xf32>, %arg1: tensor<5x3xf32>) -> tensor<4xi64>" in text


def test_integers_of_a_module_may_be_read():
    """As audio codecs do, which keep their convolutions' strides in buffers; a result of them stays an argument in the text."""
    class Padded(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("stride", torch.tensor(4), persistent=False)
            self.register_buffer("scale", torch.tensor([2.0]))

        def forward(self, x):
            missing = -x.shape[-1] % int(self.stride)
            return torch.nn.functional.pad(x, (0, missing)) * self.scale, self.stride + 1

    text = torch_cresset.stablehlo(Padded(), torch.randn(10))
    assert "(%arg0: tensor<10xf32>, %arg1: tensor<i64>, %arg2: tensor<1xf32>) -> (tensor<12xf32>, tensor<i64>)" in text
    module = Padded()
    module.forward = lambda x: x * float(module.scale)
    with pytest.raises(RuntimeError, match="a value is read"):
        torch_cresset.stablehlo(module, torch.randn(10))


@pytest.mark.parametrize("read", [lambda x: x.tolist(), lambda x: x.sum(0).tolist(), lambda x: (x > 0).sum(0).cpu().numpy(), lambda x: x.max().item(), lambda x: torch.rand(3, device=x.device).tolist()])
def test_what_depends_on_inputs_may_not(read):
    with pytest.raises(RuntimeError, match="a value is read while its graph is captured"):
        torch_cresset.stablehlo(read, torch.randn(4, 3))


@pytest.mark.parametrize("tensor", [torch.randn(4, 6)[:, ::2], torch.randn(4, 1).expand(4, 3), torch.randn(3, 4).t()], ids=["strided", "expanded", "transposed"])
def test_arguments_are_tensors_and_not_memory(tensor):
    text = torch_cresset.stablehlo(lambda x: x * 2, tensor)
    assert "@main(%arg0: tensor<4x3xf32>) -> tensor<4x3xf32>" in text and "transpose" not in text


def test_what_a_function_writes_around_it_stays_as_it_was():
    norm, layer = torch.nn.BatchNorm1d(4).to("cresset"), torch.nn.Linear(4, 3).to("cresset")
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    pending = torch.ones(3, device="cresset") * 2

    def step(x):
        layer(norm(x)).sum().backward()
        optimizer.step()
        return pending.add_(1)

    state = [t.detach().clone() for t in (norm.running_mean, layer.weight)]
    torch_cresset.stablehlo(step, torch.randn(3, 4))
    torch.testing.assert_close([norm.running_mean, layer.weight.detach()], state)
    assert pending.tolist() == [2, 2, 2]
