"""Complex numbers are pairs of real ones in programs; Fourier transforms are composites over them."""

import re

import pytest
import torch
import transformers

import torch_cresset
from conftest import fallbacks

Z, W = (torch.randn(3, 4, dtype=torch.complex64, generator=torch.Generator().manual_seed(i)) for i in (0, 1))
R, M, I = torch.randn(3, 4, generator=torch.Generator().manual_seed(2)), torch.randn(4, 5, dtype=torch.complex64, generator=torch.Generator().manual_seed(3)), torch.tensor([2, 0, 1])

OPERATORS = {
    "mul": lambda z, w, r, m, i: z * w,
    "mul by real": lambda z, w, r, m, i: z * r,
    "mul by a number": lambda z, w, r, m, i: z * 2,
    "real by a complex number": lambda z, w, r, m, i: r * (1 + 2j),
    "add": lambda z, w, r, m, i: torch.add(z, w, alpha=2),
    "add a real": lambda z, w, r, m, i: r + z,
    "sub": lambda z, w, r, m, i: z - w,
    "rsub": lambda z, w, r, m, i: 1 - z,
    "div": lambda z, w, r, m, i: z / w,
    "div by real": lambda z, w, r, m, i: z / r,
    "div by large": lambda z, w, r, m, i: z / (w * 1e30),
    "reciprocal": lambda z, w, r, m, i: 1 / z,
    "neg": lambda z, w, r, m, i: -z,
    "abs": lambda z, w, r, m, i: z.abs(),
    "angle": lambda z, w, r, m, i: z.angle(),
    "exp": lambda z, w, r, m, i: z.exp(),
    "log": lambda z, w, r, m, i: z.log(),
    "sqrt": lambda z, w, r, m, i: z.sqrt(),
    "sgn": lambda z, w, r, m, i: z.sgn(),
    "square": lambda z, w, r, m, i: z**2,
    "cube": lambda z, w, r, m, i: z**3,
    "conj": lambda z, w, r, m, i: z.conj() * w,
    "imaginary part of conj": lambda z, w, r, m, i: z.conj().imag * 2,
    "adjoint": lambda z, w, r, m, i: z.mH @ w,
    "cat": lambda z, w, r, m, i: torch.cat([z, w, r], 0),
    "stack": lambda z, w, r, m, i: torch.stack([z, w], -1),
    "where": lambda z, w, r, m, i: torch.where(r > 0, z, w),
    "where a number": lambda z, w, r, m, i: torch.where(r > 0, z, 0.0),
    "masked_fill": lambda z, w, r, m, i: z.masked_fill(r > 0, 1j),
    "sum": lambda z, w, r, m, i: z.sum(),
    "sum of a dimension": lambda z, w, r, m, i: z.sum(1, keepdim=True),
    "mean": lambda z, w, r, m, i: z.mean(0),
    "cumsum": lambda z, w, r, m, i: z.cumsum(-1),
    "norm": lambda z, w, r, m, i: torch.linalg.vector_norm(z),
    "mm": lambda z, w, r, m, i: z @ m,
    "bmm": lambda z, w, r, m, i: z.expand(2, 3, 4) @ m.expand(2, 4, 5),
    "linear": lambda z, w, r, m, i: torch.nn.functional.linear(z, m.T, m[0]),
    "einsum": lambda z, w, r, m, i: torch.einsum("ij,jk->ik", z, m),
    "flip": lambda z, w, r, m, i: z.flip(-1),
    "roll": lambda z, w, r, m, i: z.roll(1, 0),
    "repeat": lambda z, w, r, m, i: z.repeat(2, 1),
    "tril": lambda z, w, r, m, i: z.tril() + w.triu(),
    "gather": lambda z, w, r, m, i: z.gather(0, i[None]),
    "index_select": lambda z, w, r, m, i: z.index_select(0, i),
    "index": lambda z, w, r, m, i: z[i],
    "index_put": lambda z, w, r, m, i: z.index_put((i[:2],), w[:2]),
    "pad": lambda z, w, r, m, i: torch.nn.functional.pad(z, (1, 2)),
    "transposed": lambda z, w, r, m, i: z.T * w.T,
    "copy of a transposed": lambda z, w, r, m, i: z.T.clone(),
    "contiguous": lambda z, w, r, m, i: z.T.contiguous(),
    "eq": lambda z, w, r, m, i: z == z,
    "ne": lambda z, w, r, m, i: z != w,
    "isclose": lambda z, w, r, m, i: torch.isclose(z, w),
    "polar": lambda z, w, r, m, i: torch.polar(r.abs(), r),
    "complex": lambda z, w, r, m, i: torch.complex(r, r * 2),
    "from real": lambda z, w, r, m, i: r.to(torch.complex64) * z,
    "complex128": lambda z, w, r, m, i: z.to(torch.complex128) * w,
    "in place": lambda z, w, r, m, i: z.clone().mul_(w).add_(1j),
    "filled": lambda z, w, r, m, i: torch.zeros_like(z) + torch.full_like(z, 2j) + torch.ones_like(z),
}


