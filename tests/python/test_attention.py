"""scaled_dot_product_attention, rms_norm and the fused optimizers stay whole, and compute what eager does."""

import math
import os
import subprocess
import sys

import pytest
import torch
import torch.nn.functional as F

import torch_cresset
from conftest import fallbacks, same


def attention(device, q, k, v, mask=None, **options):
    tensors = [t.detach().to(device).requires_grad_() for t in (q, k, v)]
    mask = None if mask is None else mask.to(device)
    if mask is not None and mask.is_floating_point():
        mask = mask.detach().requires_grad_()
        tensors.append(mask)
    out = F.scaled_dot_product_attention(*tensors[:3], attn_mask=mask, **options)
    (out * torch.arange(out.shape[-1], device=device) / 8).sum().backward()
    return [out.detach().cpu()] + [t.grad.cpu() for t in tensors]


CASES = {
    "plain": lambda q, kv: ((q, q + 1, q - 1), {}),
    "causal": lambda q, kv: ((q, q + 1, q - 1), {"is_causal": True}),
    "scale": lambda q, kv: ((q, q + 1, q - 1), {"scale": 0.3}),
    "mask": lambda q, kv: ((q, q + 1, q - 1, torch.randn(7, 7, dtype=q.dtype)), {}),
    "mask of its own shape": lambda q, kv: ((q, q + 1, q - 1, torch.randn(2, 1, 1, 7, dtype=q.dtype)), {}),
    "boolean mask": lambda q, kv: ((q, q + 1, q - 1, torch.rand(2, 1, 7, 7) > 0.3), {}),
    "all masked": lambda q, kv: ((q, q + 1, q - 1, torch.zeros(7, 7, dtype=torch.bool)), {}),
    "grouped queries": lambda q, kv: ((q, kv, kv * 2), {"enable_gqa": True}),
    "transposed": lambda q, kv: ((q.transpose(1, 2), q.transpose(1, 2) + 1, q.transpose(1, 2) - 1), {}),
    "rank 3": lambda q, kv: ((q[0], q[0] + 1, q[0] - 1), {}),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("case", CASES)
def test_attention(case, dtype):
    torch.manual_seed(0)
    inputs, options = CASES[case](torch.randn(2, 4, 7, 8, dtype=dtype), torch.randn(2, 2, 9, 8, dtype=dtype))
    torch_cresset.reset_counters()
    for ours, eager in zip(attention("cresset", *inputs, **options), attention("cpu", *inputs, **options)):
        torch.testing.assert_close(ours, eager)
    assert not fallbacks()
    if case != "rank 3":
        assert any("scaled_dot_product" in name for name in torch_cresset.counters())


BLOCKS = {  # queries, keys, width, width of values: with tails of tiles, groups and blocks of keys
    "one query": (1, 300, 16, 16), "few queries": (5, 150, 36, 76), "tails": (37, 161, 20, 12), "several blocks": (150, 390, 64, 64), "wide": (30, 40, 96, 128), "long": (530, 530, 8, 8),
}


def inputs_in_blocks(blocks, mask, dtype):
    """Query, key, value, mask and options: [batch, heads, positions, width] as projections leave them."""
    torch.manual_seed(0)
    length, keys, width, width_of_values = {**BLOCKS, "width 40": (101, 77, 40, 40), "width 80": (90, 90, 80, 80)}[blocks]
    heads = 2 if mask == "grouped" else 4
    q = torch.randn(2, length, 4, width, dtype=dtype).transpose(1, 2)
    k, v = torch.randn(2, keys, heads, width, dtype=dtype).transpose(1, 2), torch.randn(2, keys, heads, width_of_values, dtype=dtype).transpose(1, 2)
    options = {"causal": {"is_causal": True}, "grouped": {"enable_gqa": True}, "causal, scaled": {"is_causal": True, "scale": 0.05}}.get(mask, {})
    m = {"boolean": torch.rand(2, 1, length, keys) > 0.5, "per head": torch.randn(1, 4, length, keys, dtype=dtype),
         "of keys": torch.where(torch.rand(1, keys) > 0.3, 0.0, -torch.inf).to(dtype), "rows left out": torch.rand(length, 1) > 0.5,
         "first keys": torch.arange(keys)[None] < 20, "last keys": torch.where(torch.arange(keys) > keys - 30, 0.0, -torch.inf).to(dtype).expand(1, 1, length, keys).contiguous(),
         "window": (torch.arange(length)[:, None] + keys - length - torch.arange(keys)).abs() < 9}.get(mask)
    return (q, k, v, m), options


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("mask", ["none", "causal", "boolean", "per head", "of keys", "grouped", "first keys", "last keys", "window"])
@pytest.mark.parametrize("blocks", BLOCKS)
def test_attention_in_blocks(blocks, mask, dtype):
    inputs, options = inputs_in_blocks(blocks, mask, dtype)

    def function(q, k, v, m):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=m, **options)

    arguments = [None if a is None else a.to("cresset") for a in inputs]
    (row,) = [r for r in torch_cresset.explain(function, *arguments) if r.name == "aten.scaled_dot_product_attention"]
    assert row.became == "kernel cresset"
    ours, exact = function(*arguments).cpu(), [a.double() if a is not None and a.is_floating_point() else a for a in inputs]
    expected = function(*exact)
    if dtype == torch.float32:
        return torch.testing.assert_close(ours, expected.to(dtype))
    # Weights are rounded to bf16 where pairs of these are multiplied, as eager's are, and the result is: by 2^-8 of each.
    q, k, v, m = exact
    bound = 2**-8 * (function(q, k, v.abs(), m) + expected.abs()) + 1e-5
    assert ((ours.double() - expected).abs() <= bound).all()


