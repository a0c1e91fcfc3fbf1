"""Writes the corpus of spellings: python tests/raising/generate.py (needs jax). Each file says in its first line what raising must find in it, or nothing.

A spelling is a function as somebody writes it; its gradient is JAX's own (jax.vjp) or PyTorch's autograd (through torch_cresset.stablehlo).
"""

import functools
import os
import pathlib

os.environ["CRESSET_RAISE"] = "0"

import jax
import jax.numpy as jnp
import numpy as np
import torch

import heldout
import torch_cresset

HERE = pathlib.Path(__file__).parent
X, W, B = jnp.ones((4, 16), jnp.float32), jnp.ones(16), jnp.ones(16)
N = 16


def rms(x, w, eps=1e-6):
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + eps) * w


def layer_norm(x, w, b, eps=1e-5):
    mean = x.mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(((x - mean) ** 2).mean(-1, keepdims=True) + eps) * w + b


def t5_norm(x, w):
    variance = jnp.power(x.astype(jnp.float32), 2).mean(-1, keepdims=True)
    return w * (x * jax.lax.rsqrt(variance + 1e-6))


GELU, TANH = ["aten.gelu approximate=none"], ["aten.gelu approximate=tanh"]
JAX = {
    # name: (expected, function, arguments)
    "gelu_erf_jax": (GELU, functools.partial(jax.nn.gelu, approximate=False), [X]),
    "gelu_erf_halved": (GELU, lambda x: x / 2 * (1 + jax.lax.erf(x / np.sqrt(2))), [X]),
    "gelu_erf_cdf": (GELU, lambda x: x * (0.5 + 0.5 * jax.lax.erf(x * 0.70710678)), [X]),
    "gelu_erf_erfc": (GELU, lambda x: 0.5 * x * jax.lax.erfc(-x / np.sqrt(2)), [X]),
    "gelu_tanh_jax": (TANH, functools.partial(jax.nn.gelu, approximate=True), [X]),
    "gelu_tanh_factored": (TANH, lambda x: 0.5 * x * (1 + jnp.tanh(x * 0.7978845608 * (1 + 0.044715 * x * x))), [X]),
    "gelu_tanh_pow": (TANH, lambda x: 0.5 * x * (1 + jnp.tanh(jnp.sqrt(2 / jnp.pi) * (x + 0.044715 * jnp.power(x, 3.0)))), [X]),
    "gelu_tanh_sigmoid": (TANH, lambda x: x * jax.nn.sigmoid(1.5957691216 * (x + 0.044715 * x ** 3)), [X]),
    "gelu_tanh_exp": (TANH, lambda x: x - x / (jnp.exp(1.5957691216 * (x + 0.044715 * x ** 3)) + 1), [X]),
    "gelu_bf16": (TANH, functools.partial(jax.nn.gelu, approximate=True), [X.astype(jnp.bfloat16)]),
    "gelu_bf16_in_f32": (TANH, lambda x: jax.nn.gelu(x.astype(jnp.float32), approximate=True).astype(jnp.bfloat16), [X.astype(jnp.bfloat16)]),
    "gelu_f64": (GELU, lambda x: x * (1 + jax.lax.erf(x / np.sqrt(2))) / 2, [np.ones((4, 16))]),
    "gelu_after_bias": (TANH, lambda x, b: jax.nn.gelu(x + b, approximate=True), [X, B]),
    "silu_jax": (["aten.silu"], jax.nn.silu, [X]),
    "silu_quotient": (["aten.silu"], lambda x: x / (1 + jnp.exp(-x)), [X]),
    "silu_tanh": (["aten.silu"], lambda x: x * 0.5 * (1 + jnp.tanh(x / 2)), [X]),
    "mish": (["aten.mish"], lambda x: x * jnp.tanh(jax.nn.softplus(x)), [X]),
    "mish_log": (["aten.mish"], lambda x: x * jnp.tanh(jnp.log1p(jnp.exp(-jnp.abs(x))) + jnp.maximum(x, 0)), [X]),
    "softplus_jax": (["aten.softplus threshold=20 beta=1"], jax.nn.softplus, [X]),
    "softplus_beta": (["aten.softplus threshold=20 beta=2"], lambda x: jnp.logaddexp(2 * x, 0) / 2, [X]),
    "sigmoid_quotient": (["aten.sigmoid"], lambda x: 1 / (1 + jnp.exp(-x)), [X]),
    "sigmoid_tanh": (["aten.sigmoid"], lambda x: 0.5 * jnp.tanh(0.5 * x) + 0.5, [X]),
    "tanh_exp": (["aten.tanh"], lambda x: 1 - 2 / (jnp.exp(2 * x) + 1), [X]),
    "relu": (["aten.relu"], jax.nn.relu, [X]),
    "relu_select": (["aten.relu"], lambda x: jnp.where(x > 0, x, 0), [X]),
    "relu_abs": (["aten.relu"], lambda x: (x + jnp.abs(x)) / 2, [X]),
    "relu6": (["aten.hardtanh min_val=0 max_val=6"], jax.nn.relu6, [X]),
    "hardtanh": (["aten.hardtanh min_val=-1 max_val=1"], jax.nn.hard_tanh, [X]),
    "hardsigmoid": (["aten.hardsigmoid"], jax.nn.hard_sigmoid, [X]),
    "hardswish": (["aten.hardswish"], jax.nn.hard_swish, [X]),
    "hardswish_clip": (["aten.hardswish"], lambda x: x * jnp.clip(x / 6 + 0.5, 0, 1), [X]),
    "elu": (["aten.elu input_scale=1 scale=1 alpha=1"], jax.nn.elu, [X]),
    "elu_alpha": (["aten.elu input_scale=1 scale=1 alpha=0.5"], lambda x: jnp.where(x > 0, x, 0.5 * (jnp.exp(jnp.minimum(x, 0)) - 1)), [X]),
    "selu": (["aten.elu input_scale=1 scale=1.0507 alpha=1.67326"], jax.nn.selu, [X]),
    "leaky_relu": (["aten.leaky_relu negative_slope=0.01"], jax.nn.leaky_relu, [X]),
    "leaky_relu_max": (["aten.leaky_relu negative_slope=0.2"], lambda x: jnp.maximum(x, 0.2 * x), [X]),
    "erf_in_f32": (["aten.gelu approximate=none"], lambda x: (x * 0.5) * (jax.lax.erf(x * np.float32(1 / np.sqrt(2))) + 1), [X]),
    "softmax_jax": (["aten.softmax dim=1"], jax.nn.softmax, [X]),
    "softmax_plain": (["aten.softmax dim=1"], lambda x: jnp.exp(x) / jnp.exp(x).sum(-1, keepdims=True), [X]),
    "softmax_first": (["aten.softmax dim=0"], lambda x: jax.nn.softmax(x, axis=0), [X]),
    "softmax_reciprocal": (["aten.softmax dim=1"], lambda x: (e := jnp.exp(x - x.max(-1, keepdims=True))) * (1 / e.sum(-1, keepdims=True)), [X]),
    "softmax_of_log": (["aten.softmax dim=1"], lambda x: jnp.exp(x - jax.nn.logsumexp(x, -1, keepdims=True)), [X]),
    "log_softmax_jax": (["aten.log_softmax dim=1"], jax.nn.log_softmax, [X]),
    "log_softmax_plain": (["aten.log_softmax dim=1"], lambda x: x - jnp.log(jnp.exp(x).sum(-1, keepdims=True)), [X]),
    "rms_norm": (["aten.rms_norm eps=1e-06"], rms, [X, W]),
    "rms_norm_sqrt": (["aten.rms_norm eps=1e-05"], lambda x, w: w * x / jnp.sqrt((x ** 2).sum(-1, keepdims=True) / N + 1e-5), [X, W]),
    "rms_norm_pow": (["aten.rms_norm eps=1e-06"], lambda x, w: x * jnp.power(jnp.mean(x * x, -1, keepdims=True) + 1e-6, -0.5) * w, [X, W]),
    "rms_norm_plain": (["aten.rms_norm eps=1e-06"], lambda x: x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6), [X]),
    "rms_norm_t5": (["aten.rms_norm eps=1e-06"], t5_norm, [X, W]),
    "rms_norm_gemma": (["aten.rms_norm eps=1e-06"], lambda x, w: rms(x, 1 + w), [X, W]),
    "rms_norm_rank_3": (["aten.rms_norm eps=1e-06"], rms, [jnp.ones((2, 3, 16)), W]),
    "rms_norm_after_residual": (["aten.rms_norm eps=1e-06"], lambda a, b, w: rms(a + b, w), [X, X, W]),
    "layer_norm": (["aten.layer_norm eps=1e-05"], layer_norm, [X, W, B]),
    "layer_norm_var": (["aten.layer_norm eps=1e-05"], lambda x, w, b: (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5) * w + b, [X, W, B]),
    "layer_norm_moments": (["aten.layer_norm eps=1e-06"],
                           lambda x, w, b: (x - (m := x.mean(-1, keepdims=True))) * (jax.lax.rsqrt((x * x).mean(-1, keepdims=True) - m * m + 1e-6) * w) + b, [X, W, B]),
    "layer_norm_plain": (["aten.layer_norm eps=1e-05"], lambda x: layer_norm(x, 1.0, 0.0), [X]),
}
MISSES = {
    "gelu_constant": (lambda x: 0.5 * x * (1 + jnp.tanh(0.7979 * (x + 0.044715 * x ** 3))), [X]),
    "gelu_coefficient": (lambda x: 0.5 * x * (1 + jnp.tanh(0.79788456 * (x + 0.0447 * x ** 3))), [X]),
    "gelu_square": (lambda x: 0.5 * x * (1 + jnp.tanh(0.79788456 * (x + 0.044715 * x ** 2))), [X]),
    "gelu_root": (lambda x: 0.5 * x * (1 + jax.lax.erf(x / 1.4141)), [X]),
    "gelu_half": (lambda x: 0.501 * x * (1 + jax.lax.erf(x / np.sqrt(2))), [X]),
    "gelu_other_input": (lambda x, y: 0.5 * x * (1 + jax.lax.erf(y / np.sqrt(2))), [X, X]),
    "hardswish_4": (lambda x: x * jnp.clip(x + 4, 0, 6) / 6, [X]),
    "softmax_mean": (lambda x: (e := jnp.exp(x - x.max(-1, keepdims=True))) / e.mean(-1, keepdims=True), [X]),
    "softmax_scaled": (lambda x: (e := jnp.exp(x - x.max(-1, keepdims=True))) / (e.sum(-1, keepdims=True) + 1e-3), [X]),
    "softmax_maximum": (lambda x: (e := jnp.exp(x)) / e.max(-1, keepdims=True), [X]),
    "softmax_base": (lambda x: (e := jnp.exp(x)) / jnp.exp(1.001 * x).sum(-1, keepdims=True), [X]),
    "rms_norm_other_axis": (lambda x, w: x * jax.lax.rsqrt(jnp.mean(x * x, 0, keepdims=True) + 1e-6) * w, [X, W]),
    "rms_norm_sum": (lambda x, w: x * jax.lax.rsqrt(jnp.sum(x * x, -1, keepdims=True) + 1e-6) * w, [X, W]),
    "rms_norm_cube": (lambda x, w: x * jax.lax.rsqrt(jnp.mean(jnp.abs(x) ** 3, -1, keepdims=True) + 1e-6) * w, [X, W]),
    "rms_norm_eps_outside": (lambda x, w: x / (jnp.sqrt(jnp.mean(x * x, -1, keepdims=True)) + 1e-2) * w, [X, W]),
    "layer_norm_unbiased": (lambda x, w, b: (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True, ddof=1) + 1e-5) * w + b, [X, W, B]),
    "layer_norm_no_mean": (lambda x, w, b: x / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5) * w + b, [X, W, B]),
    "layer_norm_eps_outside": (lambda x, w, b: (x - x.mean(-1, keepdims=True)) / (jnp.sqrt(x.var(-1, keepdims=True)) + 1e-2) * w + b, [X, W, B]),
    "linear": (lambda x: 0.999 * x + 1e-6, [X]),
    "square_root": (lambda x: jnp.sqrt(x * x + 1), [X]),
    "clip_shifted": (lambda x: jnp.clip(x, 0, 1) * 2, [X]),
}
GRADIENTS = {
    "gelu_erf": (["aten.gelu_backward approximate=none"], functools.partial(jax.nn.gelu, approximate=False), [X]),
    "gelu_tanh": (["aten.gelu_backward approximate=tanh"], functools.partial(jax.nn.gelu, approximate=True), [X]),
    "gelu_tanh_pow": (["aten.gelu_backward approximate=tanh"], JAX["gelu_tanh_pow"][1], [X]),
    "gelu_tanh_factored": (["aten.gelu_backward approximate=tanh"], JAX["gelu_tanh_factored"][1], [X]),
    "gelu_erf_halved": (["aten.gelu_backward approximate=none"], JAX["gelu_erf_halved"][1], [X]),
    "silu": (["aten.silu_backward"], jax.nn.silu, [X]),
    "silu_quotient": (["aten.silu_backward"], JAX["silu_quotient"][1], [X]),
    "relu": (["aten.threshold_backward threshold=0"], jax.nn.relu, [X]),
    "leaky_relu": (["aten.leaky_relu_backward negative_slope=0.01 self_is_result=0"], jax.nn.leaky_relu, [X]),
    "elu": (["aten.elu_backward input_scale=1 scale=1 alpha=1 is_result=0"], jax.nn.elu, [X]),
    "hardswish": (["aten.hardswish_backward"], jax.nn.hard_swish, [X]),
    "sigmoid": (["aten.sigmoid_backward"], jax.nn.sigmoid, [X]),
    "tanh": (["aten.tanh_backward"], jnp.tanh, [X]),
    "mish": (["aten.mish_backward"], JAX["mish"][1], [X]),
}


