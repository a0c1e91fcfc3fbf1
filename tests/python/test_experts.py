"""Products of groups whose sizes are known when they run (torch.nn.functional.grouped_mm), and the mixtures of experts that they are for."""

import copy

import pytest
import torch
import torch.nn.functional as F

import torch_cresset
from conftest import fallbacks

transformers = pytest.importorskip("transformers")

DTYPES = [torch.float32, torch.bfloat16, torch.float16]
# rows, depth, columns, ends of groups: among them empty ones, groups of single rows, all in one group, rows that no group has
GROUPS = [(64, 32, 48, [10, 10, 40, 64]), (16, 64, 16, [1, 2, 2, 16]), (296, 400, 520, [0, 296, 296]), (8, 64, 64, [0, 0, 3, 5, 5, 6, 6, 6]), (1000, 72, 88, [7, 600, 993])]


def rows_first(*shape, dtype):
    return torch.randn(*shape[:-2], shape[-1], shape[-2], dtype=dtype).transpose(-1, -2)


def compare(a, b, ends):
    expected = F.grouped_mm(a, b, offs=ends)
    if a.dim() != b.dim():  # what no group has is not written there, and is zero here
        (expected if a.dim() == 2 else expected.t())[ends[-1]:] = 0
    actual = F.grouped_mm(a.to("cresset"), b.to("cresset"), offs=ends.to("cresset"))
    torch.testing.assert_close(actual.cpu(), expected)
    with torch_cresset.interpreted("aten._grouped_mm"):
        if a.numel() < 10_000:
            torch.testing.assert_close(F.grouped_mm(a.to("cresset"), b.to("cresset"), offs=ends.to("cresset")).cpu(), expected)
    with torch_cresset.composites(except_="aten._grouped_mm"):
        torch.testing.assert_close(F.grouped_mm(a.to("cresset"), b.to("cresset"), offs=ends.to("cresset")).cpu(), expected)