def gradients_in_blocks(inputs, options, device):
    """The gradients of query, key and value, and the result with its own gradient, from which they come."""
    moved = [None if a is None else a.to(device) for a in inputs]
    q, k, v = (a.detach().requires_grad_() for a in moved[:3])
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=moved[3], **options)
    g = torch.linspace(-1, 1, out.numel()).mul(99).sin().reshape(out.shape).to(out.dtype)
    return [t.cpu() for t in torch.autograd.grad(out, (q, k, v), g.to(device))], out.detach().cpu(), g


def exact_gradients(q, k, v, m, out, g, is_causal=False, scale=None, enable_gqa=False):
    """In f64, of a result that was saved rounded."""
    shared, scale = q.shape[1] // k.shape[1], scale or q.shape[3] ** -0.5
    k, v = (t.repeat_interleave(shared, 1) for t in (k, v))
    hidden = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool).tril().logical_not() if is_causal else torch.tensor(False)
    if m is not None and m.dtype == torch.bool:
        hidden, m = ~m, None
    scores = (q @ k.transpose(2, 3) * scale + (0 if m is None else m)).masked_fill(hidden, -torch.inf)
    p = scores.softmax(-1).nan_to_num(0)
    ds = p * (g @ v.transpose(2, 3) - (g * out).sum(-1, keepdim=True)) * scale
    return [ds @ k] + [t.unflatten(1, (-1, shared)).sum(2) for t in (ds.transpose(2, 3) @ q, p.transpose(2, 3) @ g)]


MASKS = {torch.float32: ["none", "causal, scaled", "boolean", "per head", "of keys", "rows left out", "grouped", "first keys", "last keys", "window"], torch.bfloat16: ["causal, scaled", "boolean", "grouped"],
         torch.float16: ["causal"]}


@pytest.mark.parametrize("mask, dtype", [(mask, dtype) for dtype, masks in MASKS.items() for mask in masks], ids=str)
@pytest.mark.parametrize("blocks", [*BLOCKS, "width 40", "width 80"])
def test_gradient_of_attention_in_blocks(blocks, mask, dtype):
    inputs, options = inputs_in_blocks(blocks, mask, dtype)
    with torch_cresset.profile() as profile:
        ours, out, g = gradients_in_blocks(inputs, options, "cresset")
    kernels = [row.kernel.split()[0] for row in profile]
    assert kernels.count("attention_gradient") == 1 and "dot" not in kernels
    if dtype == torch.float32:
        expected = gradients_in_blocks(inputs, options, "cpu")[0]
    else:  # eager rounds the weights
        expected = exact_gradients(*[a.double() if a is not None and a.is_floating_point() else a for a in (*inputs, out, g)], **options)
    for a, b in zip(ours, expected):
        torch.testing.assert_close(a, b.to(dtype))


MASK_SHAPES = {"of all": (1, 1, 1, 1), "of heads": (1, 4, 1, 1), "of batches": (2, 1, 1, 1), "own": (2, 4, 1, 1), "of keys": (2, 1, 0, 1), "of queries": (1, 4, 1, 0)}