def torch_rms(x, w):
    h = x.to(torch.float32)
    return w * (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype)


def torch_gelu_new(x):
    return 0.5 * x * (1.0 + torch.tanh(0.7978845608028654 * (x + 0.044715 * torch.pow(x, 3.0))))


def of_floats(function, arguments):
    """(gradient, *arguments) -> the gradients of those arguments that are floats; and the same with the result, as a training step has it."""
    places = [i for i, a in enumerate(arguments) if jnp.issubdtype(a.dtype, jnp.floating)]

    def both(g, *given):
        def of(*floats):
            full = list(given)
            for i, v in zip(places, floats, strict=True):
                full[i] = v
            return function(*full)

        y, backward = jax.vjp(of, *[given[i] for i in places])
        return y, backward(g)

    return (lambda g, *given: both(g, *given)[1]), both


def backward_of(expected):
    """What the gradient of something that is raised as this is raised as."""
    name, _, rest = expected.partition(" ")
    return f"{name}_backward" + ("" if "softmax" in name else " " + rest)


def with_gradient(function):
    def both(g, *args):
        y = function(*args)
        return y, *torch.autograd.grad(y, args, g)

    return both


TX, TW = torch.ones(4, 16, requires_grad=True), torch.ones(16, requires_grad=True)
TORCH = {
    "gelu_new": (["aten.gelu approximate=tanh", "aten.gelu_backward approximate=tanh"], with_gradient(torch_gelu_new), [TX.detach(), TX]),
    "gelu_erf": (["aten.gelu approximate=none", "aten.gelu_backward approximate=none"],
                 with_gradient(lambda x: x * 0.5 * (1.0 + torch.erf(x / 2 ** 0.5))), [TX.detach(), TX]),
    "silu": (["aten.silu", "aten.silu_backward"], with_gradient(lambda x: x * torch.sigmoid(x)), [TX.detach(), TX]),
    "mish": (["aten.mish", "aten.mish_backward"], with_gradient(lambda x: x * torch.tanh(torch.nn.functional.softplus(x))), [TX.detach(), TX]),
    "rms_norm": (["aten.rms_norm eps=1e-06", "aten.rms_norm_backward"], with_gradient(torch_rms), [TX.detach(), TX, TW]),
    "rms_norm_bf16": (["aten.rms_norm eps=1e-06"], torch_rms, [TX.detach().bfloat16(), TW.detach().bfloat16()]),
    "softmax": (["aten.softmax dim=1"], lambda x: x.exp() / x.exp().sum(-1, keepdim=True), [TX.detach()]),
    "layer_norm": (["aten.layer_norm eps=1e-05"], lambda x, w, b: (x - x.mean(-1, keepdim=True)) / torch.sqrt(x.var(-1, keepdim=True, unbiased=False) + 1e-5) * w + b,
                   [TX.detach(), TW.detach(), TW.detach()]),
    "hardswish": (["aten.hardswish"], lambda x: x * torch.clamp(x + 3, 0, 6) / 6, [TX.detach()]),
}


