"""JAX's exported text, CHLO and all, in cresset-run: the numbers are JAX's."""

import pathlib
import subprocess
import sys

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="requirements.txt installs it")
import jax.numpy as jnp
import jax.scipy.special as special

RUN = pathlib.Path("/work/main/build/bin/cresset-run")
X = np.concatenate([np.linspace(-9, 9, 41), [0.0, 1e-4, -1e-4, 0.3, 40.0, -40.0, 1e10]]).astype(np.float32)
UNIT = np.concatenate([np.linspace(-0.999, 0.999, 41), [0.0, 1e-4, -1e-7, 1.0, -1.0]]).astype(np.float32)
LOGITS = np.random.default_rng(0).standard_normal((4, 16)).astype(np.float32)
LABELS = np.array([3, 0, 15, 7], np.int32)


def run(text):
    done = subprocess.run([RUN, "--elements=-1", "-"], input=text, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return [np.array([float(v) for v in line.partition(":")[2].split()]) for line in done.stdout.splitlines()]


def check(function, *arguments, rtol=2e-5, atol=1e-6):
    """The arguments are constants of the program."""
    text = jax.jit(lambda: function(*map(jnp.asarray, arguments))).lower().as_text()
    expected = jax.tree.leaves(jax.jit(function)(*arguments))
    for found, wanted in zip(run(text), expected, strict=True):
        np.testing.assert_allclose(found, np.asarray(wanted, np.float64).ravel(), rtol=rtol, atol=atol)
    return text


@pytest.mark.parametrize("name", ["celu", "elu", "gelu", "glu", "hard_sigmoid", "hard_silu", "hard_tanh", "identity", "leaky_relu", "log_sigmoid", "log_softmax", "mish", "relu", "relu6", "selu",
                                  "sigmoid", "silu", "soft_sign", "softmax", "softplus", "sparse_plus", "sparse_sigmoid", "squareplus", "standardize", "logsumexp"])
def test_activations(name):
    check(getattr(jax.nn, name), LOGITS)
    check(jax.grad(lambda x: getattr(jax.nn, name)(x).sum()), LOGITS)


@pytest.mark.parametrize("function, inputs", [(jax.lax.erf, X), (jax.lax.erfc, X), (jnp.square, X[:-1]), (jnp.sinh, X), (jnp.cosh, X), (jnp.arcsinh, X), (jnp.arctan, X), (jnp.tan, X[:41]),
                                              (jnp.arcsin, UNIT), (jnp.arccos, UNIT), (jnp.arctanh, UNIT), (jax.lax.erf_inv, UNIT), (jnp.arccosh, np.abs(X) + 1),
                                              (special.gammaln, X), (special.digamma, X[:-1])], ids=lambda v: getattr(v, "__name__", ""))
def test_special_functions(function, inputs):
    text = check(function, inputs, rtol=1e-4 if function in (special.gammaln, special.digamma) else 2e-5, atol=5e-5 if function in (special.gammaln, special.digamma) else 1e-6)
    assert "chlo." in text or function is jnp.tan


def test_f64_and_bf16():
    with jax.enable_x64(True):
        for function, inputs in ((jax.lax.erfc, X), (jax.lax.erf_inv, UNIT), (special.gammaln, X), (jnp.arcsinh, X)):
            check(function, inputs.astype(np.float64), rtol=5e-6, atol=1e-30)  # cresset-run prints six digits
    check(jax.lax.erfc, jnp.asarray(X[:41], jnp.bfloat16), rtol=1e-2, atol=1e-6)


def test_top_k():
    check(lambda x: jax.lax.top_k(x, 3), LOGITS)
    check(lambda x: jax.lax.top_k(x, 2), np.array([[1, 5, 5, -2], [7, 7, 7, 7]], np.int32))
    check(lambda x: jax.lax.top_k(x, 4), np.array([0.0, -0.0, np.inf, -np.inf, 1.0], np.float32)[[4, 2, 0, 3]])
    text = """func.func @main() -> (tensor<2xf32>, tensor<2xi32>) {
      %x = stablehlo.constant dense<[1.0, 4.0, 3.0, 2.0]> : tensor<4xf32>
      %v, %i = stablehlo.custom_call @mhlo.topk(%x) {mhlo.attributes = {k = 2 : i64, largest = true}, mhlo.version = 1 : i64} : (tensor<4xf32>) -> (tensor<2xf32>, tensor<2xi32>)
      return %v, %i : tensor<2xf32>, tensor<2xi32>
    }"""
    assert [v.tolist() for v in run(text)] == [[4, 3], [1, 2]]


def test_next_after():
    pairs = np.array([[0, 1], [0, -1], [1, 2], [1, 0], [-1, 0], [-1, -2], [3, 3], [np.inf, 0], [-0.0, 0]], np.float32)

    def bits(x, y):
        return jax.lax.bitcast_convert_type(jnp.nextafter(x, y), jnp.int32).astype(jnp.float32) % 4096  # small enough for six digits

    check(bits, pairs[:, 0], pairs[:, 1])


@pytest.mark.parametrize("name", ["mhlo.asin", "mhlo.tan", "mhlo.sinh", "mhlo.erf"])
def test_custom_calls_of_the_serialised_form(name):
    text = """func.func @main() -> tensor<1xf32> {
      %%x = stablehlo.constant dense<[0.25]> : tensor<1xf32>
      %%y = stablehlo.custom_call @%s(%%x) {mhlo.attributes = {}, mhlo.version = 1 : i64} : (tensor<1xf32>) -> tensor<1xf32>
      return %%y : tensor<1xf32>
    }""" % name
    expected = {"mhlo.asin": np.arcsin, "mhlo.tan": np.tan, "mhlo.sinh": np.sinh, "mhlo.erf": lambda x: float(jax.lax.erf(x))}[name](0.25)
    np.testing.assert_allclose(run(text)[0], expected, rtol=1e-5)


def cross_entropy(x, y):
    return -jnp.take_along_axis(jax.nn.log_softmax(x), y[:, None], axis=1).mean()


@pytest.mark.parametrize("function, arguments", [
    (cross_entropy, [LOGITS, LABELS]),
    (jax.value_and_grad(cross_entropy), [LOGITS, LABELS]),
    (lambda x, y: jnp.mean((jax.nn.one_hot(y, 16) - x) ** 2), [LOGITS, LABELS]),
    (lambda x: jnp.where(jnp.abs(x) < 1, 0.5 * x * x, jnp.abs(x) - 0.5).sum(), [LOGITS]),
    (jnp.cumsum, [LOGITS]), (lambda x: jnp.cumsum(x, axis=1), [LOGITS]), (lambda x: jnp.cumprod(x, axis=0), [LOGITS]), (lambda x: jax.lax.cummax(x, axis=1), [LOGITS]),
    (lambda x: jax.lax.cumlogsumexp(x, axis=1), [LOGITS]), (lambda x: jnp.sort(x, axis=-1), [LOGITS]), (lambda x: jnp.argsort(x, axis=-1), [LOGITS]),
    (lambda x: jnp.argmax(x, axis=-1), [LOGITS])])
def test_losses_and_scans(function, arguments):
    check(function, *arguments)