@pytest.mark.parametrize("dropout", [0.0, 0.25])
@pytest.mark.parametrize("heads", [4, 2, 1])
@pytest.mark.parametrize("mask, dtype", [*((mask, torch.float32) for mask in MASK_SHAPES), ("of heads", torch.bfloat16)], ids=str)
@pytest.mark.parametrize("blocks", ["tails", "several blocks"])
def test_gradient_of_the_mask(blocks, mask, dtype, heads, dropout):
    (q, k, v, _), _ = inputs_in_blocks(blocks, "none", dtype)
    k, v = k[:, :heads], v[:, :heads]
    sizes = (*MASK_SHAPES[mask][:2], *(n if all_of else 1 for n, all_of in zip((q.shape[2], k.shape[2]), MASK_SHAPES[mask][2:])))
    m, g = torch.randn(sizes, dtype=dtype), torch.randn(*q.shape[:3], v.shape[3], dtype=dtype)

    def gradients(device):
        torch.manual_seed(3)
        leaves = [t.detach().to(device).requires_grad_() for t in (q, k, v, m)]
        out = F.scaled_dot_product_attention(*leaves[:3], attn_mask=leaves[3], enable_gqa=heads < 4, dropout_p=dropout)
        return [t.cpu() for t in torch.autograd.grad(out, leaves, g.to(device))]

    with torch_cresset.profile() as profile:
        ours = gradients("cresset")
    kernels = [row.kernel.split()[0] for row in profile]
    assert kernels.count("attention_gradient") == 1 and "dot" not in kernels
    with torch_cresset.composites(only="none"):
        for a, b in zip(ours, gradients("cresset")):
            # The other road rounds weights and their gradients to bf16, which what is left of their difference shows: by 2^-9 of each of the two terms.
            # In f32 either road adds up to 600 products in an order of its own and may be as far from the exact sum as PyTorch's defaults say: from each other twice that.
            torch.testing.assert_close(a, b, **({"rtol": 1.6e-2, "atol": 2**-8 * b.abs().max().item()} if dtype == torch.bfloat16 else {"rtol": 2.6e-6, "atol": 2e-5}))
    if not dropout and dtype == torch.float32:  # eager rounds the weights to bf16
        for a, b in zip(ours, gradients("cpu")):
            torch.testing.assert_close(a, b)


@pytest.mark.parametrize("sizes", [(1, 4, 17, 19), (2, 1, 1, 19), (2, 4, 17, 19), (17, 19)], ids=str)
def test_gradient_of_a_bias_that_is_added_by_hand(sizes):
    """T5's and Swin's positions are learnt: what sums up the gradient of the scores is one more result of attention's gradient."""
    tensors = [torch.randn(2, 4, n, 16) for n in (17, 19, 19)] + [torch.randn(sizes)]
    g = torch.randn(2, 4, 17, 16)

    def gradients(device):
        q, k, v, bias = leaves = [t.to(device).requires_grad_() for t in tensors]
        out = (q @ k.transpose(-1, -2) * 0.25 + bias).softmax(-1) @ v
        return [t.cpu() for t in (out.detach(), *torch.autograd.grad(out, leaves, g.to(device)))]

    with torch_cresset.profile() as profile, torch_cresset.step():
        ours = gradients("cresset")
    kernels = [row.kernel.split()[0] for row in profile]
    assert kernels.count("attention_gradient") == 1 and "dot" not in kernels
    for a, b in zip(ours, gradients("cpu"), strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("mask", ["first keys", "window", "last keys"])
@pytest.mark.parametrize("length", [1, 6, 300])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_keys_that_a_mask_hides_from_all_are_not_read(dtype, length, mask):
    """In whole blocks: what a static cache holds beyond the tokens so far, what lies outside a window."""
    keys, width = 900, 16
    torch.manual_seed(0)
    q, k, v = torch.randn(1, 2, length, width, dtype=dtype), *torch.randn(2, 1, 2, keys, width, dtype=dtype)
    m = {"first keys": torch.arange(keys)[None] < 100, "window": (torch.arange(length)[:, None] + 400 - torch.arange(keys)).abs() < 5,
         "last keys": torch.where(torch.arange(keys) >= 800, 0.0, -torch.inf).expand(length, keys)}[mask]
    seen = (m if m.dtype == torch.bool else m == 0).reshape(-1, keys).any(0)
    far = ~torch.nn.functional.max_pool1d(seen[None].float(), 2 * 256 + 1, 1, 256)[0].bool()  # no block reaches so far
    assert far.sum() > 100

    def gradients(device, k, v):
        leaves = [t.to(device).requires_grad_() for t in (q.clone(), k, v)]
        out = F.scaled_dot_product_attention(*leaves, attn_mask=m.to(device))
        return [out.detach().cpu()] + [t.cpu() for t in torch.autograd.grad(out.float().square().sum(), leaves)]

    beyond = far[:, None] & torch.ones(width, dtype=torch.bool)
    for ours, expected in zip(gradients("cresset", k.masked_fill(beyond, torch.nan), v.masked_fill(beyond, torch.inf)), gradients("cresset", k, v)):
        torch.testing.assert_close(ours, expected, rtol=0, atol=0)


@pytest.mark.parametrize("cpu", ["avx2", "baseline"])
def test_gradient_of_attention_on_other_instruction_sets(cpu):
    run = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__, "-k",
           "attention_in_blocks and gradient and float32 and (tails or several) and (causal or head or window) or dropout and tails or attention_in_blocks and few and not per or hides"]
    done = subprocess.run(run, env={**os.environ, "CRESSET_CPU": cpu}, capture_output=True, text=True)
    assert done.returncode == 0 and " passed" in done.stdout, done.stdout[-2000:]


