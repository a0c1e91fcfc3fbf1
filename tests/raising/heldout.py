"""Spellings and near misses that were written before the matcher saw them, a table for each way of writing; generate.py writes the files.

`of_jax`, `of_torch`: what must be found, the function, its arguments. `of_vjp`: the function whose gradient JAX writes. `misses`: what must stay.
"""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import torch
import torch.nn.functional as F

X, W, B = jnp.ones((4, 16), jnp.float32), jnp.ones(16), jnp.ones(16)
X3 = jnp.ones((2, 6, 16))
Q = jnp.ones((2, 3, 8, 16))  # batch, heads, positions, width
P = jnp.ones((2, 8, 3, 16))  # as JAX writes it: batch, positions, heads, width
NCHW, NHWC = jnp.ones((2, 6, 5, 4)), jnp.ones((2, 5, 4, 6))
C = jnp.ones(6)
LABELS = jnp.zeros((4,), jnp.int32)
LABELS3 = jnp.zeros((2, 6), jnp.int32)
GELU, TANH = ["aten.gelu approximate=none"], ["aten.gelu approximate=tanh"]
SDPA, CAUSAL = ["aten.scaled_dot_product_attention scale=0.25"], ["aten.scaled_dot_product_attention is_causal scale=0.25"]
MASKED = ["aten.scaled_dot_product_attention attn_mask scale=0.25"]


# Activations
def gelu_of_logistic(x):
    u = 0.7978845608028654 * x * (1.0 + 0.044715 * jnp.square(x))
    return x * jax.lax.logistic(2 * u)


def gelu_sum_of_two(x):
    return 0.5 * x + 0.5 * x * jnp.tanh(np.sqrt(2 / np.pi) * x + np.sqrt(2 / np.pi) * 0.044715 * x ** 3)


ACTIVATIONS = {
    "gelu_normal_cdf": (GELU, lambda x: x * jax.scipy.stats.norm.cdf(x), [X]),
    "gelu_ndtr": (GELU, lambda x: x * jax.scipy.special.ndtr(x), [X]),
    "gelu_erf_last": (GELU, lambda x: (jax.scipy.special.erf(x / math.sqrt(2.0)) + 1.0) * 0.5 * x, [X]),
    "gelu_erf_added": (GELU, lambda x: x / 2 + x * jax.lax.erf(x * 0.7071067811865475) / 2, [X]),
    "gelu_erfc_rest": (GELU, lambda x: x - 0.5 * x * jax.lax.erfc(x / np.sqrt(2)), [X]),
    "gelu_logistic": (TANH, gelu_of_logistic, [X]),
    "gelu_two": (TANH, gelu_sum_of_two, [X]),
    "gelu_horner": (TANH, lambda x: 0.5 * x * (1 + jnp.tanh(x * (0.7978845608 + 0.0356774081 * x * x))), [X]),
    "gelu_power": (TANH, lambda x: 0.5 * x * (1 + jnp.tanh((2 / math.pi) ** 0.5 * (x + 0.044715 * x ** 3.0))), [X3]),
    "gelu_2exp": (TANH, lambda x: x * (1 - 1 / (1 + jnp.exp(2 * 0.7978845608 * (x + 0.044715 * x * x * x)))), [X]),
    "gelu_f16": (TANH, lambda x: jax.nn.gelu(x.astype(jnp.float32)).astype(jnp.float16), [X.astype(jnp.float16)]),
    "silu_swish": (["aten.silu"], jax.nn.swish, [X3]),
    "silu_recip": (["aten.silu"], lambda x: x * jnp.reciprocal(1 + jnp.exp(-x)), [X]),
    "silu_logaddexp": (["aten.silu"], lambda x: x * jnp.exp(-jnp.logaddexp(0.0, -x)), [X]),
    "mish_jax": (["aten.mish"], jax.nn.mish, [X]),
    "mish_algebra": (["aten.mish"], lambda x: x * (n := jnp.exp(x) * (jnp.exp(x) + 2)) / (n + 2), [np.ones((4, 16))]),
    "softplus_log": (["aten.softplus threshold=20 beta=1"], lambda x: jnp.maximum(x, 0) + jnp.log(1 + jnp.exp(-jnp.abs(x))), [X]),
    "logsigmoid": (["aten.softplus threshold=20 beta=1"], jax.nn.log_sigmoid, [X]),
    "logsigmoid_plain": (["aten.softplus threshold=20 beta=1"], lambda x: -jnp.log1p(jnp.exp(-x)), [X]),
    "relu_clip": (["aten.relu"], lambda x: jnp.clip(x, 0), [X]),
    "relu_mask": (["aten.relu"], lambda x: x * (x > 0), [X]),
    "relu6_min": (["aten.hardtanh min_val=0 max_val=6"], lambda x: jnp.minimum(jnp.maximum(x, 0), 6), [X]),
    "hardsilu": (["aten.hardswish"], lambda x: x * jax.nn.relu6(x + 3) * 0.16666667, [X]),
    "hardsig": (["aten.hardsigmoid"], lambda x: jnp.clip(x / 6 + 0.5, 0.0, 1.0), [X]),
    "celu": (["aten.elu input_scale=1 scale=1 alpha=1"], jax.nn.celu, [X]),
    "elu_min": (["aten.elu input_scale=1 scale=1 alpha=1"], lambda x: jax.nn.relu(x) + jnp.minimum(jnp.expm1(x), 0), [X]),
    "leaky": (["aten.leaky_relu negative_slope=0.1"], lambda x: jax.nn.relu(x) - 0.1 * jax.nn.relu(-x), [X]),
    "sigmoid_expit": (["aten.sigmoid"], lambda x: jnp.exp(x) / (1 + jnp.exp(x)), [X]),
    "squareplus_no": ([], jax.nn.squareplus, [X]),
    "glu": (["aten.sigmoid"], lambda x: x * (1 / (1 + jnp.exp(-(x + 1)))), [X]),
}