def like_eager(function, *inputs, strides=True):
    """Results, strides and gradients, with nothing left to the CPU."""
    on_cpu = [t.clone().requires_grad_(t.is_floating_point() or t.is_complex()) for t in inputs]
    on_device = [t.detach().to("cresset").requires_grad_(t.requires_grad) for t in on_cpu]
    torch_cresset.sync()
    torch_cresset.reset_counters()
    expected, actual = function(*on_cpu), function(*on_device)
    torch.testing.assert_close(actual.detach().cpu(), expected.detach())
    assert not strides or actual.stride() == expected.stride()
    if expected.requires_grad:
        weights = (torch.arange(expected.numel()).reshape(expected.shape) / 7).to(expected.dtype)
        wanted = torch.autograd.grad(expected, [t for t in on_cpu if t.requires_grad], weights, allow_unused=True)
        found = torch.autograd.grad(actual, [t for t in on_device if t.requires_grad], weights.to("cresset"), allow_unused=True)
        for w, f in zip(wanted, found):
            assert (w is None) == (f is None)
            if w is not None:
                torch.testing.assert_close(f.cpu(), w)
    assert fallbacks() == {}


@pytest.mark.parametrize("name", OPERATORS)
def test_operators(name):
    like_eager(OPERATORS[name], Z, W, R, M, I)


def test_division_by_zero():
    for z in (Z, torch.tensor([1 + 2j, -1 + 0j, 0j])):
        torch.testing.assert_close((z.to("cresset") / 0.0).cpu(), z / 0.0, equal_nan=True)


def test_out_and_errors():
    z, w = Z.to("cresset"), W.to("cresset")
    out = torch.empty(0, dtype=torch.complex64, device="cresset")
    torch.testing.assert_close(torch.mul(z, w, out=out).cpu(), Z * W)
    with pytest.raises(RuntimeError, match="can't be cast"):
        R.to("cresset").mul_(z)
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        z[0].clone().mul_(w)


def test_random_numbers_have_the_variance_of_one():
    z = torch.randn(10000, dtype=torch.complex64, device="cresset").cpu()
    assert abs(z.real.var().item() - 0.5) < 0.05 and abs(z.imag.var().item() - 0.5) < 0.05


FFT = torch.fft
TRANSFORMS = {
    "fft": lambda x, z: FFT.fft(z), "ifft": lambda x, z: FFT.ifft(z), "of real": lambda x, z: FFT.fft(x), "rfft": lambda x, z: FFT.rfft(x),
    "irfft": lambda x, z: FFT.irfft(z, n=x.shape[-1]), "longer irfft": lambda x, z: FFT.irfft(z, n=2 * x.shape[-1] + 5), "fft2": lambda x, z: FFT.fft2(z, norm="ortho"),
    "rfft2": lambda x, z: FFT.rfft2(x), "irfft2": lambda x, z: FFT.irfft2(z, norm="forward"), "first dimension": lambda x, z: FFT.fft(z, dim=0), "hfft": lambda x, z: FFT.hfft(z),
}


@pytest.mark.parametrize("name", TRANSFORMS)
@pytest.mark.parametrize("shape", [(3, 4, 6), (2, 7, 13), (2, 3, 130), (2, 1009), (2, 2, 512)])
def test_transforms(name, shape):
    generator = torch.Generator().manual_seed(5)
    like_eager(TRANSFORMS[name], torch.randn(shape, dtype=torch.float64, generator=generator), torch.randn(shape, dtype=torch.complex128, generator=generator), strides=False)  # eager's are its library's