def test_gradient_of_attention_needs_no_matrix_of_scores():
    q, k, v = (torch.randn(1, 2, 2048, 16, device="cresset", requires_grad=True) for _ in range(3))
    torch.cresset.synchronize()
    before = len(torch_cresset.compile_records())
    torch.autograd.grad(F.scaled_dot_product_attention(q, k, v, is_causal=True).square().sum(), (q, k, v))
    torch.cresset.synchronize()
    assert sum(program["arena_bytes"] for program in torch_cresset.compile_records()[before:]) < 2048 * 2048


def test_gradient_of_attention_reads_saved_windows_where_they_lie():
    torch.manual_seed(0)
    torch._dynamo.reset()
    x, projection = torch.randn(2, 20, 32), torch.randn(32, 96).div(32).requires_grad_()

    def function(x, projection):
        q, k, v = (t.unflatten(-1, (4, 8)).transpose(1, 2) for t in (x @ projection).split(32, -1))
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    with torch_cresset.profile() as profile:
        (ours,) = torch.autograd.grad(torch.compile(function, backend="cresset")(x, projection).square().sum(), projection)
    (gradient,) = [row.kernel for row in profile if row.kernel.startswith("attention_gradient")]
    assert "slice" in gradient and not any("slice" in row.kernel for row in profile if not row.kernel.startswith("attention"))
    torch.testing.assert_close(ours, *torch.autograd.grad(function(x, projection).square().sum(), projection))


@pytest.mark.parametrize("mask, dtype", [("none", torch.float32), ("causal", torch.float32), ("boolean", torch.float32), ("a row hidden", torch.float32), ("additive", torch.float32), ("causal", torch.bfloat16), ("none", torch.float16)], ids=str)
@pytest.mark.parametrize("heads, queries, keys, width", [(1, 300, 700, 64), (3, 290, 515, 40), (1, 64, 4000, 32)])
def test_gradient_of_few_heads_is_computed_by_all_threads(heads, queries, keys, width, mask, dtype):
    torch.manual_seed(0)
    inputs = [torch.randn(1, heads, n, width).to(dtype) for n in (queries, keys, keys)]
    masks = {"boolean": torch.rand(queries, keys) > 0.3, "additive": torch.randn(queries, keys)}
    masks["a row hidden"] = masks["boolean"] & (torch.arange(queries) != 5)[:, None]  # whose weights are 0, and for which others' are summed up again
    inputs, options = (*inputs, masks.get(mask)), {"is_causal": mask == "causal"}
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with torch_cresset.profile() as profile:
            ours, out, g = gradients_in_blocks(inputs, options, "cresset")
    finally:
        torch.set_num_threads(threads)
    (kernel,) = [row.kernel for row in profile if row.kernel.startswith("attention_gradient")]
    assert "x".join(map(str, (1, heads, queries, width))) + "]" in kernel.split("-> f32[")[1] and kernel.split("-> f32[")[1][0] in "234"  # a sum of each part
    for a, b in zip(ours, exact_gradients(*[x.double() if x is not None and x.is_floating_point() else x for x in (*inputs, out, g)], **options)):
        torch.testing.assert_close(a, b.to(dtype))