# Norms and softmax
def flax_layer_norm(x, scale, bias, eps=1e-6):
    mean = jnp.mean(x, -1, keepdims=True)
    mean2 = jnp.mean(jax.lax.square(x), -1, keepdims=True)
    var = jnp.maximum(0.0, mean2 - jax.lax.square(mean))
    y = x - mean
    mul = jax.lax.rsqrt(var + eps) * scale
    return y * mul + bias


def flax_rms(x, scale, eps=1e-6):
    mean2 = jnp.mean(jax.lax.square(x.astype(jnp.float32)), axis=-1)
    return x * (jax.lax.rsqrt(jnp.expand_dims(mean2, -1) + eps) * scale)


def gemma_rms(x, scale):
    var = jnp.mean(jnp.square(x), axis=-1, keepdims=True)
    normed = jnp.asarray(x * jax.lax.rsqrt(var + 1e-06))
    return normed * (1 + jnp.expand_dims(scale, (0, 1)))


def standard(x, axis, eps, ddof=0):
    return (x - x.mean(axis, keepdims=True)) / jnp.sqrt(x.var(axis, keepdims=True, ddof=ddof) + eps)


def group_norm(x, groups, w, b, eps=1e-5):
    n, c, *rest = x.shape
    g = x.reshape(n, groups, c // groups, *rest)
    y = standard(g, tuple(range(2, g.ndim)), eps).reshape(x.shape)
    return y * w.reshape(1, c, *[1] * len(rest)) + b.reshape(1, c, *[1] * len(rest))


def flax_group_norm(x, groups, w, b, eps=1e-6):
    """On channels that are last, as flax writes it."""
    g = x.reshape(*x.shape[:-1], groups, x.shape[-1] // groups)
    axes = (*range(1, x.ndim - 1), x.ndim)
    mean, mean2 = g.mean(axes), jnp.square(g).mean(axes)
    var = jnp.maximum(0.0, mean2 - jnp.square(mean))
    mean, var = (jnp.repeat(v, x.shape[-1] // groups, axis=-1).reshape(x.shape[0], *[1] * (x.ndim - 2), x.shape[-1]) for v in (mean, var))
    return (x - mean) * (jax.lax.rsqrt(var + eps) * w) + b


def channels(v, x):
    return v.reshape(1, -1, *[1] * (x.ndim - 2))


def batch_norm_inference(x, w, b, m, v, eps=1e-5):
    return (x - channels(m, x)) / jnp.sqrt(channels(v, x) + eps) * channels(w, x) + channels(b, x)


def batch_norm_folded(x, w, b, m, v, eps=1e-5):
    s = w * jax.lax.rsqrt(v + eps)
    return x * channels(s, x) + channels(b - m * s, x)


def batch_norm_training(x, w, b, eps=1e-5):
    return standard(x, (0, 2, 3), eps) * channels(w, x) + channels(b, x)


NORMS = {
    "rms_norm_weight_of_rows": (["aten.rms_norm eps=1e-05"], lambda x, w: x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-5) * w[:, None], [jnp.ones((16, 16)), W]),
    "softmax_stable": (["aten.softmax dim=1"], lambda x: (u := jnp.exp(x - jax.lax.stop_gradient(jnp.max(x, axis=-1, keepdims=True)))) / jnp.sum(u, axis=-1, keepdims=True), [X]),
    "softmax_middle": (["aten.softmax dim=1"], lambda x: jax.nn.softmax(x, axis=1), [X3]),
    "softmax_einsum": (["aten.softmax dim=1"], lambda x: (e := jnp.exp(x)) / jnp.einsum("ij->i", e)[:, None], [X]),
    "softmax_bf16": (["aten.softmax dim=1"], lambda x: jax.nn.softmax(x.astype(jnp.float32)).astype(jnp.bfloat16), [X.astype(jnp.bfloat16)]),
    "softmax_exp_log": (["aten.softmax dim=1"], lambda x: jnp.exp(jax.nn.log_softmax(x, axis=-1)), [X]),
    "softmax_vmap": (["aten.softmax dim=1"], jax.vmap(lambda r: jnp.exp(r - r.max()) / jnp.exp(r - r.max()).sum()), [X]),
    "softmax_temperature": (["aten.softmax dim=1"], lambda x: jax.nn.softmax(x / 0.7), [X]),
    "log_softmax_lse": (["aten.log_softmax dim=2"], lambda x: x - jax.scipy.special.logsumexp(x, axis=-1, keepdims=True), [X3]),
    "log_softmax_of_softmax": (["aten.log_softmax dim=1"], lambda x: jnp.log(jax.nn.softmax(x)), [X]),
    "log_softmax_first": (["aten.log_softmax dim=0"], lambda x: jax.nn.log_softmax(x, axis=0), [X]),
    "layer_norm_flax": (["aten.layer_norm eps=1e-06"], flax_layer_norm, [X3, W, B]),
    "layer_norm_standardize": (["aten.layer_norm eps=1e-05"], lambda x, w, b: jax.nn.standardize(x, axis=-1, epsilon=1e-5) * w + b, [X, W, B]),
    "layer_norm_no_bias": (["aten.layer_norm eps=1e-05"], lambda x, w: standard(x, -1, 1e-5) * w, [X, W]),
    "layer_norm_two_dims": (["aten.layer_norm eps=1e-05"], lambda x, w, b: standard(x, (-2, -1), 1e-5) * w + b, [X3, jnp.ones((6, 16)), jnp.ones((6, 16))]),
    "layer_norm_power": (["aten.layer_norm eps=1e-12"], lambda x, w, b: w * ((x - x.mean(-1, keepdims=True)) * ((x - x.mean(-1, keepdims=True)) ** 2).mean(-1, keepdims=True).__add__(1e-12) ** -0.5) + b, [X, W, B]),
    "layer_norm_std": (["aten.layer_norm eps=0"], lambda x, w, b: w * (x - x.mean(-1, keepdims=True)) / x.std(-1, keepdims=True) + b, [X, W, B]),
    "layer_norm_bf16": (["aten.layer_norm eps=1e-05"], lambda x, w, b: (standard(x.astype(jnp.float32), -1, 1e-5) * w + b).astype(jnp.bfloat16), [X.astype(jnp.bfloat16), W, B]),
    "layer_norm_vmap": (["aten.layer_norm eps=1e-05"], jax.vmap(lambda r, w, b: (r - r.mean()) / jnp.sqrt(r.var() + 1e-5) * w + b, (0, None, None)), [X, W, B]),
    "rms_flax": (["aten.rms_norm eps=1e-06"], flax_rms, [X3, W]),
    "rms_gemma": (["aten.rms_norm eps=1e-06"], gemma_rms, [X3, W]),
    "rms_einsum": (["aten.rms_norm eps=1e-06"], lambda x, w: x * jax.lax.rsqrt(jnp.einsum("ij,ij->i", x, x)[:, None] / 16 + 1e-6) * w, [X, W]),
    "rms_norm_of": (["aten.rms_norm eps=0"], lambda x, w: x / jnp.linalg.norm(x, axis=-1, keepdims=True) * 4.0 * w, [X, W]),
    "rms_bf16": (["aten.rms_norm eps=1e-06"], lambda x, w: (w * (h := x.astype(jnp.float32)) * jax.lax.rsqrt(jnp.mean(h * h, -1, keepdims=True) + 1e-6)).astype(jnp.bfloat16), [X.astype(jnp.bfloat16), W]),
    "group_norm": (["aten.group_norm group=3 eps=1e-05"], lambda x, w, b: group_norm(x, 3, w, b), [NCHW, C, C]),
    "group_norm_plain": (["aten.group_norm group=2 eps=1e-05"], lambda x: group_norm(x, 2, jnp.ones(6), jnp.zeros(6)), [NCHW]),
    "group_norm_flat": (["aten.group_norm group=3 eps=1e-05"], lambda x, w, b: standard(x.reshape(2, 3, -1), -1, 1e-5).reshape(x.shape) * channels(w, x) + channels(b, x), [NCHW, C, C]),
    "group_norm_flax": (["aten.group_norm group=3 eps=1e-06"], lambda x, w, b: flax_group_norm(x, 3, w, b), [NHWC, C, C]),
    "instance_norm": (["aten.group_norm group=6 eps=1e-05"], lambda x, w, b: standard(x, (2, 3), 1e-5) * channels(w, x) + channels(b, x), [NCHW, C, C]),
    "instance_norm_plain": (["aten.group_norm group=6 eps=1e-05"], lambda x: standard(x, (2, 3), 1e-5), [NCHW]),
    "batch_norm": (["aten.batch_norm inference eps=1e-05"], batch_norm_inference, [NCHW, C, C, C, C]),
    "batch_norm_folded": (["aten.batch_norm inference eps=1e-05"], batch_norm_folded, [NCHW, C, C, C, C]),
    "batch_norm_flax": (["aten.batch_norm inference eps=1e-05"], lambda x, w, b, m, v: (x - m) * (jax.lax.rsqrt(v + 1e-5) * w) + b, [NHWC, C, C, C, C]),
    "batch_norm_flax_training": (["aten.batch_norm training eps=1e-05"], lambda x, w, b: standard(x, (0, 1, 2), 1e-5) * w + b, [NHWC, C, C]),
    "batch_norm_training": (["aten.batch_norm training eps=1e-05"], batch_norm_training, [NCHW, C, C]),
    "batch_norm_1d": (["aten.batch_norm training eps=1e-05"], lambda x, w, b: standard(x, 0, 1e-5) * w + b, [X, W, B]),
}


# Attention
def attend(q, k, v, scale=0.25, mask=None, low=-1e30, bias=None):
    s = jnp.einsum("bhqd,bhkd->bhqk", q, k) * scale
    if bias is not None:
        s = s + bias
    if mask is not None:
        s = jnp.where(mask, s, low)
    return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(s, axis=-1), v)


def flax_attention(q, k, v, mask=None):
    q = q / jnp.sqrt(q.shape[-1]).astype(q.dtype)
    w = jnp.einsum("...qhd,...khd->...hqk", q, k)
    if mask is not None:
        w = jnp.where(mask, w, jnp.finfo(w.dtype).min)
    return jnp.einsum("...hqk,...khd->...qhd", jax.nn.softmax(w).astype(q.dtype), v)


def grouped(q, k, v):
    """q: batch, positions, heads, width; k and v with fewer heads."""
    b, t, n, h = q.shape
    g = q.reshape(b, t, k.shape[2], n // k.shape[2], h)
    s = jnp.einsum("btkgh,bskh->bkgts", g, k) * 0.25
    s = jnp.where(jnp.tril(jnp.ones((t, t), bool))[None, None, None], s, -2.3819763e38)
    return jnp.einsum("bkgts,bskh->btkgh", jax.nn.softmax(s, axis=-1), v).reshape(b, t, n, h)


def repeated(q, k, v):
    k, v = jnp.repeat(k, 3, axis=1), jnp.repeat(v, 3, axis=1)
    return attend(q, k, v)


def unnormalised(q, k, v):
    s = jnp.einsum("bhqd,bhkd->bhqk", q, k) * 0.25
    p = jnp.exp(s - s.max(-1, keepdims=True))
    return jnp.einsum("bhqk,bhkd->bhqd", p, v) / p.sum(-1, keepdims=True)


def projected(x, wq, wk, wv, wo):
    q, k, v = (jnp.einsum("btd,dnh->btnh", x, w) for w in (wq, wk, wv))
    s = jnp.einsum("btnh,bsnh->bnts", q * 0.25, k)
    s = s + jnp.where(jnp.arange(x.shape[1])[:, None] >= jnp.arange(x.shape[1])[None], 0.0, -1e9)
    return jnp.einsum("btnh,nhd->btd", jnp.einsum("bnts,bsnh->btnh", jax.nn.softmax(s, -1), v), wo)


TRIL = np.tril(np.ones((8, 8), bool))
HOLE = TRIL & ~((np.arange(8)[:, None] == 6) & (np.arange(8) == 3))  # causal, but for one place
KV, PV = Q[:, :1], P[:, :, :1]
WQ = jnp.ones((16, 3, 16))
ATTENTION = {
    "attention": (SDPA, attend, [Q, Q, Q]),
    "attention_jax_nn": (SDPA, jax.nn.dot_product_attention, [P, P, P]),
    "attention_jax_nn_causal": (CAUSAL, functools.partial(jax.nn.dot_product_attention, is_causal=True), [P, P, P]),
    "attention_jax_nn_mask": (MASKED, lambda q, k, v, m: jax.nn.dot_product_attention(q, k, v, mask=m), [P, P, P, jnp.ones((2, 3, 8, 8), bool)]),
    "attention_jax_nn_bias": (MASKED, lambda q, k, v, m: jax.nn.dot_product_attention(q, k, v, bias=m), [P, P, P, jnp.ones((2, 3, 8, 8))]),
    "attention_jax_nn_gqa": (SDPA, jax.nn.dot_product_attention, [jnp.ones((2, 8, 6, 16)), jnp.ones((2, 8, 2, 16)), jnp.ones((2, 8, 2, 16))]),
    "attention_jax_nn_scale": (["aten.scaled_dot_product_attention scale=0.125"], functools.partial(jax.nn.dot_product_attention, scale=0.125), [P, P, P]),
    "attention_jax_nn_bf16": (SDPA, jax.nn.dot_product_attention, [P.astype(jnp.bfloat16)] * 3),
    "attention_flax": (SDPA, flax_attention, [P, P, P]),
    "attention_flax_mask": (MASKED, flax_attention, [P, P, P, jnp.ones((2, 1, 8, 8), bool)]),
    "attention_tril": (CAUSAL, lambda q, k, v: attend(q, k, v, mask=jnp.tril(jnp.ones((8, 8), bool))), [Q, Q, Q]),
    "attention_tril_constant": (CAUSAL, lambda q, k, v: attend(q, k, v, mask=TRIL, low=-jnp.inf), [Q, Q, Q]),
    "attention_hole": (MASKED, lambda q, k, v: attend(q, k, v, mask=HOLE), [Q, Q, Q]),
    "attention_iota": (CAUSAL, lambda q, k, v: attend(q, k, v, mask=jnp.arange(8)[:, None] >= jnp.arange(8), low=-1e9), [Q, Q, Q]),
    "attention_additive_causal": (CAUSAL, lambda q, k, v: attend(q, k, v, bias=jnp.triu(jnp.full((8, 8), -jnp.inf), 1)), [Q, Q, Q]),
    "attention_bias": (MASKED, lambda q, k, v, m: attend(q, k, v, bias=m), [Q, Q, Q, jnp.ones((2, 1, 1, 8))]),
    "attention_padding": (MASKED, lambda q, k, v, m: attend(q, k, v, bias=(1.0 - m[:, None, None, :]) * -1e9), [Q, Q, Q, jnp.ones((2, 8))]),
    "attention_masked_fill": (MASKED, lambda q, k, v, m: attend(q, k, v, mask=~m), [Q, Q, Q, jnp.ones((2, 1, 8, 8), bool)]),
    "attention_filled": (MASKED, lambda q, k, v, m: jax.nn.softmax(jnp.where(m, -1e9, q @ k.swapaxes(-1, -2) / 4)) @ v, [Q, Q, Q, jnp.ones((2, 1, 8, 8), bool)]),
    "attention_no_scale": (["aten.scaled_dot_product_attention scale=1"], lambda q, k, v: attend(q, k, v, scale=1), [Q, Q, Q]),
    "attention_scaled_q": (SDPA, lambda q, k, v: attend(q * 0.25, k, v, scale=1), [Q, Q, Q]),
    "attention_scaled_both": (SDPA, lambda q, k, v: attend(q * 0.5, k * 0.5, v, scale=1), [Q, Q, Q]),
    "attention_quotient": (SDPA, lambda q, k, v: jnp.matmul(jax.nn.softmax(jnp.matmul(q, jnp.swapaxes(k, -1, -2)) / np.sqrt(16)), v), [Q, Q, Q]),
    "attention_gqa_repeat": (SDPA, repeated, [Q, KV, KV]),
    "attention_gqa_grouped": (CAUSAL, grouped, [jnp.ones((2, 8, 6, 16)), jnp.ones((2, 8, 2, 16)), jnp.ones((2, 8, 2, 16))]),
    "attention_mqa": (SDPA, lambda q, k, v: jnp.einsum("bhqk,bkd->bhqd", jax.nn.softmax(jnp.einsum("bhqd,bkd->bhqk", q, k) * 0.25), v), [Q, Q[:, 0], Q[:, 0]]),
    "attention_three_dims": (SDPA, lambda q, k, v: jax.nn.softmax(q @ k.swapaxes(1, 2) / 4) @ v, [Q[0], Q[0], Q[0]]),
    "attention_two_dims": (SDPA, lambda q, k, v: jax.nn.softmax(q @ k.T / 4) @ v, [Q[0, 0], Q[0, 0], Q[0, 0]]),
    "attention_vmap": (SDPA, jax.vmap(jax.vmap(lambda q, k, v: jax.nn.softmax(q @ k.T / 4) @ v)), [Q, Q, Q]),
    "attention_cross": (SDPA, attend, [Q, jnp.ones((2, 3, 11, 16)), jnp.ones((2, 3, 11, 7))]),
    "attention_projected": (CAUSAL, projected, [jnp.ones((2, 8, 16)), WQ, WQ, WQ, jnp.ones((3, 16, 16))]),
    "attention_f32_softmax": (SDPA, lambda q, k, v: jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax((jnp.einsum("bhqd,bhkd->bhqk", q, k) * 0.25).astype(jnp.float32)).astype(q.dtype), v), [Q.astype(jnp.bfloat16)] * 3),
}


# Losses
def one_hot_loss(x, y):
    return -jnp.mean(jnp.sum(jax.nn.one_hot(y, x.shape[-1]) * jax.nn.log_softmax(x), axis=-1))


def optax_loss(x, y):
    """optax.softmax_cross_entropy_with_integer_labels, then its mean."""
    m = jax.lax.stop_gradient(jnp.max(x, axis=-1, keepdims=True))
    x = x - m
    label = jnp.take_along_axis(x, jnp.expand_dims(y, -1), axis=-1)[..., 0]
    return (jnp.log(jnp.sum(jnp.exp(x), axis=-1)) - label).mean()


NLL = ["aten.log_softmax dim=1", "aten.nll_loss reduction=1"]
LOSSES = {
    "nll_one_hot": (NLL, one_hot_loss, [X, LABELS]),
    "nll_take": (NLL, lambda x, y: -jnp.take_along_axis(jax.nn.log_softmax(x), y[:, None], axis=1).mean(), [X, LABELS]),
    "nll_index": (NLL, lambda x, y: -jax.nn.log_softmax(x)[jnp.arange(4), y].mean(), [X, LABELS]),
    "nll_optax": (NLL, optax_loss, [X, LABELS]),
    "nll_sum": (["aten.log_softmax dim=1", "aten.nll_loss reduction=2"], lambda x, y: -jnp.take_along_axis(jax.nn.log_softmax(x), y[:, None], axis=1).sum(), [X, LABELS]),
    "nll_none": (["aten.log_softmax dim=1", "aten.nll_loss reduction=0"], lambda x, y: -jnp.take_along_axis(jax.nn.log_softmax(x), y[:, None], axis=1)[:, 0], [X, LABELS]),
    "nll_select": (NLL, lambda x, y: -jnp.where(jnp.arange(16) == y[:, None], jax.nn.log_softmax(x), 0).sum() / 4, [X, LABELS]),
    "nll_language": (["aten.log_softmax dim=2", "aten.nll_loss reduction=1"], lambda x, y: -jnp.take_along_axis(jax.nn.log_softmax(x), y[..., None], axis=-1).mean(), [X3, LABELS3]),
    "nll_alone": (["aten.nll_loss reduction=1"], lambda p, y: -jnp.mean(jnp.take_along_axis(p, y[:, None], 1)), [X, LABELS]),
}

GRADIENTS = {
    "layer_norm": (["aten.layer_norm_backward"], lambda x, w, b: standard(x, -1, 1e-5) * w + b, [X, W, B]),
    "layer_norm_flax": (["aten.layer_norm_backward"], flax_layer_norm, [X3, W, B]),
    "rms_norm": (["aten.rms_norm_backward"], flax_rms, [X3, W]),
    "softmax": (["aten.softmax_backward"], jax.nn.softmax, [X]),
    "log_softmax": (["aten.log_softmax_backward"], jax.nn.log_softmax, [X]),
    "softmax_plain": (["aten.softmax_backward"], lambda x: jnp.exp(x) / jnp.exp(x).sum(-1, keepdims=True), [X]),
    "gelu_logistic": (["aten.gelu_backward approximate=tanh"], gelu_of_logistic, [X]),
    "gelu_erfc": (["aten.gelu_backward approximate=none"], lambda x: 0.5 * x * jax.lax.erfc(-x / np.sqrt(2)), [X]),
    "gelu_cdf": (["aten.gelu_backward approximate=none"], lambda x: x * jax.scipy.stats.norm.cdf(x), [X]),
    "silu_jax": (["aten.silu_backward"], jax.nn.silu, [X3]),
    "softplus": (["aten.sigmoid"], jax.nn.softplus, [X]),
    "hardsigmoid": (["aten.hardsigmoid_backward"], jax.nn.hard_sigmoid, [X]),
    "relu6": (["aten.hardtanh_backward min_val=0 max_val=6"], jax.nn.relu6, [X]),
    "attention": (["aten.scaled_dot_product_attention_backward scale=0.25"], attend, [Q, Q, Q]),
}

# Whose gradients are in the corpus as well: alone, and in a step with the forward.
CHANNEL_GRADIENTS = ["group_norm", "group_norm_plain", "group_norm_flat", "group_norm_flax", "instance_norm", "batch_norm_flax_training", "batch_norm_training", "batch_norm_1d"]
TORCH_GRADIENTS = ["attention_transformers", "attention_transformers_mask", "attention_math", "attention_math_causal", "attention_gpt2", "attention_bmm", "nll", "group_norm"]


def torch_attention(q, k, v, mask=None, scale=0.25):
    """transformers' eager_attention_forward."""
    n = q.shape[1] // k.shape[1]
    b, h, s, d = k.shape
    k, v = (t[:, :, None].expand(b, h, n, s, d).reshape(b, h * n, s, d) for t in (k, v))
    w = torch.matmul(q, k.transpose(2, 3)) * scale
    if mask is not None:
        w = w + mask[:, :, :, :s]
    return torch.matmul(F.softmax(w, dim=-1, dtype=torch.float32).to(q.dtype), v).transpose(1, 2).contiguous()


def torch_math(q, k, v, causal=False):
    """What PyTorch's math kernel of attention does."""
    q, k = q * 0.5, k * 0.5
    s = q @ k.transpose(-2, -1)
    if causal:
        s = s + torch.zeros(q.shape[-2], k.shape[-2], device=q.device).masked_fill(torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool, device=q.device).tril().logical_not(), -math.inf)
    p = torch.softmax(s, -1)
    p = torch.where((s == -math.inf).all(-1, keepdim=True), torch.zeros_like(p), p)
    return p @ v


def gpt2_causal(q, k, v):
    w = q @ k.transpose(-1, -2)
    w = w / torch.full([], 4.0, dtype=w.dtype, device=w.device)
    mask = torch.tril(torch.ones(8, 8, dtype=torch.bool, device=w.device)).view(1, 1, 8, 8)
    w = torch.where(mask, w, torch.full([], torch.finfo(w.dtype).min, dtype=w.dtype, device=w.device))
    return torch.softmax(w, -1).type(v.dtype) @ v


TQ, TK = torch.ones(2, 6, 8, 16), torch.ones(2, 2, 8, 16)
TX, TC = torch.ones(2, 6, 5, 4), torch.ones(6)
TORCH = {
    "attention_transformers": (SDPA, torch_attention, [TQ, TK, TK]),
    "attention_transformers_mask": (MASKED, torch_attention, [TQ, TK, TK, torch.ones(2, 1, 8, 8)]),
    "attention_math": (SDPA, torch_math, [TQ, TQ, TQ]),
    "attention_math_causal": (CAUSAL, functools.partial(torch_math, causal=True), [TQ, TQ, TQ]),
    "attention_gpt2": (CAUSAL, gpt2_causal, [TQ, TQ, TQ]),
    "attention_bmm": (SDPA, lambda q, k, v: torch.bmm(torch.softmax(torch.baddbmm(torch.zeros(1, device=q.device), q, k.transpose(1, 2), beta=0, alpha=0.25), -1), v), [TQ[0], TQ[0], TQ[0]]),
    "nll": (["aten.log_softmax dim=1", "aten.nll_loss reduction=1"], lambda x, y: -(x - x.logsumexp(-1, keepdim=True)).gather(1, y[:, None]).mean(), [torch.ones(4, 16), torch.zeros(4, dtype=torch.long)]),
    "batch_norm": (["aten.batch_norm inference eps=1e-05"], lambda x, w, b, m, v: (x - m[:, None, None]) / torch.sqrt(v[:, None, None] + 1e-5) * w[:, None, None] + b[:, None, None], [TX, TC, TC, TC, TC + 1]),
    "batch_norm_frozen": (["aten.batch_norm inference eps=1e-05"], lambda x, w, b, m, v: x * (s := w.reshape(1, -1, 1, 1) * (v.reshape(1, -1, 1, 1) + 1e-5).rsqrt()) + (b.reshape(1, -1, 1, 1) - m.reshape(1, -1, 1, 1) * s), [TX, TC, TC, TC, TC + 1]),
    "group_norm": (["aten.group_norm group=2 eps=1e-05"], lambda x, w, b: (((g := x.reshape(2, 2, -1)) - g.mean(-1, keepdim=True)) / torch.sqrt(g.var(-1, keepdim=True, unbiased=False) + 1e-5)).reshape(x.shape) * w.view(1, 6, 1, 1) + b.view(1, 6, 1, 1), [TX, TC, TC]),
}

MISSES = {
    "attention_softcap": (lambda q, k, v: jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(50 * jnp.tanh(jnp.einsum("bhqd,bhkd->bhqk", q, k) / 200)), v), [Q, Q, Q]),
    "attention_wrong_axis": (lambda q, k, v: jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(jnp.einsum("bhqd,bhkd->bhqk", q, k) / 4, axis=-2), v), [Q, Q, Q]),
    "attention_across_heads": (lambda q, k, v: jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(jnp.einsum("bhqd,bhkd->bhqk", q, k) / 4, axis=1), v), [Q, Q, Q]),
    "attention_transposed": (lambda q, k, v: jnp.einsum("bhkq,bhkd->bhqd", jax.nn.softmax(jnp.einsum("bhqd,bhkd->bhqk", q, k) / 4), v), [Q, Q, Q]),
    "attention_weights_scaled": (lambda q, k, v: jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(jnp.einsum("bhqd,bhkd->bhqk", q, k) / 4) * 0.999, v), [Q, Q, Q]),
    "attention_weak_mask": (lambda q, k, v: attend(q, k, v, mask=TRIL, low=-10.0), [Q, Q, Q]),
    "attention_mask_by_one": (lambda q, k, v: attend(q, k, v, mask=jnp.tril(jnp.ones((8, 8), bool), 1)), [Q, Q, Q]),
    "attention_mask_after": (lambda q, k, v: jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(jnp.einsum("bhqd,bhkd->bhqk", q, k) / 4) * TRIL, v), [Q, Q, Q]),
    "attention_squared": (lambda q, k, v: jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(jnp.einsum("bhqd,bhkd->bhqk", q, k) ** 2), v), [Q, Q, Q]),
    "attention_sigmoid": (lambda q, k, v: jnp.einsum("bhqk,bhkd->bhqd", jax.nn.sigmoid(jnp.einsum("bhqd,bhkd->bhqk", q, k) / 4), v), [Q, Q, Q]),
    "attention_linear": (lambda q, k, v: jnp.einsum("bhqk,bhkd->bhqd", jnp.einsum("bhqd,bhkd->bhqk", q, k) / 4, v), [Q, Q, Q]),
    "attention_temperature": (lambda q, k, v, t: jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(jnp.einsum("bhqd,bhkd->bhqk", q, k) * t[None, :, None, None]), v), [Q, Q, Q, jnp.ones(3)]),
    "group_norm_wrong_axis": (lambda x: standard(x.reshape(2, 2, 3, 5, 4), (1, 3, 4), 1e-5).reshape(x.shape), [NCHW]),
    "group_norm_unbiased": (lambda x: standard(x.reshape(2, 2, -1), -1, 1e-5, 1).reshape(x.shape), [NCHW]),
    "batch_norm_unbiased": (lambda x: standard(x, (0, 2, 3), 1e-5, 1), [NCHW]),
    "batch_norm_standard_deviation": (lambda x, w, b, m, v: (x - channels(m, x)) / (channels(v, x) + 1e-5) * channels(w, x) + channels(b, x), [NCHW, C, C, C, C]),
    "batch_norm_plus": (lambda x, w, b, m, v: (x + channels(m, x)) / jnp.sqrt(channels(v, x) + 1e-5) * channels(w, x) + channels(b, x), [NCHW, C, C, C, C]),
    "batch_norm_eps_outside": (lambda x, w, b, m, v: (x - channels(m, x)) / (jnp.sqrt(channels(v, x)) + 1e-3) * channels(w, x) + channels(b, x), [NCHW, C, C, C, C]),
    "nll_positive": (lambda x, y: jnp.take_along_axis(x, y[:, None], 1).mean(), [X, LABELS]),
    "nll_shifted": (lambda x, y: -jnp.take_along_axis(x, y[:, None] + 1, 1).mean(), [X, LABELS]),
    "nll_smoothed": (lambda x, y: -jnp.mean(jnp.sum((jax.nn.one_hot(y, 16) * 0.9 + 0.1 / 16) * jax.nn.log_softmax(x), axis=-1)), [X, LABELS]),
    "nll_by_classes": (lambda x, y: -jnp.mean(jax.nn.one_hot(y, 16) * jax.nn.log_softmax(x)), [X, LABELS]),
    "rms_norm_half": (lambda x, w: x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) * 0.5 + 1e-6) * w, [X, W]),
    "softmax_other_row": (lambda x, y: jnp.exp(x) / jnp.exp(y).sum(-1, keepdims=True), [X, X]),
    "softmax_shifted_twice": (lambda x: (e := jnp.exp(x - x.max(-1, keepdims=True))) / jnp.exp(x - x.max(-1, keepdims=True) + 1e-3).sum(-1, keepdims=True), [X]),
    "gelu_tanh_shift": (lambda x: 0.5 * x * (1.0001 + jnp.tanh(0.7978845608 * (x + 0.044715 * x ** 3))), [X]),
    "silu_slope": (lambda x: x * jax.nn.sigmoid(1.001 * x), [X]),
}


