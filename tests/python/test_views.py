"""Views of tensors, as they are read and written: results are eager's, and the StableHLO says slices."""

import random

import pytest
import torch

import torch_cresset


def random_view(size, rng):
    """A few view operations, one after the other, that fit a tensor of this size; and the size of what they give."""
    steps, shape = [], torch.empty(size)
    for _ in range(rng.randint(1, 4)):
        if shape.dim() == 0:
            break
        dim, other = rng.randrange(shape.dim()), rng.randrange(shape.dim())
        count = shape.shape[dim]
        kind = rng.choice(["slice", "slice", "transpose", "select", "unsqueeze", "flatten"])
        if kind == "slice" and count > 1:
            first, step = rng.randrange(count), rng.choice([1, 1, 2, 3])
            step_of = lambda t, d=dim, s=slice(first, rng.randint(first + 1, count), step): t[(slice(None),) * d + (s,)]
        elif kind == "transpose":
            step_of = lambda t, d=dim, e=other: t.transpose(d, e)
        elif kind == "select":
            step_of = lambda t, d=dim, i=rng.randrange(count): t.select(d, i)
        elif kind == "unsqueeze":
            step_of = lambda t, d=dim: t.unsqueeze(d)
        elif kind == "flatten" and shape.dim() > 1 and shape.is_contiguous():
            step_of = lambda t: t.view(t.shape[0] * t.shape[1], *t.shape[2:])
        else:
            continue
        steps.append(step_of)
        shape = step_of(shape)

    def view(t):
        for step_of in steps:
            t = step_of(t)
        return t

    return view, tuple(shape.shape)


@pytest.mark.parametrize("seed", range(40))
def test_random_views_are_eagers(seed):
    rng, dtype = random.Random(seed), [torch.float32, torch.float32, torch.int64, torch.bool, torch.bfloat16][seed % 5]
    torch.manual_seed(seed)
    numbers = lambda size: torch.randint(-4, 5, size).to(dtype)
    size = [rng.randint(1, 7) for _ in range(rng.randint(1, 4))]
    base, writes = numbers(size), []
    for _ in range(rng.randint(1, 5)):
        (view, shape), (other, _) = random_view(size, rng), random_view(size, rng)
        writes.append((rng.choice(["write", "write", "change", "read"]), view, other, numbers(shape)))

    def work(x, of):
        x, results = x.clone(), []
        for kind, view, other, value in writes:
            if kind == "write":
                view(x).copy_(value.to(of))
            elif kind == "change" and dtype != torch.bool:
                view(x).mul_(2)
            results.append(other(x).clone())
        return [x, *results]

    expected = work(base, "cpu")
    for actual, wanted in zip(work(base.to("cresset"), "cresset"), expected):
        assert torch.equal(actual.cpu(), wanted)


@pytest.mark.parametrize(
    "write",
    [
        lambda x, v: x[:, 1:3].copy_(v),
        lambda x, v: x[:, :, -1].fill_(2),
        lambda x, v: x[1:, 2:, 1:4].mul_(2),
        lambda x, v: x[..., ::2].neg_(),
        lambda x, v: x[:, ::2, 1::3].neg_(),
        lambda x, v: x.transpose(0, 2)[1:3].neg_(),
        lambda x, v: x.view(-1)[5:17].neg_(),
    ],
    ids=["rows", "column", "box", "every_second", "steps", "transposed", "flat"],
)
def test_views_are_slices(write):
    x, v = torch.randn(4, 6, 10), torch.randn(4, 2, 10)

    def change(x, v):
        x = x + 1
        write(x, v)
        return x

    text = torch_cresset.stablehlo(change, x, v)
    assert "gather" not in text and "scatter" not in text
    torch.testing.assert_close(change(x.to("cresset"), v.to("cresset")).cpu(), change(x, v))


def test_updates_take_no_memory():
    """Each step writes its part of one array, which is there once."""

    def steps(x):
        x = x.sin()
        for i in range(1, 8):
            x[:, i] += x[:, i - 1]
        return x

    x = torch.randn(64, 8, 128)
    compiled = torch.compile(steps, backend="cresset")
    torch.testing.assert_close(compiled(x), steps(x))
    record = torch_cresset.compile_records()[-1]
    assert record["temporary_bytes"] < x.nbytes


def test_scatters_take_no_memory():
    def steps(x, rows, columns, values):
        x = x.sin()
        for k in range(4):
            x[rows, (columns + k) % 128] = values
        return x

    x, rows, columns = torch.randn(64, 128), torch.randperm(64)[:20], torch.randint(0, 128, (20,))
    inputs = x, rows, columns, torch.randn(20)
    compiled = torch.compile(steps, backend="cresset")
    torch.testing.assert_close(compiled(*inputs), steps(*inputs))
    assert torch_cresset.compile_records()[-1]["temporary_bytes"] < x.nbytes


def test_circular_padding():
    x = torch.randn(2, 3, 9, 11)
    pad = lambda x: torch.nn.functional.pad(x, (2, 1, 1, 3), mode="circular")
    text = torch_cresset.stablehlo(pad, x)
    assert "scatter" not in text and "gather" not in text
    assert torch.equal(pad(x.to("cresset")).cpu(), pad(x))
    assert torch.equal(torch.compile(pad, backend="cresset")(x), pad(x))


def test_a_dtype_view_of_a_storage_that_ends_within_an_element():
    for road in ("cpu", "cresset"):
        x = torch.arange(7, dtype=torch.uint8, device=road)
        x[:4].view(torch.int32).fill_(5)
        assert (x + 0).tolist() == [5, 0, 0, 0, 4, 5, 6]
        y = torch.arange(5.0, dtype=torch.bfloat16, device=road)
        z = y * 2
        z[:4].view(torch.float32).fill_(0)
        assert z.tolist() == [0, 0, 0, 0, 8] and (y[:4].view(torch.int32) + 0).tolist() == [1065353216, 1077952512]


def test_resizing_to_the_same_sizes_changes_nothing():
    x = torch.arange(6, device="cresset").view(2, 3).t()
    x.resize_(3, 2)
    assert x.tolist() == [[0, 3], [1, 4], [2, 5]]
    y = torch.zeros(1, device="cresset").expand(4).resize_(4)
    assert y.untyped_storage().nbytes() == 4


def test_setting_a_tensor_beyond_a_storage_grows_it():
    x, t = torch.arange(10.0, device="cresset"), torch.empty(0, device="cresset")
    t.set_(x.untyped_storage(), 4, (16,))
    assert t.tolist()[:6] == [4, 5, 6, 7, 8, 9] and t.untyped_storage().nbytes() == 80
    t.zero_()
    assert t.tolist() == [0.0] * 16 and x.tolist() == [0, 1, 2, 3, 0, 0, 0, 0, 0, 0]