@pytest.mark.parametrize("cpu", ["", "avx2", "baseline"])
def test_gradient_of_few_queries_or_keys(cpu):
    """Products over queries and over keys have panels of different widths there."""
    code = """
import torch, torch_cresset, torch.nn.functional as F
torch.manual_seed(0)
for queries, keys, width in [(4, 40, 80), (3, 40, 12), (256, 7, 64), (33, 2, 40), (4, 9, 24), (4, 8, 72), (1, 100, 65)]:
    q, k, v, g = (torch.randn(2, 2, n, width) for n in (queries, keys, keys, queries))
    def run(device, dtype):
        t = [x.to(device, dtype).requires_grad_() for x in (q, k, v)]
        return [x.cpu().double() for x in torch.autograd.grad(F.scaled_dot_product_attention(*t), t, g.to(device, dtype))]
    for a, b in zip(run("cresset", torch.float32), run("cpu", torch.float64)):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)
"""
    subprocess.run([sys.executable, "-c", code], check=True, env=os.environ | ({"CRESSET_CPU": cpu} if cpu else {}))


@pytest.mark.parametrize("mask", [(8, 1, 70), (8, 1, 1), (1, 1, 70), (1, 8, 1, 70), (1, 70)])
def test_masks_of_any_rank_where_heads_share_keys(mask):
    q, k, v = torch.randn(1, 8, 1, 32), torch.randn(1, 2, 70, 32), torch.randn(1, 2, 70, 32)
    same(lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, attn_mask=m, enable_gqa=True), q, k, v, torch.randn(mask), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("order", [(0, 2, 1, 3), (2, 0, 1, 3)])
@pytest.mark.parametrize("sizes", [(2, 4, 9, 8), (3, 4, 4, 16), (2, 2, 1, 8)])
def test_results_are_written_as_they_are_read(sizes, order):
    torch.manual_seed(0)

    def forward(q, k, v):
        return F.scaled_dot_product_attention(q, k, v).permute(order).contiguous()

    def gradients(q, k, v):
        out = F.scaled_dot_product_attention(q, k, v)
        return (*(g.permute(order).contiguous() for g in torch.autograd.grad(out.sum(), (q, k, v))), out.permute(order).contiguous())

    for function in (forward, gradients):
        results = []
        for device in ("cpu", "cresset"):
            inputs = [torch.linspace(-1, 1, math.prod(sizes)).add(i).mul(9).sin().reshape(sizes).to(device).requires_grad_(function is gradients).mul(1) for i in range(3)]
            with torch_cresset.profile() as profile:
                results.append([t.detach().cpu() for t in torch.utils._pytree.tree_leaves(function(*inputs))])
        torch.testing.assert_close(results[1], results[0])
        assert not any("transpose" in row.kernel for row in profile if row.kernel.startswith("rows"))


def dropout_mask(batch, heads, queries, keys, p, dtype):
    """What dropout keeps: of equal weights and one value for each key nothing else is left."""
    q, k = (torch.zeros(batch, heads, n, 8, dtype=dtype, device="cresset") for n in (queries, keys))
    value = torch.eye(keys, dtype=dtype, device="cresset").expand(batch, heads, keys, keys)
    torch.manual_seed(7)
    return F.scaled_dot_product_attention(q, k, value, dropout_p=p).cpu() > 0.5 / keys


@pytest.mark.parametrize("blocks, mask, dtype", [("one query", "none", torch.float32), ("tails", "boolean", torch.float32), ("several blocks", "causal", torch.float32),
                                                 ("several blocks", "grouped", torch.float32), ("tails", "per head", torch.float32), ("wide", "boolean", torch.float64),
                                                 ("several blocks", "causal", torch.bfloat16)], ids=str)