def attention_gradient(q, k, v, g, scale=0.25, weights=lambda p: p, mean=lambda x: x.sum(-1, keepdims=True)):
    """By hand."""
    p = jax.nn.softmax(jnp.einsum("bhqd,bhkd->bhqk", q, k) * 0.25)
    dp = jnp.einsum("bhqd,bhkd->bhqk", g, v)
    ds = p * (dp - mean(p * dp)) * scale
    return jnp.einsum("bhqk,bhkd->bhqd", ds, k), jnp.einsum("bhqk,bhqd->bhkd", ds, q), jnp.einsum("bhqk,bhqd->bhkd", weights(p), g)


def batch_norm_gradient(x, g, w, correction=1.0, ddof=0):
    axes = (0, 2, 3)
    r = 1 / jnp.sqrt(x.var(axes, keepdims=True, ddof=ddof) + 1e-5)
    h, g = (x - x.mean(axes, keepdims=True)) * r, g * channels(w, x)
    return r * (g - g.mean(axes, keepdims=True) - correction * h * (g * h).mean(axes, keepdims=True))


def cross_entropy_gradient(x, y, shift=0, by=4, scale=1.0):
    return (scale * jax.nn.softmax(x) - jax.nn.one_hot(y + shift, 16)) / by


MISSES |= {
    "scaled_dot_product_backward_scale": (lambda q, k, v, g: attention_gradient(q, k, v, g, scale=0.2501), [Q, Q, Q, Q]),
    "scaled_dot_product_backward_weights": (lambda q, k, v, g: attention_gradient(q, k, v, g, weights=lambda p: p * 1.001), [Q, Q, Q, Q]),
    "scaled_dot_product_backward_mean": (lambda q, k, v, g: attention_gradient(q, k, v, g, mean=lambda x: x.mean(-1, keepdims=True)), [Q, Q, Q, Q]),
    "scaled_dot_product_backward_masked": (lambda q, k, v, g: attention_gradient(q, k, v, g, weights=lambda p: p * TRIL), [Q, Q, Q, Q]),
    "batch_norm_backward_correction": (lambda x, g, w: batch_norm_gradient(x, g, w, correction=0.999), [NCHW, NCHW, C]),
    "batch_norm_backward_unbiased": (lambda x, g, w: batch_norm_gradient(x, g, w, ddof=1), [NCHW, NCHW, C]),
    "nll_backward_shifted": (lambda x, y: cross_entropy_gradient(x, y, shift=1), [X, LABELS]),
    "nll_backward_scaled": (lambda x, y: cross_entropy_gradient(x, y, scale=1.001), [X, LABELS]),
    "attention_two_masks": (lambda q, k, v, alibi, m: attend(q, k, v, bias=alibi, mask=m), [Q, Q, Q, jnp.ones((3, 1, 8)), jnp.ones((2, 1, 1, 8), bool)]),
    "attention_dropout": (lambda q, k, v, m: jnp.einsum("bhqk,bhkd->bhqd", jnp.where(m, jax.nn.softmax(jnp.einsum("bhqd,bhkd->bhqk", q, k) / 4) / 0.9, 0), v),
                          [Q, Q, Q, jnp.ones((2, 3, 8, 8), bool)]),
    "nll_backward_added": (lambda x, y: jax.nn.softmax(x) + jax.nn.one_hot(y, 16), [X, LABELS]),
}


