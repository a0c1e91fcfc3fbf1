"""Bags of rows of a table: sums, means and greatest elements, and their gradients, on the device and under torch.compile, against eager."""

import itertools

import pytest
import torch
import torch.nn.functional as F
import torch_cresset
from conftest import fallbacks

WIDTH, ROWS, ITEMS = 6, 20, 13
OFFSETS = {"bags": [0, 3, 3, 9, ITEMS], "all but the last": [0, 3, 3, 9]}  # one is empty, and so is the last of the first kind


def case(seed, items, per_sample, dtype):
    torch.manual_seed(seed)
    weights = torch.rand(items).to(dtype) if per_sample else None
    return torch.randn(ROWS, WIDTH).to(dtype), torch.randint(0, ROWS, (items,)), weights


def run(function, device, table, indices, offsets, weights, **how):
    """The bags, and the gradients of table and weights, elements of the bags weighing differently (integers, exact in all types)."""
    table = table.to(device).requires_grad_()
    weights = None if weights is None else weights.to(device).requires_grad_()
    bags = function(indices.to(device), table, None if offsets is None else offsets.to(device), per_sample_weights=weights, **how)
    loss = (bags * (torch.arange(bags.numel()) % 5 - 2).to(bags.dtype).reshape(bags.shape).to(device)).sum()
    wanted = [table] if weights is None else [table, weights]
    return [t.cpu() for t in (bags, *torch.autograd.grad(loss, wanted))]


@pytest.mark.parametrize("road", ["device", "compile"])
@pytest.mark.parametrize("mode,padding,per_sample", [(m, p, w) for m, p, w in itertools.product(["sum", "mean", "max"], [None, 3], [False, True]) if m == "sum" or not w])
@pytest.mark.parametrize("bags", ["equal", *OFFSETS, "with the end"])
def test_bags(road, mode, padding, per_sample, bags):
    how = dict(mode=mode, padding_idx=padding, include_last_offset=bags == "with the end")
    table, indices, weights = case(0, 12 if bags == "equal" else ITEMS, per_sample, torch.float32)
    if padding is not None:
        indices[:4] = padding  # the first bag has no other items
    offsets = None
    if bags == "equal":
        indices, weights = indices.reshape(3, 4), None if weights is None else weights.reshape(3, 4)
    else:
        offsets = torch.tensor(OFFSETS.get(bags, OFFSETS["bags"]))
    expected = run(F.embedding_bag, "cpu", table, indices, offsets, weights, **how)
    torch_cresset.reset_counters()
    if road == "device":
        results = run(F.embedding_bag, "cresset", table, indices, offsets, weights, **how)
    else:
        results = run(torch.compile(F.embedding_bag, backend="cresset", fullgraph=True), "cpu", table, indices, offsets, weights, **how)
    torch.testing.assert_close(results, expected)
    assert not fallbacks()
    with torch.no_grad():
        inference = F.embedding_bag(indices.to("cresset"), table.to("cresset"), None if offsets is None else offsets.to("cresset"),
                                    per_sample_weights=None if weights is None else weights.to("cresset"), **how)
    torch.testing.assert_close(inference.cpu(), expected[0])
    assert not fallbacks()


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_types(dtype, mode):
    table, indices, _ = case(1, ITEMS, False, dtype)
    offsets = torch.tensor(OFFSETS["bags"], dtype=torch.int32)
    results = run(F.embedding_bag, "cresset", table, indices.int(), offsets, None, mode=mode)
    # Narrow types are summed in f32, by the CPU in themselves.
    exact = run(F.embedding_bag, "cpu", table.double(), indices.int(), offsets, None, mode=mode)
    torch.testing.assert_close(results, [t.to(dtype) for t in exact])
    assert results[0].dtype == dtype