@pytest.mark.parametrize("rows, depth, columns, ends", GROUPS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_products_of_groups(dtype, rows, depth, columns, ends):
    ends = torch.tensor(ends, dtype=torch.int32)
    for make in (torch.randn, rows_first):
        x, y, weights = make(rows, depth, dtype=dtype) / 8, make(rows, columns, dtype=dtype), make(len(ends), depth, columns, dtype=dtype)
        compare(x, weights, ends)
        compare(x.t(), y, ends)
        compare(weights.transpose(1, 2), x.t(), ends)
    compare(torch.randn(rows, depth, dtype=dtype) / 8, rows_first(len(ends), depth, columns, dtype=dtype), ends)  # as linear layers store them
    assert not fallbacks()


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("dtype", DTYPES[:2])
def test_gradients_and_what_follows(dtype, transposed):
    def step(x, w, ends, gradient):
        y = F.silu(F.grouped_mm(x, w.transpose(1, 2) if transposed else w, offs=ends)) * gradient
        return [y, *torch.autograd.grad(y, [x, w], gradient)]

    x, w = torch.randn(40, 24, dtype=dtype).requires_grad_(), torch.randn(3, *((48, 24) if transposed else (24, 48)), dtype=dtype).requires_grad_()
    ends, gradient = torch.tensor([8, 8, 40], dtype=torch.int32), torch.randn(40, 48, dtype=dtype)
    expected, given = step(x, w, ends, gradient), [v.detach().to("cresset") for v in (x, w, ends, gradient)]
    given[0].requires_grad_(), given[1].requires_grad_()
    for e, a in zip(expected, step(*given), strict=True):
        # Eager rounds each step of silu and of its gradient by up to 2^-9; sums of these are as far off as their largest terms.
        tolerance = {"rtol": 2e-2, "atol": 2**-8 * float(e.abs().max())} if dtype is torch.bfloat16 else {}
        torch.testing.assert_close(a.cpu(), e, **tolerance)
    assert not fallbacks()


def test_without_groups_and_without_numbers():
    a, b = torch.randn(3, 8, 16), torch.randn(3, 16, 8)
    torch.testing.assert_close(F.grouped_mm(a.to("cresset"), b.to("cresset")).cpu(), torch.bmm(a, b))
    ends = torch.zeros(3, dtype=torch.int32, device="cresset")
    assert F.grouped_mm(a[0, :0].to("cresset"), b.to("cresset"), offs=ends).shape == (0, 8)
    torch.testing.assert_close(F.grouped_mm(a[0].to("cresset"), b.to("cresset"), offs=ends).cpu(), torch.zeros(8, 8))


@pytest.mark.parametrize("change, text", [
    (lambda x, w, ends: (x.double(), w, ends), "self to be a Float32, BFloat16 or Float16"), (lambda x, w, ends: (x.bfloat16(), w, ends), "same dtype"),
    (lambda x, w, ends: (x, w[:, :8], ends), "contraction dimension"), (lambda x, w, ends: (x, w, None), "offsets"), (lambda x, w, ends: (x, w, ends.long()), "int32"),
    (lambda x, w, ends: (x, w[:2], ends), "batch sizes"), (lambda x, w, ends: (x, w, ends.flip(0)), "must not decrease"), (lambda x, w, ends: (x, w, ends + 1), "must not decrease"),
])
def test_mistakes(change, text):
    x, w, ends = torch.randn(8, 16, device="cresset"), torch.randn(3, 16, 8, device="cresset"), torch.tensor([2, 4, 8], dtype=torch.int32).to("cresset")
    x, w, ends = change(x, w, ends)
    torch_cresset.sync()
    with pytest.raises(RuntimeError, match=text):
        F.grouped_mm(x, w, offs=ends)


def test_ends_that_are_computed_are_checked_by_the_program():
    x, w = torch.randn(8, 16, device="cresset"), torch.randn(2, 16, 8, device="cresset")
    sizes = torch.tensor([4, 5], dtype=torch.int32).to("cresset")
    with pytest.raises(RuntimeError, match="_grouped_mm"):
        F.grouped_mm(x, w, offs=torch.cumsum(sizes, 0, dtype=torch.int32)).cpu()


def test_it_is_one_composite_with_a_kernel():
    x, w, ends = torch.randn(8, 16, device="cresset"), torch.randn(2, 16, 8, device="cresset"), torch.tensor([3, 8], dtype=torch.int32).to("cresset")
    assert 'stablehlo.composite "aten._grouped_mm"' in torch_cresset.stablehlo(lambda x, w, ends: F.grouped_mm(x, w, offs=ends), x, w, ends)
    (one,) = [c for c in torch_cresset.explain(lambda: F.grouped_mm(x, w, offs=ends).cpu()) if c.name == "aten._grouped_mm"]
    assert one.became == "kernel cresset"


COMMON = {"vocab_size": 64, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 64}
MODELS = {
    "Mixtral": lambda: transformers.MixtralConfig(**COMMON, num_local_experts=4, num_experts_per_tok=2),
    "Qwen2Moe": lambda: transformers.Qwen2MoeConfig(**COMMON, num_experts=6, num_experts_per_tok=2, moe_intermediate_size=24, shared_expert_intermediate_size=40),
    "Qwen3Moe": lambda: transformers.Qwen3MoeConfig(**COMMON, head_dim=8, num_experts=6, num_experts_per_tok=2, moe_intermediate_size=24),
}


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_mixtures_of_experts(name, compiled):
    model = transformers.AutoModelForCausalLM.from_config(MODELS[name]())
    assert model.config._experts_implementation == "grouped_mm"
    ids = torch.randint(0, 64, (2, 16))

    def train(model, ids, call):
        optimizer, losses = torch.optim.AdamW(model.parameters(), lr=1e-3), []
        for _ in range(3):
            optimizer.zero_grad()
            loss = call(ids, labels=ids).loss
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        with torch.no_grad():
            return torch.stack(losses).cpu(), call(ids).logits.cpu()

    other = copy.deepcopy(model)
    expected = train(model, ids, model)
    torch_cresset.reset_counters()
    if compiled:
        losses, logits = train(other, ids, torch.compile(other, backend="cresset"))
    else:
        other, ids = other.to("cresset"), ids.to("cresset")
        losses, logits = train(other, ids, other)
    torch.testing.assert_close(losses, expected[0])
    torch.testing.assert_close(logits, expected[1], rtol=1e-4, atol=1e-4)  # after three steps of Adam
    assert not fallbacks() and not [k for k in torch_cresset.counters() if k.startswith("transformers")]


@pytest.mark.parametrize("name", MODELS)
def test_mixtures_are_exported(name):
    model = transformers.AutoModelForCausalLM.from_config(MODELS[name]()).eval()
    text = torch_cresset.stablehlo(model, input_ids=torch.randint(0, 64, (2, 16)))
    assert text.count('stablehlo.composite "aten._grouped_mm"') == 2 * model.config.num_hidden_layers
