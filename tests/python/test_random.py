"""Random bits: Philox's own numbers, the same however they are computed."""

import pytest
import torch
import torch.nn.functional as F

import torch_cresset


def drawn(shape):
    torch.manual_seed(0)
    return torch.empty(shape, dtype=torch.int64, device="cresset").random_(0, 2**32).cpu()


def test_words_are_philox_s():
    bits = drawn(64)
    assert [f"{n:08x}" for n in bits[[0, 8, 16, 24]]] == ["6627e8d5", "e169c58d", "bc57ac4c", "9b00dbd8"]  # the paper's, of counter and key 0
    assert len(set(bits.tolist())) == 64


SHAPES = [(), (1,), (31,), (7, 32), (5, 70), (3, 2, 96), (20000,), (3, 1000), (2, 3, 4, 8)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_whole_and_decomposed_are_the_same_bits(shape):
    whole = drawn(shape)
    with torch_cresset.composites(except_=["cresset.random_bits"]):
        torch.testing.assert_close(drawn(shape), whole, rtol=0, atol=0)
    flat = drawn(32768).flatten()[:whole.numel()]
    assert torch.equal(whole.flatten(), flat)  # the shape does not matter


@pytest.mark.parametrize("shape", [(6, 64), (5, 70), (40, 96)], ids=str)
def test_dropout_is_the_same_within_other_kernels(shape):
    x, w = torch.randn(shape, device="cresset"), torch.randn(shape[-1], shape[-1], device="cresset")

    def kept(function):
        torch.manual_seed(3)
        return (function(x).cpu() != 0)

    alone = kept(lambda x: F.dropout(x, 0.4))
    assert torch.equal(alone, kept(lambda x: F.dropout(x @ w + 1, 0.4)))
    assert torch.equal(alone, kept(lambda x: F.dropout(F.softmax(x, -1), 0.4)))
    assert torch.equal(alone, kept(lambda x: F.dropout((x @ w).exp(), 0.4) * 3))


@pytest.mark.parametrize("p", [0.0, 1e-9, 0.5, 1.0])
def test_dropout_at_the_ends(p):
    y = F.dropout(torch.ones(4096, device="cresset"), p).cpu()
    assert (y != 0).double().mean().sub(1 - p).abs() < 0.05
    assert p != 1 or not y.any()


def test_draws_of_one_program_differ():
    torch.manual_seed(5)
    a, b = torch.rand(1000, device="cresset"), torch.rand(1000, device="cresset")
    assert abs(torch.corrcoef(torch.stack([a, b]).cpu())[0, 1]) < 0.15 and not torch.equal(a.cpu(), b.cpu())


@pytest.mark.parametrize("draw, message", [(lambda x: x.uniform_(3, -1), "from=3 > to=-1"), (lambda x: x.bernoulli_(2), "p to be in"), (lambda x: x.random_(5, 2), "from=5 >= to=2"),
                                           (lambda x: x.random_(0), "from=0 >= to=0"), (lambda x: x.exponential_(-1), "lambda")])
def test_impossible_ranges_raise(draw, message):
    for device in ("cpu", "cresset"):
        with pytest.raises(RuntimeError, match=message):
            draw(torch.zeros(2, device=device))
