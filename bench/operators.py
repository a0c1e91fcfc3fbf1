"""Single operators of about a million elements, the device against eager in one process: what is slower than eager is found here.

    .venv/bin/python bench/operators.py [--only REGEX] [--threads N] [--seconds 0.1] [--bf16]

Prints the least times of both, the slowest in relation to eager last.
"""
import argparse
import re
import time

import torch
import torch.nn.functional as F

import torch_cresset  # noqa: F401

ROWS, COLUMNS = 1024, 1024


def floats(*shape):
    return torch.randn(shape or (ROWS, COLUMNS))


def indices(high, *shape):
    return torch.randint(0, high, shape)


def of(function, *arguments):
    return function, lambda: [make() for make in arguments]


def x():
    return floats()


def cube():
    return floats(256, 64, 64)


def images():
    return floats(8, 32, 64, 64)


def numbers():
    return indices(100, ROWS, COLUMNS)


def positive():
    return torch.rand(ROWS, COLUMNS) + 0.01


def mask():
    return floats() > 0


def row():
    return floats(COLUMNS)


def along_rows():
    return indices(COLUMNS, ROWS, COLUMNS)


def gradient(function):
    """The gradient of everything that is floating point, from a given gradient of the result, which is the first argument."""
    def call(upstream, *arguments):
        leaves = [a.detach().requires_grad_(a.is_floating_point()) for a in arguments]
        with torch.enable_grad():
            return torch.autograd.grad(function(*leaves), [a for a in leaves if a.requires_grad], upstream)
    return call


