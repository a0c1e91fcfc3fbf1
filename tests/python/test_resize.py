"""Images, lines and volumes of another size: torch.nn.functional.interpolate in all its modes, against eager."""

import itertools

import pytest
import torch
import torch.nn.functional as F
import torch_cresset
from conftest import fallbacks

SIZES = (9, 11, 10)
MODES = {1: ["nearest", "linear", "nearest-exact"], 2: ["nearest", "bilinear", "bicubic", "nearest-exact"], 3: ["nearest", "trilinear", "nearest-exact"]}
TO = {"larger": dict(scale_factor=2.0), "smaller": dict(scale_factor=0.37), "size": dict(size=(5, 13, 7)), "recomputed": dict(scale_factor=1.7, recompute_scale_factor=True)}


def hows():
    for rank, modes in MODES.items():
        for mode, antialias, corners in itertools.product(modes, (False, True), (None, False, True)):
            if ("nearest" in mode) == (corners is None) and (not antialias or mode in ("bilinear", "bicubic")):
                yield pytest.param(rank, dict(mode=mode, antialias=antialias, align_corners=corners), id=f"{rank}-{mode}{'-antialias' * antialias}{'-corners' * bool(corners)}")


def run(device, x, how):
    leaf = x.to(device).requires_grad_()
    y = F.interpolate(leaf, **how)
    weigh = (torch.arange(y.numel()) % 5 - 2.0).reshape(y.shape).to(y)
    return [t.cpu() for t in (y.detach(), *torch.autograd.grad((y * weigh).sum(), leaf))]


@pytest.mark.parametrize("to", TO)
@pytest.mark.parametrize("rank,how", hows())
def test_interpolate(rank, how, to):
    how = how | TO[to]
    if "size" in how:
        how["size"] = how["size"][:rank]
    x = torch.randn(2, 3, *SIZES[:rank])
    expected = run("cpu", x, how)
    torch_cresset.reset_counters()
    torch.testing.assert_close(run("cresset", x, how), expected)
    assert not fallbacks()


@pytest.mark.parametrize("width", [13, 24, 50, 100])
@pytest.mark.parametrize("factor", [0.3, 0.5, 1, 2, 4])
@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_rows_of_vectors(mode, factor, width, dtype):
    how = dict(mode=mode, size=(int(6 * factor), int(width * factor)))
    x = torch.randn(2, 3, 6, width, dtype=dtype)
    torch_cresset.reset_counters()
    # Eager's gradients of bf16 are summed in bf16.
    expected = [t.to(dtype) for t in run("cpu", x.float(), how)] if dtype == torch.bfloat16 else run("cpu", x, how)
    torch.testing.assert_close(run("cresset", x, how), expected)
    assert not fallbacks()


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
def test_integers_are_taken_as_they_are(mode):
    x = torch.randint(0, 255, (1, 3, 8, 8), dtype=torch.uint8)
    torch_cresset.reset_counters()
    assert torch.equal(F.interpolate(x.to("cresset"), size=(5, 11), mode=mode).cpu(), F.interpolate(x, size=(5, 11), mode=mode))
    assert not fallbacks()