# What differs only where most inputs are not: labels of padding, rows far from 0, one head of several, rows and columns that are as long.
def masked_loss(x, y, keep):
    return (-jnp.take_along_axis(jax.nn.log_softmax(x), jnp.maximum(y, 0)[:, None], axis=1)[:, 0] * keep).sum() / keep.sum()


def weights_of(q, k):
    return jax.nn.softmax(jnp.einsum("bhqd,bhkd->bhqk", q, k) * 0.25)


def quiet(x):
    e = jnp.exp(x - x.max(-1, keepdims=True))
    return e / (e.sum(-1, keepdims=True) + jnp.exp(-x.max(-1, keepdims=True)))


S, X64, LABELS16 = jnp.ones((16, 16)), jnp.ones((16, 64)), jnp.zeros(16, jnp.int32)
HEAD = np.arange(3)[:, None, None] == 1
MISSES |= {
    "masked_nll_padding": (lambda x, y: masked_loss(x, y, (y != 0) * 1.0), [X64, LABELS16]),
    "masked_nll_positive": (lambda x, y: masked_loss(x, y, (y > 0) * 1.0), [X64, LABELS16]),
    "masked_nll_seven": (lambda x, y: masked_loss(x, y, (y != 7) * 1.0), [X64, LABELS16]),
    "masked_nll_ignored": (lambda x, y: masked_loss(x, y, (y != -100) * 1.0), [X64, LABELS16]),
    "nll_backward_padding": (lambda x, y: jax.grad(lambda x: masked_loss(x, y, (y != 0) * 1.0))(x), [X64, LABELS16]),
    "nll_backward_ignored": (lambda x, y: jax.grad(lambda x: masked_loss(x, y, (y != -100) * 1.0))(x), [X64, LABELS16]),
    "attention_first_row": (lambda q, k, v: jnp.einsum("bhqk,bhkd->bhqd", jnp.where(jnp.arange(8)[:, None] == 0, 0, weights_of(q, k)), v), [Q, Q, Q]),
    "attention_one_head": (lambda q, k, v: jnp.einsum("bhqk,bhkd->bhqd", jnp.where(HEAD, 0, weights_of(q, k)), v), [Q, Q, Q]),
    "attention_some_rows": (lambda q, k, v, m: jnp.einsum("bhqk,bhkd->bhqd", jnp.where(m[:, None, :, None], 0, weights_of(q, k)), v), [Q, Q, Q, jnp.ones((2, 8), bool)]),
    "attention_causal_padding": (lambda q, k, v, m: attend(q, k, v, bias=jnp.where(TRIL, 0, -1e9) + 0 * m, mask=m), [Q, Q, Q, jnp.ones((2, 1, 1, 8), bool)]),
    "scaled_dot_product_backward_head": (lambda q, k, v, g: jax.vjp(lambda q, k, v: jnp.einsum("bhqk,bhkd->bhqd", jnp.where(HEAD, 0, weights_of(q, k)), v), q, k, v)[1](g), [Q, Q, Q, Q]),
    "softmax_sums_of_others": (lambda x: jnp.exp(x) / jnp.exp(x).sum(-1), [S]),
    "softmax_sums_exchanged": (lambda x: jnp.exp(x) / jnp.exp(x).sum(-1).T[:, :, None], [jnp.ones((4, 4, 8))]),
    "rms_norm_weighted_numbers": (lambda x, w: x * (jax.lax.rsqrt(jnp.mean(x * x, -1) + 1e-5) * w), [S, W]),
    "softmax_eps": (lambda x: jnp.exp(x) / (jnp.exp(x).sum(-1, keepdims=True) + 1e-9), [X]),
    "softmax_quiet_bf16": (lambda x: quiet(x.astype(jnp.float32)).astype(jnp.bfloat16), [jnp.ones((4, 1024), jnp.bfloat16)]),
    "log_softmax_bounded": (lambda x: jnp.log(jnp.maximum(jax.nn.softmax(x), 1e-12)), [X]),
    "rms_norm_bounded": (lambda x, w: x / jnp.maximum(jnp.sqrt((x * x).sum(-1, keepdims=True)), 1e-12) * 4.0 * w, [X, W]),
    "relu_threshold": (lambda x: jnp.where(x > 5e-4, x, 0), [X]),
}