def test_dropout_of_attention_in_blocks(blocks, mask, dtype):
    (q, k, v, m), options = inputs_in_blocks(blocks, mask, dtype)
    p = 0.3
    keep = dropout_mask(*q.shape[:3], k.shape[2], p, dtype)
    assert abs(keep.double().mean() - (1 - p)) < 4 * (p * (1 - p) / keep.numel()) ** 0.5
    with torch_cresset.profile() as profile:
        torch.manual_seed(7)
        ours, out, g = gradients_in_blocks((q, k, v, m), {**options, "dropout_p": p}, "cresset")
    kernels = [row.kernel.split()[0] for row in profile]
    if dtype != torch.float64:
        assert kernels.count("attention") == 1 and kernels.count("attention_gradient") == 1 and "dot" not in kernels

    def exact(q, k, v):
        k, v = (t.repeat_interleave(q.shape[1] // k.shape[1], 1) for t in (k, v))
        scores = q @ k.transpose(2, 3) * q.shape[3] ** -0.5
        if options.get("is_causal"):
            scores = scores.masked_fill(torch.ones(scores.shape[2:], dtype=torch.bool).triu(1), -torch.inf)
        if m is not None:
            scores = scores.masked_fill(~m, -torch.inf) if m.dtype == torch.bool else scores + m.double()
        return (scores.softmax(-1) * keep / (1 - p)) @ v

    wide = [t.double().requires_grad_() for t in (q, k, v)]
    expected = exact(*wide)
    tolerance = {"rtol": 1.6e-2, "atol": 1e-2} if dtype == torch.bfloat16 else {}
    for a, b in zip([out, *ours], [expected.detach(), *torch.autograd.grad(expected, wide, g.double())]):
        torch.testing.assert_close(a, b.to(dtype), **tolerance)


def test_dropout_masks_of_neighbouring_weights_are_independent():
    keep = dropout_mask(2, 2, 64, 64, 0.5, torch.float32)
    for dim in range(4):
        for distance in (1, 2, 4, 8):
            if distance < keep.shape[dim]:
                n = keep.shape[dim] - distance
                same = (keep.narrow(dim, 0, n) == keep.narrow(dim, distance, n)).double()
                assert abs(same.mean() - 0.5) < 5 * 0.5 / same.numel() ** 0.5


def test_attention_with_dropout_under_torch_compile():
    torch._dynamo.reset()
    torch_cresset.reset_counters()
    q, k, v, p = torch.zeros(1, 2, 24, 8), torch.zeros(1, 2, 24, 8), torch.eye(24).expand(1, 2, 24, 24).clone().requires_grad_(), 0.25
    fast = torch.compile(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, dropout_p=p), backend="cresset")
    drawn = []
    for _ in range(3):
        with torch_cresset.profile() as profile:
            out = fast(q, k, v)
            g = torch.randn_like(out)
            (gradient,) = torch.autograd.grad(out, v, g)
        torch.testing.assert_close(gradient, out.detach().transpose(2, 3) @ g)  # the result is the weights themselves
        assert {"attention", "attention_gradient"} <= {row.kernel.split()[0] for row in profile}
        drawn.append(out.detach())
    assert not torch.equal(drawn[0], drawn[1]) and not torch.equal(drawn[1], drawn[2])
    assert not torch_cresset.counters().get("cresset.aot_autograd", 0) and not fallbacks()


def test_attention_dropout_draws_the_same_numbers_in_the_backward():
    torch.manual_seed(0)
    k, v = (torch.randn(1, 2, 5, 4, dtype=torch.float64, device="cresset") for _ in range(2))

    def function(q):
        torch.manual_seed(1)
        return F.scaled_dot_product_attention(q, k, v, dropout_p=0.4)

    q = torch.randn(1, 2, 5, 4, dtype=torch.float64, device="cresset", requires_grad=True)
    assert torch.autograd.gradcheck(function, (q,))
    assert not torch.allclose(function(q).cpu(), F.scaled_dot_product_attention(q, k, v).cpu())


@pytest.mark.parametrize("shared", [1, 2])
def test_gradient_of_shared_keys_as_long_as_they_are_wide(shared):
    """Their gradient and its transpose have the same shape."""
    torch.manual_seed(0)
    inputs = torch.randn(2, 4, 8, 8), torch.randn(2, 4 // shared // 2, 8, 8), torch.randn(2, 4 // shared // 2, 8, 8)
    found = {}
    for device in ("cpu", "cresset"):
        q, k, v = (t.to(device).detach().requires_grad_() for t in inputs)
        heads = (t.expand(2, 4, 8, 8) if t.shape[1] == 1 else t.repeat_interleave(2, 1) for t in (k, v))
        out = F.scaled_dot_product_attention(q, *heads) if shared == 1 else F.scaled_dot_product_attention(q, k, v)
        found[device] = [t.cpu() for t in torch.autograd.grad(out.sin().sum(), (q, k, v))]
    for a, b in zip(found["cresset"], found["cpu"]):
        torch.testing.assert_close(a, b)


def test_a_mask_of_constants_is_subtracted():
    """As Funnel Transformer does; what is subtracted is no maximum of the scores."""
    torch.manual_seed(0)

    def function(q, k, v):
        scores = q @ k.transpose(2, 3) - 1e6 * (1 - torch.ones(2, 1, 8, 8, device=q.device))
        return scores.softmax(-1) @ v

    inputs = [torch.randn(2, 4, 8, 8) for _ in range(3)]
    torch.testing.assert_close(function(*(t.to("cresset") for t in inputs)).cpu(), function(*inputs))


@pytest.mark.parametrize("device", ["cpu", "cresset"])
def test_attention_is_one_composite_on_every_road(device, tmp_path, monkeypatch):
    monkeypatch.setenv("CRESSET_DUMP", str(tmp_path))

    def function(q):
        return F.scaled_dot_product_attention(q, q, q, is_causal=True).square().sum()

    torch._dynamo.reset()
    q = torch.randn(1, 2, 6 + len(device), 8, device=device, requires_grad=True)
    torch.compile(function, backend="cresset")(q).backward()
    text = "".join(path.read_text() for path in tmp_path.iterdir())
    for name in ("aten.scaled_dot_product_attention", "aten.scaled_dot_product_attention_backward"):
        assert f'stablehlo.composite "{name}"' in text
    assert "is_causal = true" in text


def added(scores, seen, low):
    return scores + torch.where(seen, 0.0, low)


def filled(scores, seen, low):
    return scores.masked_fill(~seen, low)


@pytest.mark.parametrize("road, mask", [("device", added), ("device", filled), ("compile", added), ("compile", filled), ("composite", added), ("decomposed", added)])
@pytest.mark.parametrize("low", [torch.finfo(torch.float32).min, -1e9, -1e4])
@pytest.mark.parametrize("positions", [12, 300])
def test_queries_that_see_no_key(positions, low, road, mask):
    """All their weights are equal, or nearly so, and logsumexp, rounded beside -1e9, says nothing of how many. PyTorch's own kernel for the CPU is wrong here, so products are compared with."""
    torch.manual_seed(0)
    q, k, v, g = torch.randn(4, 2, 2, positions, 8).unbind()
    inside = torch.arange(positions) >= positions // 3
    seen = torch.stack([inside[:, None] & inside, torch.ones(positions, positions, dtype=torch.bool).tril() & inside])[:, None]

    def by_products(q, k, v, seen):
        return torch.softmax(mask(q @ k.transpose(-1, -2) * 0.35, seen, low), -1) @ v

    def whole(q, k, v, seen):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask(torch.zeros(seen.shape, device=q.device), seen, low), scale=0.35)

    def run(function, device):
        tensors = [t.detach().to(device).requires_grad_() for t in (q, k, v)]
        out = function(*tensors, seen.to(device))
        return [out.detach().cpu()] + [t.cpu() for t in torch.autograd.grad(out, tensors, g.to(device))]

    function, device = {"device": (by_products, "cresset"), "compile": (torch.compile(by_products, backend="cresset"), "cpu")}.get(road, (whole, "cresset"))
    # A score beside -1e4 is rounded to 2^-10, and one that is summed in another order to the next such number.
    tolerance = dict(rtol=1e-3, atol=1e-3) if low == -1e4 and mask is added else dict(rtol=1e-5, atol=1e-5)
    apart = ["aten.scaled_dot_product_attention", "aten.scaled_dot_product_attention_backward"] if road == "decomposed" else []
    with torch_cresset.composites(except_=apart):
        actual = run(function, device)
    for ours, expected in zip(actual, run(by_products, "cpu"), strict=True):
        torch.testing.assert_close(ours, expected, **tolerance)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("weight", [True, False])
def test_rms_norm(dtype, weight):
    results = []
    for device in ("cpu", "cresset"):
        torch.manual_seed(0)
        x = torch.randn(3, 5, 16).to(dtype).to(device).requires_grad_()
        w = torch.randn(16).to(dtype).to(device).requires_grad_() if weight else None
        torch_cresset.reset_counters()
        y = F.rms_norm(x, (16,), w, eps=1e-5 if weight else None)
        (y * y * y).sum().backward()
        results.append([t.detach().cpu() for t in (y, x.grad) + ((w.grad,) if weight else ())])
    assert torch_cresset.counters()["cresset::_fused_rms_norm_backward"] == 1
    # bf16 on the CPU goes through small operators, each rounded, by up to 2^-9 of numbers as large as the largest, whose differences gradients are.
    for eager, ours in zip(*results):
        tolerance = {"rtol": 3e-2, "atol": max(3e-2, 2**-8 * float(eager.abs().max()))} if dtype == torch.bfloat16 else {}
        torch.testing.assert_close(ours, eager, **tolerance)


@pytest.mark.parametrize("mode, align_corners", [("nearest", None), ("bilinear", False), ("bilinear", True)])
@pytest.mark.parametrize("size", [{"scale_factor": 2}, {"size": (5, 9)}, {"scale_factor": 1.7}, {"size": (1, 1)}])
def test_interpolate(mode, align_corners, size):
    results = []
    for device in ("cpu", "cresset"):
        x = torch.arange(2 * 3 * 6 * 7.0).reshape(2, 3, 6, 7).sin().to(device).requires_grad_()
        torch_cresset.reset_counters()
        y = F.interpolate(x, mode=mode, align_corners=align_corners, **size)
        (y * y).sum().backward()
        results.append((y.detach().cpu(), x.grad.cpu()))
    assert not fallbacks()
    for eager, ours in zip(*results):
        torch.testing.assert_close(ours, eager)


@pytest.mark.parametrize("loss", [F.huber_loss, F.smooth_l1_loss])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_robust_losses(loss, reduction):
    results = []
    for device in ("cpu", "cresset"):
        torch.manual_seed(0)
        x = (torch.randn(40) * 2).to(device).requires_grad_()
        y = loss(x, torch.zeros(40, device=device), reduction=reduction)
        y.sum().backward()
        results.append((y.detach().cpu(), x.grad.cpu()))
    for eager, ours in zip(*results):
        torch.testing.assert_close(ours, eager)


REPEATED = {
    "expand": lambda x, n: x[:, :, None].expand(x.shape[0], x.shape[1], n, *x.shape[2:]).reshape(x.shape[0], x.shape[1] * n, *x.shape[2:]),  # transformers' repeat_kv
    "repeat_interleave": lambda x, n: x.repeat_interleave(n, 1),
    "repeat": lambda x, n: x.unsqueeze(2).repeat(1, 1, n, 1, 1).flatten(1, 2),
    "with values of one width": lambda x, n: x[:, :1].expand(-1, 2 * n, -1, -1),
}
MASKS = {"none": lambda n: None, "of keys": lambda n: torch.rand(3, 1, n, 11) > 0.3, "of heads": lambda n: torch.randn(1, 6, n, 11), "matrix": lambda n: torch.randn(n, 11)}


@pytest.mark.parametrize("positions", [1, 5])
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("repeat", REPEATED)
def test_heads_that_are_repeated_are_read_where_they_are(repeat, mask, positions):
    """And those of one position, as of a token that is generated, are rows of one product."""
    torch.manual_seed(0)
    inputs = [torch.randn(3, 6, positions, 8), torch.randn(3, 2, 11, 8), torch.randn(3, 2, 11, 8), MASKS[mask](positions)]

    def f(q, k, v, m):
        return F.scaled_dot_product_attention(q, REPEATED[repeat](k, 3), REPEATED[repeat](v, 3), attn_mask=m) * 2

    expected = f(*inputs)
    with torch_cresset.profile() as profile:
        actual = f(*(None if t is None else t.to("cresset") for t in inputs)).cpu()
    torch.testing.assert_close(actual, expected)
    heads = 1 if "one" in repeat else 2
    rows = f"3x{heads}x{6 // heads}x8" if positions == 1 else "3x6x5x8"
    (kernel,) = [row.kernel for row in profile if row.kernel.startswith("attention")]
    assert kernel.startswith(f"attention f32[{rows}] f32[3x{heads}x11x8] f32[3x{heads}x11x8]")


def test_causal_attention_and_dropout_of_one_position_keep_their_heads():
    """A causal mask lets the one position see the first key alone; the places of random numbers say which weights are dropped."""
    q, k, v = torch.randn(1, 6, 1, 8), torch.randn(1, 2, 5, 8), torch.randn(1, 2, 5, 8)
    f = lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
    torch.testing.assert_close(f(*(t.to("cresset") for t in (q, k, v))).cpu(), f(q, k, v))
    with torch_cresset.profile() as profile:
        F.scaled_dot_product_attention(*(t.to("cresset") for t in (q, k, v)), dropout_p=0.5, enable_gqa=True).cpu()
    assert any("f32[1x6x1x8]" in row.kernel for row in profile if row.kernel.startswith("attention"))
