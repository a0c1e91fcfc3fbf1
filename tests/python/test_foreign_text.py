"""JAX's exported text, CHLO and all, in cresset-run: the numbers are JAX's."""

import pathlib
import subprocess
import sys

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="requirements.txt installs it")
import jax.numpy as jnp
import jax.scipy.special as special

RUN = pathlib.Path(sys.executable).with_name("cresset-run")
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


ACTIVATIONS = ["celu", "elu", "gelu", "glu", "hard_sigmoid", "hard_silu", "hard_tanh", "identity", "leaky_relu", "log_sigmoid", "log_softmax", "mish", "relu", "relu6", "selu", "sigmoid", "silu",
               "soft_sign", "softmax", "softplus", "sparse_plus", "sparse_sigmoid", "squareplus", "standardize", "logsumexp"]
SPECIAL = [(jax.lax.erf, X), (jax.lax.erfc, X), (jnp.square, X[:-1]), (jnp.sinh, X), (jnp.cosh, X), (jnp.arcsinh, X), (jnp.arctan, X), (jnp.tan, X[:41]), (jnp.arcsin, UNIT), (jnp.arccos, UNIT),
           (jnp.arctanh, UNIT), (jax.lax.erf_inv, UNIT), (jnp.arccosh, np.abs(X) + 1)]
GAMMA = [(special.gammaln, X), (special.digamma, X[:-1])]


# One program for all: compiling is what takes the time.
@pytest.mark.parametrize("gradient", [False, True])
def test_activations(gradient):
    functions = [getattr(jax.nn, name) for name in ACTIVATIONS]
    if gradient:
        functions = [jax.grad(lambda x, f=f: f(x).sum()) for f in functions]
    text = check(lambda x: [f(x) for f in functions], LOGITS)
    assert gradient or "chlo." in text


def test_special_functions():
    text = check(lambda *inputs: [f(x) for (f, _), x in zip(SPECIAL, inputs, strict=True)], *[x for _, x in SPECIAL])
    for name in ("erf ", "erfc", "erf_inv", "square", "sinh", "cosh", "asinh", "acosh", "asin", "acos", "atan", "atanh"):
        assert f"chlo.{name}" in text, name
    check(lambda *inputs: [f(x) for (f, _), x in zip(GAMMA, inputs, strict=True)], *[x for _, x in GAMMA], rtol=1e-4, atol=5e-5)


def test_f64_and_bf16():
    with jax.enable_x64(True):
        wide = [x.astype(np.float64) for x in (X, UNIT, X, X)]
        check(lambda a, b, c, d: [jax.lax.erfc(a), jax.lax.erf_inv(b), special.gammaln(c), jnp.arcsinh(d)], *wide, rtol=5e-6, atol=1e-30)  # cresset-run prints six digits
    check(jax.lax.erfc, jnp.asarray(X[:41], jnp.bfloat16), rtol=1e-2, atol=1e-6)


def test_top_k():
    check(lambda a, b, c: [jax.lax.top_k(a, 3), jax.lax.top_k(b, 2), jax.lax.top_k(c, 4)], LOGITS, np.array([[1, 5, 5, -2], [7, 7, 7, 7]], np.int32), np.array([1, np.inf, 0, -np.inf], np.float32))
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


def test_custom_calls_of_the_serialised_form():
    text = "func.func @main() -> (tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) {\n  %x = stablehlo.constant dense<[0.25]> : tensor<1xf32>\n"
    for name in ("asin", "tan", "sinh", "erf"):
        text += f"  %{name} = stablehlo.custom_call @mhlo.{name}(%x) {{mhlo.attributes = {{}}, mhlo.version = 1 : i64}} : (tensor<1xf32>) -> tensor<1xf32>\n"
    text += "  return %asin, %tan, %sinh, %erf : tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>\n}"
    for found, wanted in zip(run(text), [np.arcsin(0.25), np.tan(0.25), np.sinh(0.25), 0.2763264], strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5)


def cross_entropy(x, y):
    return -jnp.take_along_axis(jax.nn.log_softmax(x), y[:, None], axis=1).mean()


def test_losses_and_scans():
    losses = [cross_entropy, jax.value_and_grad(cross_entropy), lambda x, y: jnp.mean((jax.nn.one_hot(y, 16) - x) ** 2),
              lambda x, y: jnp.where(jnp.abs(x) < 1, 0.5 * x * x, jnp.abs(x) - 0.5).sum()]
    check(lambda x, y: [f(x, y) for f in losses], LOGITS, LABELS)
    scans = [jnp.cumsum, lambda x: jnp.cumsum(x, axis=1), lambda x: jnp.cumprod(x, axis=0), lambda x: jax.lax.cummax(x, axis=1), lambda x: jax.lax.cumlogsumexp(x, axis=1),
             lambda x: jnp.sort(x, axis=-1), lambda x: jnp.argsort(x, axis=-1), lambda x: jnp.argmax(x, axis=-1)]
    check(lambda x: [f(x) for f in scans], LOGITS)


def lstm(xs, h, c, w, u):
    def step(state, x):
        h, c = state
        i, f, g, o = jnp.split(x @ (0.1 * w) + h @ (0.1 * u), 4, axis=1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    return jax.lax.scan(step, (h, c), xs)


def test_loops_and_branches():
    random = np.random.default_rng(1)
    rows = [random.standard_normal(shape).astype(np.float32) for shape in [(20, 3, 8), (3, 16), (3, 16), (8, 64), (16, 64)]]
    text = check(lstm, *rows)
    assert "stablehlo.while" in text
    check(jax.grad(lambda *args: (lstm(*args)[1] ** 2).sum(), argnums=(0, 1, 2, 3, 4)), *rows)
    check(lambda x: jax.lax.while_loop(lambda s: jnp.abs(s[0] * s[0] - x).max() > 1e-3, lambda s: ((s[0] + x / s[0]) / 2, s[1] + 1), (x, 0)), np.abs(LOGITS) + 1)
    check(lambda x: jax.lax.fori_loop(0, 4, lambda i, a: jax.lax.fori_loop(0, i + 1, lambda j, b: b * 0.5 + j, a), x), LOGITS)
    text = check(lambda x, i: [jax.lax.switch(i[k], [jnp.sin, lambda x: x + 1, jnp.negative], x) for k in range(2)], LOGITS, np.array([1, 7], np.int32))
    assert "stablehlo.case" in text