@pytest.mark.parametrize("name", TRANSFORMS)
@pytest.mark.parametrize("shape, dtype", [((2, 7, 13), torch.float64), ((2, 2, 512), torch.float64), ((2, 3, 130), torch.float32)])
def test_transforms_decomposed(name, shape, dtype):
    generator = torch.Generator().manual_seed(5)
    x, z = torch.randn(shape, dtype=dtype, generator=generator), torch.complex(*torch.randn(2, *shape, dtype=dtype, generator=generator))
    with torch_cresset.composites(except_=["aten._fft_c2c", "aten._fft_r2c", "aten._fft_c2r"]):
        actual = TRANSFORMS[name](x.to("cresset"), z.to("cresset")).cpu()
    expected = TRANSFORMS[name](x, z)
    # Relative to the largest number: each is a sum over all.
    tolerance = 2e-6 if dtype == torch.float32 else 1e-13
    assert (actual - expected).abs().max() <= tolerance * expected.abs().max()


def test_transforms_are_whole_in_stablehlo():
    text = torch_cresset.stablehlo(lambda x: FFT.irfft2(FFT.rfft2(x)) + FFT.fft2(x).real, torch.randn(4, 6))
    main = text.partition("func.func private")[0]
    assert [re.search(f'stablehlo.composite "aten._fft_{kind}"', main) is not None for kind in ("r2c", "c2r", "c2c")] == [True] * 3
    assert "dot_general" not in main and "complex" not in text


def rotated(x, rotation):
    """The rotary embedding of models that write it with complex numbers, as Llama 4 and DeepSeek-V2 do."""
    z = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(z * rotation).flatten(3) * 2


@pytest.mark.parametrize("road", ["device", "compile"])
def test_rotary_embedding(road):
    x, rotation = torch.randn(2, 4, 8, 8), torch.polar(torch.ones(8, 4), torch.randn(8, 4))
    torch._dynamo.reset()
    run = torch.compile(rotated, backend="cresset", fullgraph=True) if road == "compile" else rotated
    move = (lambda t: t) if road == "compile" else (lambda t: t.detach().to("cresset"))
    torch_cresset.sync()
    torch_cresset.reset_counters()
    x1, x2 = x.clone().requires_grad_(), move(x).requires_grad_()
    expected, actual = rotated(x1, rotation), run(x2, move(rotation))
    torch.testing.assert_close(actual.detach().cpu(), expected.detach())
    expected.sin().sum().backward()
    actual.sin().sum().backward()
    torch.testing.assert_close(x2.grad.cpu(), x1.grad)
    assert fallbacks() == {}


def test_rotary_embedding_as_stablehlo():
    x, rotation = torch.randn(2, 4, 8, 8), torch.polar(torch.ones(8, 4), torch.randn(8, 4))
    text = torch_cresset.stablehlo(rotated, x, rotation)
    assert "complex" not in text


def small(cls, config, **sizes):
    torch.manual_seed(0)
    return cls(config(**sizes)).eval()


MODELS = {
    "fnet": lambda: (small(transformers.FNetModel, transformers.FNetConfig, vocab_size=100, hidden_size=24, num_hidden_layers=2, intermediate_size=48, max_position_embeddings=16),
                     torch.randint(4, 100, (2, 12), generator=torch.Generator().manual_seed(1))),
    "llama4": lambda: (small(transformers.Llama4ForCausalLM, transformers.Llama4TextConfig, vocab_size=100, hidden_size=32, intermediate_size=64, intermediate_size_mlp=64,
                             num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=8, num_local_experts=2, max_position_embeddings=64, pad_token_id=0,
                             use_cache=False),
                       torch.randint(4, 100, (2, 12), generator=torch.Generator().manual_seed(1))),
}


@pytest.mark.parametrize("name", MODELS)
def test_models(name):
    model, x = MODELS[name]()
    expected = model(x)[0]
    text = torch_cresset.stablehlo(model, x)
    assert "complex" not in text
    torch._dynamo.reset()
    torch.testing.assert_close(torch.compile(model, backend="cresset")(x)[0], expected)
    expected.square().mean().backward()
    gradients = {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}
    model.zero_grad()
    model.to("cresset")
    torch_cresset.sync()
    torch_cresset.reset_counters()
    actual = model(x.to("cresset"))[0]
    torch.testing.assert_close(actual.cpu(), expected)
    actual.square().mean().backward()
    for n, p in model.named_parameters():
        if n in gradients:
            torch.testing.assert_close(p.grad.cpu(), gradients[n])
    assert fallbacks() == {}