@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_gradients_by_frequency(mode):
    """As the gradient of an embedding: the CPU divides by how often another index occurs (its loop over indices that occur several times counts by the wrong one)."""
    table, indices, _ = case(2, 12, False, torch.float32)
    indices = indices.reshape(3, 4)
    results = run(F.embedding_bag, "cresset", table, indices, None, None, mode=mode, scale_grad_by_freq=True)

    def rows(index, table, offsets, per_sample_weights):
        items = F.embedding(index, table, scale_grad_by_freq=True)
        return items.sum(1) if mode == "sum" else items.mean(1)

    torch.testing.assert_close(results, run(rows, "cpu", table, indices, None, None))


def test_nothing_in_bags():
    table = torch.randn(ROWS, WIDTH)
    for indices, offsets in (([], [0, 0]), ([], []), ([1, 2], [])):
        inputs = torch.tensor(indices, dtype=torch.long), torch.tensor(offsets, dtype=torch.long)
        for mode in ("sum", "mean", "max"):
            results = run(F.embedding_bag, "cresset", table, *inputs, None, mode=mode)
            torch.testing.assert_close(results[0], torch.zeros(len(offsets), WIDTH))
            torch.testing.assert_close(results[1], torch.zeros(ROWS, WIDTH))


def test_equal_bags_are_reductions():
    """Where all bags have as many items, as in a 2-D input, nothing is scattered and no item looks for its bag."""
    bag = torch.nn.EmbeddingBag(ROWS, WIDTH, mode="sum")
    x = torch.randint(0, ROWS, (3, 4))
    text = torch_cresset.stablehlo(torch.export.export(bag, (x,)), x)
    assert "stablehlo.reduce" in text and "stablehlo.scatter" not in text


@pytest.mark.parametrize("indices,offsets,text", [([0, ROWS], [0], "index 20 lies outside"), ([0, 1], [0, 5], "index 5 lies outside")])
def test_errors(indices, offsets, text):
    table = torch.randn(ROWS, WIDTH, device="cresset")
    with pytest.raises(RuntimeError, match=text):
        F.embedding_bag(torch.tensor(indices, device="cresset"), table, torch.tensor(offsets, device="cresset")).cpu()
    with pytest.raises(RuntimeError, match="mode 'sum' only"):
        torch.embedding_bag(table, torch.tensor([0, 1], device="cresset"), torch.tensor([0], device="cresset"), mode=1, per_sample_weights=torch.ones(2, device="cresset"))


def test_a_recommender_learns():
    """DLRM of Naumov et al. (2019) in small: bags, a bottom MLP, products of all pairs, a top MLP; three steps."""

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.bags = torch.nn.ModuleList(torch.nn.EmbeddingBag(50, 8, mode=mode) for mode in ("sum", "mean", "max"))
            self.bottom, self.top = torch.nn.Linear(5, 8), torch.nn.Linear(8 + 6, 1)

        def forward(self, dense, categories):
            x = self.bottom(dense).relu()
            features = torch.stack([x, *(bag(categories[:, i]) for i, bag in enumerate(self.bags))], 1)
            pairs = (features @ features.transpose(1, 2))[:, [1, 2, 2, 3, 3, 3], [0, 0, 1, 0, 1, 2]]
            return self.top(torch.cat([x, pairs], 1)).squeeze(1)

    def losses(device, wrap=lambda m: m):
        torch.manual_seed(3)
        model = Model().to(device)
        call, optimizer = wrap(model), torch.optim.Adam(model.parameters(), lr=1e-2)
        inputs = [t.to(device) for t in (torch.randn(16, 5), torch.randint(0, 50, (16, 3, 4)), torch.rand(16).round())]
        found = []
        for _ in range(3):
            optimizer.zero_grad()
            loss = F.binary_cross_entropy_with_logits(call(*inputs[:2]), inputs[2])
            loss.backward()
            optimizer.step()
            found.append(loss.item())
        return found

    expected = losses("cpu")
    torch_cresset.reset_counters()
    assert losses("cresset") == pytest.approx(expected, rel=1e-5)
    assert losses("cpu", lambda m: torch.compile(m, backend="cresset", fullgraph=True)) == pytest.approx(expected, rel=1e-5)
    assert not fallbacks() and "cresset.aot_autograd" not in torch_cresset.counters()