def write(folder, name, expected, text):
    path = HERE / folder / f"{name}.mlir"
    path.parent.mkdir(exist_ok=True)
    path.write_text("// EXPECT: " + "; ".join(expected) + "\n" + text)


def lowered(function, arguments):
    with jax.enable_x64(any(np.asarray(a).dtype == np.float64 for a in arguments)):
        return jax.jit(function).lower(*arguments).as_text()


def main():
    for name, (expected, function, arguments) in JAX.items():
        write("spellings", "jax_" + name, expected, lowered(function, arguments))
    for name, (expected, function, arguments) in GRADIENTS.items():
        write("spellings", "jax_gradient_" + name, expected, lowered(lambda g, *a: jax.vjp(function, *a)[1](g), [X, *arguments]))
    for name, (expected, function, arguments) in TORCH.items():
        write("spellings", "torch_" + name, expected, torch_cresset.stablehlo(function, *arguments))
    for table in (heldout.ACTIVATIONS, heldout.NORMS, heldout.ATTENTION, heldout.LOSSES):
        for name, (expected, function, arguments) in table.items():
            write("spellings", "heldout_" + name, expected, lowered(function, arguments))
    for name, (expected, function, arguments) in heldout.GRADIENTS.items():
        gradient = jnp.ones_like(function(*arguments))
        write("spellings", "heldout_gradient_" + name, expected, lowered(lambda g, *a: jax.vjp(function, *a)[1](g), [gradient, *arguments]))
    for name in [*heldout.ATTENTION, *heldout.LOSSES, *heldout.CHANNEL_GRADIENTS]:
        expected, function, arguments = {**heldout.ATTENTION, **heldout.LOSSES, **heldout.NORMS}[name]
        if name == "nll_alone":  # its gradient does not read the log probabilities
            continue
        gradient = jnp.ones_like(function(*arguments))
        alone, both = of_floats(function, arguments)
        backward = [backward_of(e) for e in expected]
        write("spellings", "gradient_" + name, ["aten.log_softmax_backward" if "log_softmax" in e else e for e in backward], lowered(alone, [gradient, *arguments]))
        write("spellings", "step_" + name, expected + backward, lowered(both, [gradient, *arguments]))
    for name in heldout.TORCH_GRADIENTS:
        expected, function, arguments = heldout.TORCH[name]
        arguments = [a.detach().clone().requires_grad_() if a.is_floating_point() and name != "attention_transformers_mask" or i < 3 and a.is_floating_point() else a for i, a in enumerate(arguments)]
        gradient = torch.ones_like(function(*arguments)).detach()
        with torch_cresset.composites("none"):
            text = torch_cresset.stablehlo(lambda g, *a: (y := function(*a), *torch.autograd.grad(y, [v for v in a if v.requires_grad], g)), gradient, *arguments)
        write("spellings", "step_torch_" + name, expected + [backward_of(e) for e in expected], text)
    for name, (expected, function, arguments) in heldout.TORCH.items():
        with torch_cresset.composites("none"):
            write("spellings", "heldout_torch_" + name, expected, torch_cresset.stablehlo(function, *arguments))
    for name, (function, arguments) in [*MISSES.items(), *heldout.MISSES.items()]:
        write("misses", name, [], lowered(function, arguments))


if __name__ == "__main__":
    main()
