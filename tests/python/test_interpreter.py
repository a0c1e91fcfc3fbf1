"""The reference interpreter against the public StableHLO interpreter tests and, through cresset-run --compare, the compiler against it."""

import os
import pathlib
import random
import re
import subprocess
import sys

import pytest

RUN = pathlib.Path(sys.executable).with_name("cresset-run")
PUBLIC = pathlib.Path(os.environ.get("CRESSET_STABLEHLO_TESTS", ""))
FILES = sorted(PUBLIC.glob("interpret/*.mlir")) if PUBLIC.name else []


def cresset_run(text, *options, timeout=120):
    return subprocess.run([RUN, "-", *options], input=text, capture_output=True, text=True, timeout=timeout)


def compare(text, *options):
    done = cresset_run(text, "--compare", *options)
    assert done.returncode == 0, done.stdout + done.stderr + text


FLOATS, INTEGERS = ["f64", "f32", "f16", "bf16"], ["i64", "i32", "i8", "ui8", "ui32"]
UNARY = {
    **dict.fromkeys(["abs", "negate", "sign"], FLOATS + INTEGERS[:3]),
    **dict.fromkeys(["not"], INTEGERS + ["i1"]),
    **dict.fromkeys(["ceil", "cosine", "exponential", "exponential_minus_one", "floor", "log", "log_plus_one", "logistic", "round_nearest_afz",
                     "round_nearest_even", "rsqrt", "sine", "sqrt", "tanh"], FLOATS),
}
BINARY = {
    **dict.fromkeys(["add", "subtract", "multiply", "divide", "maximum", "minimum", "remainder"], FLOATS + INTEGERS),
    **dict.fromkeys(["and", "or", "xor"], INTEGERS + ["i1"]),
    **dict.fromkeys(["atan2"], ["f64", "f32"]),
    **dict.fromkeys(["shift_left", "shift_right_arithmetic", "shift_right_logical"], ["i64", "i32"]),
}
SHAPES = ["", "0x", "1x", "7x", "3x17x"]


@pytest.mark.parametrize("cpu", ["", "avx2", "baseline"])
@pytest.mark.parametrize("name", [*UNARY, *BINARY])
def test_elementwise(name, cpu):
    """One module with the operation in every type and shape."""
    arguments, body, results = [], [], []
    for dtype in UNARY.get(name) or BINARY[name]:
        for shape in SHAPES:
            n, tensor = len(results), f"tensor<{shape}{dtype}>"
            arguments += [f"%a{n}: {tensor}", f"%b{n}: {tensor}"]
            operands = f"%a{n}, %b{n}" if name in BINARY else f"%a{n}"
            body.append(f"  %r{n} = stablehlo.{name} {operands} : {tensor}")
            results.append(tensor)
    values = ", ".join(f"%r{n}" for n in range(len(results)))
    text = "\n".join([f"func.func @main({', '.join(arguments)}) -> ({', '.join(results)}) {{", *body,
                      f"  return {values} : {', '.join(results)}", "}"])
    compare(text, f"--cpu={cpu}")


@pytest.mark.parametrize("dtype", ["f64", "f32", "bf16", "i32"])
def test_structure(dtype):
    """Shapes, reductions, windows, contractions and indexing in one program."""
    zero = "0" if dtype == "i32" else "0.0"
    compare(f"""
func.func @main(%a: tensor<2x5x6x{dtype}>, %b: tensor<2x6x3x{dtype}>, %i: tensor<4x1xi32>, %s: tensor<i32>)
    -> (tensor<2x5x3x{dtype}>, tensor<5x6x{dtype}>, tensor<4x5x6x{dtype}>, tensor<6x5x2x{dtype}>, tensor<2x3x3x{dtype}>, tensor<1x5x6x{dtype}>,
        tensor<2x8x11x{dtype}>) {{
  %zero = stablehlo.constant dense<{zero}> : tensor<{dtype}>
  %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x5x6x{dtype}>, tensor<2x6x3x{dtype}>) -> tensor<2x5x3x{dtype}>
  %1 = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<2x5x6x{dtype}>, tensor<{dtype}>) -> tensor<5x6x{dtype}>
  %2 = "stablehlo.gather"(%a, %i) <{{dimension_numbers = #stablehlo.gather<offset_dims = [1, 2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
    slice_sizes = array<i64: 1, 5, 6>, indices_are_sorted = false}}> : (tensor<2x5x6x{dtype}>, tensor<4x1xi32>) -> tensor<4x5x6x{dtype}>
  %3 = stablehlo.transpose %a, dims = [2, 1, 0] : (tensor<2x5x6x{dtype}>) -> tensor<6x5x2x{dtype}>
  %4 = "stablehlo.reduce_window"(%a, %zero) <{{window_dimensions = array<i64: 1, 2, 2>, window_strides = array<i64: 1, 2, 2>,
    padding = dense<[[0, 0], [1, 0], [0, 0]]> : tensor<3x2xi64>}}> ({{
  ^bb0(%x: tensor<{dtype}>, %y: tensor<{dtype}>):
    %m = stablehlo.add %x, %y : tensor<{dtype}>
    stablehlo.return %m : tensor<{dtype}>
  }}) : (tensor<2x5x6x{dtype}>, tensor<{dtype}>) -> tensor<2x3x3x{dtype}>
  %c = stablehlo.constant dense<0> : tensor<i32>
  %5 = stablehlo.dynamic_slice %a, %s, %c, %c, sizes = [1, 5, 6] : (tensor<2x5x6x{dtype}>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x5x6x{dtype}>
  %6 = stablehlo.pad %a, %zero, low = [0, 1, 0], high = [0, 2, 0], interior = [0, 0, 1] : (tensor<2x5x6x{dtype}>, tensor<{dtype}>) -> tensor<2x8x11x{dtype}>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<2x5x3x{dtype}>, tensor<5x6x{dtype}>, tensor<4x5x6x{dtype}>, tensor<6x5x2x{dtype}>, tensor<2x3x3x{dtype}>, tensor<1x5x6x{dtype}>,
    tensor<2x8x11x{dtype}>
}}""")


