"""Dtypes that programs have no code for: such operators run on the CPU, counted, and their tensors are tensors like others."""

import pytest
import torch

import torch_cresset
from conftest import fallbacks

X = torch.randn(2, 3, 4, 2)
ANGLES = torch.polar(torch.ones(3, 4), torch.randn(3, 4))


def rotated(x):
    """The rotary embedding of models that write it with complex numbers."""
    return torch.view_as_real(torch.view_as_complex(x) * ANGLES.to(x.device)).flatten(2)


def gradient(function):
    def both(x):
        x = x.clone().requires_grad_()
        y = function(x)
        return torch.autograd.grad(y.square().sum(), x)[0]

    return both


def doubled_in_place(x):
    x = x.clone()
    torch.view_as_complex(x).mul_(2)
    return x


FUNCTIONS = {
    "rotated": rotated,
    "its gradient": gradient(rotated),
    "fourier": lambda x: torch.fft.fftn(x, dim=(1, 2)).real,
    "its gradient ": gradient(lambda x: torch.fft.fftn(x, dim=(1, 2)).real),
    "there and back": lambda x: torch.fft.irfft(torch.fft.rfft(x, dim=2) * 2, n=4, dim=2),
    "layout": lambda x: torch.view_as_real(torch.view_as_complex(x).transpose(0, 1).reshape(3, 8).contiguous()),
    "conjugate": lambda x: torch.view_as_complex(x).conj().resolve_conj().imag.clone(),
    "conjugate's view": lambda x: torch.view_as_complex(x).conj().imag + 1,
    "joined": lambda x: torch.cat([torch.view_as_complex(x), torch.view_as_complex(x) + 1j], 1).abs(),
    "chosen": lambda x: torch.where(torch.view_as_complex(x).real > 0, torch.view_as_complex(x), torch.zeros((), dtype=torch.complex64, device=x.device)).sum().abs(),
    "in place": doubled_in_place,
    "numbers": lambda x: (x[..., 0] * 2j).imag,
    "eight bits": lambda x: x.to(torch.float8_e4m3fn).to(torch.float32),
    "wide unsigned": lambda x: (x * 100).abs().to(torch.uint16).to(torch.int32),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_like_the_cpu(name):
    torch.testing.assert_close(FUNCTIONS[name](X.to("cresset")).cpu(), FUNCTIONS[name](X))


def test_conjugates_are_copied_as_such():
    x = torch.view_as_complex(X)
    torch.testing.assert_close(x.to("cresset").conj().cpu(), x.conj().resolve_conj())
    torch.testing.assert_close(x.conj().to("cresset").cpu(), x.conj().resolve_conj())
    assert x.to("cresset").conj()[0, 0, 0].item() == x.conj()[0, 0, 0].item()


def test_a_write_through_one_view_shows_in_the_other():
    x = X.to("cresset").clone()
    z = torch.view_as_complex(x)
    x += 1
    torch.testing.assert_close(z.cpu(), torch.view_as_complex(X + 1))
    z[0] = 0
    assert x[0].abs().sum().item() == 0 and x[1].abs().sum().item() > 0


def test_it_is_counted():
    torch.view_as_complex(X.to("cresset")).tan()
    assert fallbacks() == {"aten::tan": 1}


def test_compiled_around():
    torch.testing.assert_close(torch.compile(lambda x: rotated(x * 2) + 1, backend="cresset")(X), rotated(X * 2) + 1)


def test_complex_numbers_within_a_compiled_graph():
    """Rotary embeddings of complex numbers, as DeepSeek-V2 has: the product splits the graph, the views around it belong to its parts."""
    def function(x, rotation):
        z = torch.view_as_complex(x.reshape(2, 4, 8, 4, 2))
        return torch.view_as_real(z * rotation).flatten(3) * 2

    x, rotation = torch.randn(2, 4, 8, 8), torch.polar(torch.ones(8, 4), torch.randn(8, 4))
    torch._dynamo.reset()
    torch.testing.assert_close(torch.compile(function, backend="cresset")(x, rotation), function(x, rotation))
    x.requires_grad_()
    expected, = torch.autograd.grad(function(x, rotation).sin().sum(), x)
    actual, = torch.autograd.grad(torch.compile(function, backend="cresset")(x, rotation).sin().sum(), x)
    torch.testing.assert_close(actual, expected)


def test_two_operators_without_code_in_one_graph():
    """The graph is split twice, and its only result is no list of its rows."""
    def function(x):
        return torch.special.i1(torch.special.i0(x.sin()).cos() * 2).tan()

    x = torch.randn(4, 5)
    torch._dynamo.reset()
    torch.testing.assert_close(torch.compile(function, backend="cresset")(x), function(x))