def cases():
    c = {}
    for name in ("abs neg exp log sqrt rsqrt sin cos tanh sigmoid erf floor round sign reciprocal square expm1 log1p isnan tan atan asin sinh exp2 log2").split():
        c[name] = of(getattr(torch, name), positive if name in ("log", "sqrt", "rsqrt", "log2", "asin") else x)
    for name in "relu silu gelu leaky_relu elu softplus hardswish hardtanh mish softsign logsigmoid selu relu6 hardsigmoid".split():
        c[name] = of(getattr(F, name), x)
    c["gelu_tanh"] = of(lambda a: F.gelu(a, approximate="tanh"), x)
    for name in "add sub mul div maximum minimum atan2 fmod remainder eq lt logical_and hypot".split():
        c[name] = of(getattr(torch, name), x, x)
    c["pow2"], c["pow"] = of(lambda a: a.pow(2), positive), of(torch.pow, positive, x)  # other exponents at the same place would be inputs
    c["add_row"], c["add_column"], c["add_scalar"] = of(torch.add, x, row), of(torch.add, x, lambda: floats(ROWS, 1)), of(lambda a: a + 1.5, x)
    c["lerp"], c["addcmul"], c["addcdiv"] = of(lambda a, b: a.lerp(b, 0.3), x, x), of(torch.addcmul, x, x, x), of(torch.addcdiv, x, x, positive)
    c["where"], c["masked_fill"], c["clamp"] = of(torch.where, mask, x, x), of(lambda a, m: a.masked_fill(m, -1e9), x, mask), of(lambda a: a.clamp(-1, 1), x)
    c["nan_to_num"], c["threshold"] = of(torch.nan_to_num, x), of(lambda a: F.threshold(a, 0.1, 0.0), x)
    for name in "add mul eq lt bitwise_and maximum".split():
        c[f"i64_{name}"] = of(getattr(torch, name), numbers, numbers)
    c["i64_floordiv"], c["i64_remainder"], c["i64_sum"] = of(lambda a: a // 7, numbers), of(lambda a: a % 7, numbers), of(lambda a: a.sum(-1), numbers)
    c["i64_div"] = of(lambda a, b: a // (b + 1), numbers, numbers)
    for a, b in ((torch.float32, torch.bfloat16), (torch.bfloat16, torch.float32), (torch.float32, torch.int64), (torch.int64, torch.float32),
                 (torch.float32, torch.float64), (torch.float64, torch.float32), (torch.bool, torch.float32), (torch.int64, torch.int32), (torch.float32, torch.bool),
                 (torch.float32, torch.float16), (torch.float16, torch.float32), (torch.uint8, torch.float32), (torch.float32, torch.uint8)):
        c[f"{a} to {b}".replace("torch.", "")] = of(lambda t, b=b: t.to(b), lambda a=a: numbers().to(a))

    reductions = {name: getattr(torch, name) for name in "sum mean amax argmax var std prod any all argmin amin".split()}
    reductions |= {"max": lambda a, *d: torch.max(a, *d)[0] if d else torch.max(a), "norm": lambda a, *d: torch.linalg.vector_norm(a, dim=d[0] if d else None),
                   "logsumexp": lambda a, *d: torch.logsumexp(a, d[0] if d else (0, 1)), "count_nonzero": torch.count_nonzero}
    for name, function in reductions.items():
        for where, dim, make in (("last", -1, x), ("first", 0, x), ("middle", 1, cube)):
            c[f"{name}_{where}"] = of(lambda a, f=function, d=dim: f(a, d), mask if name in ("any", "all") and where != "middle" else make)
        c[f"{name}_all"] = of(function, mask if name in ("any", "all") else x)
    c["sum_outer_dims"], c["mean_channels"] = of(lambda a: a.sum((0, 2, 3)), images), of(lambda a: a.mean((2, 3)), images)
    c["median"], c["cumsum"], c["cumsum_first"], c["cumprod"] = of(lambda a: a.median(-1)[0], x), of(lambda a: a.cumsum(-1), x), of(lambda a: a.cumsum(0), x), of(lambda a: a.cumprod(-1), x)
    c["cummax"], c["logcumsumexp"] = of(lambda a: a.cummax(-1)[0], x), of(lambda a: a.logcumsumexp(-1), x)

    for name, function in {"softmax": lambda a: a.softmax(-1), "log_softmax": lambda a: a.log_softmax(-1), "softmax_first": lambda a: a.softmax(0),
                           "layer_norm": lambda a: F.layer_norm(a, a.shape[-1:]), "rms_norm": lambda a: F.rms_norm(a, a.shape[-1:]),
                           "normalize": lambda a: F.normalize(a, dim=-1), "glu": F.glu, "softmin": lambda a: F.softmin(a, -1)}.items():
        c[name] = of(function, x)
    c["softmax_middle"] = of(lambda a: a.softmax(1), cube)
    c["group_norm"], c["batch_norm"] = of(lambda a: F.group_norm(a, 8), images), of(lambda a: F.batch_norm(a, None, None, training=True), images)
    c["batch_norm_inference"] = of(lambda a, m, v: F.batch_norm(a, m, v), images, lambda: floats(32), lambda: torch.rand(32) + 1)
    c["instance_norm"] = of(F.instance_norm, images)
    norm = lambda a, w, b: F.layer_norm(a, (COLUMNS,), w, b)
    c["layer_norm_gradient"], c["softmax_gradient"] = of(gradient(norm), x, x, row, row), of(gradient(lambda a: a.softmax(-1)), x, x)
    c["rms_norm_gradient"] = of(gradient(lambda a, w: F.rms_norm(a, (COLUMNS,), w)), x, x, row)
    c["gelu_gradient"], c["gelu_tanh_gradient"] = of(gradient(F.gelu), x, x), of(gradient(lambda a: F.gelu(a, approximate="tanh")), x, x)
    c["log_softmax_gradient"], c["silu_gradient"] = of(gradient(lambda a: a.log_softmax(-1)), x, x), of(gradient(F.silu), x, x)
    logits, labels = (lambda: floats(64, 50257)), (lambda: indices(50257, 64))
    c["cross_entropy"] = of(F.cross_entropy, logits, labels)
    c["cross_entropy_gradient"] = of(gradient(F.cross_entropy), lambda: torch.tensor(1.0), logits, labels)
    for name in "mse_loss l1_loss smooth_l1_loss huber_loss kl_div".split():
        c[name] = of(getattr(F, name), x, x)
    c["bce_with_logits"], c["cosine_similarity"] = of(F.binary_cross_entropy_with_logits, x, positive), of(F.cosine_similarity, x, x)

    c["transpose"], c["permute"] = of(lambda a: a.t().contiguous(), x), of(lambda a: a.permute(0, 2, 1).contiguous(), cube)
    c["heads"] = of(lambda a: a.view(4, 256, 16, 64).transpose(1, 2).contiguous(), x)
    c["channels_last"] = of(lambda a: a.permute(0, 2, 3, 1).contiguous(), images)
    c["cat_last"], c["cat_first"], c["stack_last"], c["stack_first"] = (of(lambda a, b, f=f, d=d: f([a, b], d), x, x) for f in (torch.cat, torch.stack) for d in (-1, 0))
    c["slice"], c["slice_step"], c["clone"] = of(lambda a: a[:, 3:-5].contiguous(), x), of(lambda a: a[:, ::2].contiguous(), x), of(torch.clone, x)
    c["chunk_mul"] = of(lambda a: a.chunk(2, -1)[0] * a.chunk(2, -1)[1], x)
    c["pad"], c["pad_images"] = of(lambda a: F.pad(a, (1, 1, 1, 1)), x), of(lambda a: F.pad(a, (1, 1, 1, 1)), images)
    c["pad_reflect"], c["pad_replicate"] = of(lambda a: F.pad(a, (1, 1, 1, 1), "reflect"), images), of(lambda a: F.pad(a, (1, 1, 1, 1), "replicate"), images)
    for mode in ("reflect", "replicate"):
        c[f"pad_{mode}_gradient"] = of(gradient(lambda a, m=mode: F.pad(a, (1, 1, 1, 1), m)), lambda: floats(8, 32, 66, 66), images)
    c["flip"], c["flip_first"], c["flip_images"] = of(lambda a: a.flip(-1), x), of(lambda a: a.flip(0), x), of(lambda a: a.flip(2, 3), images)
    c["roll"], c["roll_first"], c["roll_images"] = of(lambda a: a.roll(5, -1), x), of(lambda a: a.roll(5, 0), x), of(lambda a: a.roll((3, 3), (2, 3)), images)
    c["tril"], c["triu"], c["diag"] = of(torch.tril, x), of(torch.triu, x), of(torch.diagonal_copy, x)
    c["repeat"], c["repeat_interleave"], c["expand"] = of(lambda a: a.repeat(2, 2), x), of(lambda a: a.repeat_interleave(2, 0), x), of(lambda a: a[:, None].expand(-1, 4, -1).contiguous(), x)
    c["repeat_interleave_last"] = of(lambda a: a.repeat_interleave(2, -1), x)
    c["unfold"], c["im2col"] = of(lambda a: a.unfold(1, 16, 8).contiguous(), x), of(lambda a: F.unfold(a, 3, padding=1), lambda: floats(4, 16, 64, 64))
    c["fold"] = of(lambda a: F.fold(a, (64, 64), 3, padding=1), lambda: floats(4, 144, 4096))
    c["pixel_shuffle"], c["pixel_unshuffle"], c["channel_shuffle"] = of(lambda a: F.pixel_shuffle(a, 2), images), of(lambda a: F.pixel_unshuffle(a, 2), images), of(lambda a: F.channel_shuffle(a, 4), images)
    for mode in "nearest bilinear bicubic".split():
        c[f"interpolate_{mode}"] = of(lambda a, m=mode: F.interpolate(a, scale_factor=2, mode=m), lambda: floats(4, 16, 64, 64))
        c[f"interpolate_{mode}_half"] = of(lambda a, m=mode: F.interpolate(a, scale_factor=0.5, mode=m), images)
    c["grid_sample"] = of(lambda a, g: F.grid_sample(a, g, align_corners=False), lambda: floats(4, 32, 64, 64), lambda: torch.rand(4, 64, 64, 2) * 2 - 1)
    c["max_pool2d"], c["avg_pool2d"] = of(lambda a: F.max_pool2d(a, 2), images), of(lambda a: F.avg_pool2d(a, 2), images)
    c["max_pool2d_3"], c["avg_pool2d_3"] = of(lambda a: F.max_pool2d(a, 3, 2, 1), images), of(lambda a: F.avg_pool2d(a, 3, 1, 1), images)
    c["max_pool2d_gradient"] = of(gradient(lambda a: F.max_pool2d(a, 2)), lambda: floats(8, 32, 32, 32), images)
    c["adaptive_avg_pool2d"] = of(lambda a: F.adaptive_avg_pool2d(a, 7), images)

    c["embedding"] = of(F.embedding, lambda: indices(5000, 2048), lambda: floats(5000, 512))
    c["embedding_gradient"] = of(gradient(lambda i, w: F.embedding(i, w)), lambda: floats(2048, 512), lambda: indices(5000, 2048), lambda: floats(5000, 512))
    c["index_select"], c["index_select_last"] = of(lambda a, i: a.index_select(0, i), x, lambda: indices(ROWS, ROWS)), of(lambda a, i: a.index_select(1, i), x, lambda: indices(COLUMNS, COLUMNS))
    c["index_rows"], c["index_pairs"] = of(lambda a, i: a[i], x, lambda: indices(ROWS, ROWS)), of(lambda a, i, j: a[i, j], x, along_rows, along_rows)
    c["take_along_dim"], c["gather"], c["gather_first"] = of(lambda a, i: torch.take_along_dim(a, i, -1), x, along_rows), of(lambda a, i: a.gather(1, i), x, along_rows), of(lambda a, i: a.gather(0, i), x, along_rows)
    c["gather_one"] = of(lambda a, i: a.gather(1, i), x, lambda: indices(COLUMNS, ROWS, 1))
    c["scatter"], c["scatter_add"] = of(lambda a, i, s: a.scatter(1, i, s), x, along_rows, x), of(lambda a, i, s: a.scatter_add(1, i, s), x, along_rows, x)
    c["scatter_add_first"] = of(lambda a, i, s: a.scatter_add(0, i, s), x, along_rows, x)
    c["index_add"] = of(lambda a, i, s: a.index_add(0, i, s), lambda: floats(5000, 512), lambda: indices(5000, 2048), lambda: floats(2048, 512))
    c["index_put"] = of(lambda a, i, s: a.index_put((i,), s), x, lambda: torch.randperm(ROWS), x)
    c["masked_scatter"] = of(lambda a, m, s: a.masked_scatter(m, s), x, mask, x)
    c["one_hot"] = of(lambda i: F.one_hot(i, 64).float(), lambda: indices(64, 16384))
    c["topk"], c["topk_50"], c["sort"], c["argsort"] = of(lambda a: a.topk(10)[0], x), of(lambda a: a.topk(50)[0], x), of(lambda a: a.sort(-1)[0], x), of(lambda a: a.argsort(-1), x)
    c["topk_vocabulary"] = of(lambda a: a.topk(50)[0], lambda: floats(16, 50257))
    c["sort_first"], c["kthvalue"] = of(lambda a: a.sort(0)[0], x), of(lambda a: a.kthvalue(10)[0], x)
    c["bucketize"] = of(torch.bucketize, x, lambda: torch.linspace(-2, 2, 33))
    c["multinomial"] = of(lambda a: torch.multinomial(a, 1), positive)
    c["bernoulli"], c["dropout"] = of(torch.bernoulli, lambda: torch.rand(ROWS, COLUMNS)), of(lambda a: F.dropout(a, 0.1, True), x)
    c["rand_like"], c["randn_like"] = of(torch.rand_like, x), of(torch.randn_like, x)
    c["arange"] = of(lambda a: torch.arange(ROWS * COLUMNS, device=a.device), lambda: floats(1))
    c["full"], c["zeros"] = of(lambda a: torch.full((ROWS, COLUMNS), 3.0, device=a.device), lambda: floats(1)), of(lambda a: torch.zeros(ROWS, COLUMNS, device=a.device), lambda: floats(1))
    c["eye"], c["linspace"] = of(lambda a: torch.eye(1024, device=a.device), lambda: floats(1)), of(lambda a: torch.linspace(0, 1, ROWS * COLUMNS, device=a.device), lambda: floats(1))
    c["outer"], c["meshgrid"] = of(torch.outer, row, row), of(lambda a, b: torch.stack(torch.meshgrid(a, b, indexing="ij")), row, row)
    c["rotary"] = of(lambda q, cos, sin: q * cos + torch.cat([-q[..., 32:], q[..., :32]], -1) * sin, lambda: floats(4, 16, 256, 64), lambda: floats(256, 64), lambda: floats(256, 64))
    c["cdist"] = of(torch.cdist, lambda: floats(512, 64), lambda: floats(512, 64))
    return c


def least(seconds, *calls):
    """The least times of calls that take turns, in ms."""
    best, end = [1e30] * len(calls), time.perf_counter() + seconds * len(calls)
    while best[0] == 1e30 or time.perf_counter() < end:
        for i, call in enumerate(calls):
            start = time.perf_counter()
            call()
            best[i] = min(best[i], time.perf_counter() - start)
    return [b * 1e3 for b in best]


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--only", default="")
    options.add_argument("--threads", type=int)
    options.add_argument("--seconds", type=float, default=0.1)
    options.add_argument("--bf16", action="store_true")
    options = options.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    rows = []
    for name, (function, make) in cases().items():
        if not re.search(options.only, name):
            continue
        arguments = [a.bfloat16() if options.bf16 and a.dtype == torch.float32 else a for a in make()]
        on_device = [a.to("cresset") for a in arguments]

        def device():
            result = function(*on_device)
            torch.cresset.synchronize()
            return result

        try:
            with torch.no_grad():
                device(), device()
                function(*arguments)
                rows.append((name, *least(options.seconds, device, lambda: function(*arguments))))
        except Exception as error:  # one operator that fails does not hide the others
            print(f"{name}: {type(error).__name__}: {str(error).splitlines()[0][:150]}", flush=True)
    print(f"{'':32} {'device ms':>10} {'eager ms':>10} {'ratio':>6}")
    for name, ours, eager in sorted(rows, key=lambda r: r[1] / r[2]):
        print(f"{name:32} {ours:10.3f} {eager:10.3f} {ours / eager:6.2f}")


if __name__ == "__main__":
    main()