def expectations(text):
    """The text with every check of `check` turned into two results, actual and expected; and the number of checks."""
    pairs = []

    def constant(match):
        _, actual, value, type = match.groups()
        pairs.append((actual, f"%expected{len(pairs)}", type))
        return f"%expected{len(pairs) - 1} = stablehlo.constant {value} : {type}"

    def equal(match):
        _, actual, expected, type = match.groups()
        pairs.append((actual, expected, type))
        return ""

    text = re.sub(r"check\.expect_(almost_)?eq_const (%[\w#]+), (dense<.*?>) : \(?(tensor<[^>]*>+)\)?", constant, text, flags=re.S)
    text = re.sub(r"check\.expect_(almost_)?eq (%[\w#]+), (%[\w#]+) : (tensor<[^>]*>+)(?:, tensor<[^>]*>+)?", equal, text)
    values, types = [v for p in pairs for v in p[:2]], [p[2] for p in pairs for _ in range(2)]
    text = re.sub(r"(func\.)?return *$", f"func.return {', '.join(values)} : {', '.join(types)}", text, flags=re.M)
    return re.sub(r"(func\.func (?:public )?@main|func\.func @\w+)\(\) *\{", rf"\1() -> ({', '.join(types)}) {{", text), len(pairs)


@pytest.mark.skipif(not FILES, reason="CRESSET_STABLEHLO_TESTS doesn't name the folder stablehlo/tests of the StableHLO repository")
def test_public():
    """What the interpreter evaluates agrees with the public tests; what it can't is an error that says so."""
    passed, unsupported, wrong = 0, [], []
    for file in FILES:
        for part in re.split(r"^// -----", file.read_text(), flags=re.M):
            names = re.findall(r"func\.func (?:public )?@(\w+)\(\)", part)
            text, checks = expectations(part)
            if len(names) != 1 or checks == 0 or text.count("func.func") != 1:
                continue
            done = cresset_run(text, "--interpret", "--elements=-1", f"--function={names[0]}")
            assert done.returncode in (0, 1), f"{file.name} @{names[0]} died: {done.stderr}"
            lines = [line.partition(">: ")[2].split() for line in done.stdout.splitlines()]
            if done.returncode:
                unsupported.append(f"{file.name} @{names[0]}: {done.stderr.splitlines()[0][-150:]}")
            elif all(close(a, e) for a, e in zip(lines[::2], lines[1::2], strict=True)):
                passed += 1
            else:
                wrong.append(f"{file.name} @{names[0]}: {lines}")
    print(f"{passed} agree, {len(unsupported)} unsupported:", *unsupported, sep="\n  ")
    assert not wrong, "\n".join(wrong)
    assert passed > 100


def close(actual, expected):
    numbers = lambda values: [complex(*map(float, v.strip("()").split(","))) if "(" in v else complex(float(v)) for v in values]
    pairs = list(zip(numbers(actual), numbers(expected), strict=True))
    return all(a == e or (a != a and e != e) or abs(a - e) <= 1e-3 * (1 + abs(e)) for a, e in pairs)


@pytest.mark.parametrize("text", [
    "", "module {", "func.func @main(", "func.func @main() -> tensor<2xf32> { return }",
    "func.func @main(%a: tensor<?xf32>) -> tensor<?xf32> { return %a : tensor<?xf32> }",
    "func.func @main(%a: i32) -> i32 { return %a : i32 }",
    "func.func @main() -> tensor<2xf32> { %0 = call @main() : () -> tensor<2xf32>  return %0 : tensor<2xf32> }",
    "func.func private @main() -> tensor<2xf32>",
])
@pytest.mark.parametrize("option", ["--interpret", "--compare"])
def test_malformed(text, option):
    done = cresset_run(text, option)
    assert done.returncode == 1 and "error" in done.stderr


@pytest.mark.parametrize("seed", range(40))
def test_mutated(seed):
    """A damaged module runs or is refused; the program never dies."""
    text = (pathlib.Path(__file__).parents[1] / "mlir/interpret.mlir").read_text()
    rng, tokens = random.Random(seed), re.findall(r"\w+|\s+|.", text)
    for _ in range(1 + seed % 3):
        at = rng.randrange(len(tokens))
        tokens[at] = rng.choice(["", rng.choice(tokens), "-1", "f32", "i1", "0x"])
    try:
        assert cresset_run("".join(tokens), "--compare", timeout=5).returncode in (0, 1)
    except subprocess.TimeoutExpired:  # a loop without an end is a program too
        pass
