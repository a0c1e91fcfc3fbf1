"""What codegen/generate.py says about mistakes in ops/aten.yaml and src/lowering."""

import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
DEFINED = """
namespace cresset::lowering::aten {
namespace {
Value helper(Builder& b) { return {}; }
}  // namespace
Value abs(Builder& b, Value self) { return b.abs(self); }
}  // namespace cresset::lowering::aten
"""


def generate(folder, table, *options, lowerings=DEFINED):
    (folder / "lowering").mkdir()
    (folder / "lowering" / "unary.cpp").write_text(lowerings)
    (folder / "aten.yaml").write_text(table)
    command = [sys.executable, ROOT / "codegen" / "generate.py", "--ops", folder / "aten.yaml", "--lowerings", folder / "lowering", "--out", folder / "out", *options]
    return subprocess.run(command, capture_output=True, text=True)


def test_writes_kernels_of_all_variants(tmp_path):
    run = generate(tmp_path, "- func: abs\n")
    assert run.returncode == 0, run.stderr
    kernels = "".join(p.read_text() for p in (tmp_path / "out").glob("kernels_*.cpp"))
    for schema in ("abs", "abs_", "abs.out"):
        assert f'm.impl("{schema}"' in kernels
    assert "Value abs(Builder& b, Value self);" in (tmp_path / "out" / "lowerings.h").read_text()


def test_same_input_same_output(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    for name in "ab":
        assert generate(tmp_path / name, "- func: abs\n").returncode == 0
    for path in (tmp_path / "a" / "out").iterdir():
        assert path.read_text() == (tmp_path / "b" / "out" / path.name).read_text()


@pytest.mark.parametrize("table, message", [
    ("- func: absolut\n", "aten.yaml:1: absolut is no operator of PyTorch; did you mean absolute"),
    ("- func: add\n", "aten.yaml:1: add is no operator of PyTorch; did you mean add.Tensor"),
    ("- func: abs\n- func: abs\n", "aten.yaml:2: abs is listed twice; the first is in line 1"),
    ("- func: abs\n  shapes: own\n", "aten.yaml:1: abs: unknown key 'shapes'; did you mean 'shape'?"),
    ("- func: abs\n  random: maybe\n", "aten.yaml:1: abs: random is true or false, not 'maybe'"),
    ("- func: abs\n  eager: absolut\n", "aten.yaml:1: abs: eager is 'absolut', which is no operator of PyTorch"),
    ("- func: abs\n  shape: mine\n", "aten.yaml:1: abs: shape is 'own' or a call"),
    ("- abs\n", "write '- func: abs'"),
    ("- whole: true\n", "entry 1 has no 'func'"),
    ("abs: 1\n", "expected a list of entries"),
    ("- func: [abs\n", "not valid YAML"),
    ("- func: abs.out\n", "aten.yaml:1: abs.out is an out overload; list the functional one"),
    ("- func: arange.start_out\n", "add 'shape: own' and write shapes::arange_start_out"),
    ("- func: linear\n", "linear decomposes before it reaches a device; a kernel for it would lose its gradient"),
    ("- func: add.Tensor\n  numbers: [beta]\n", "numbers names 'beta', but the arguments are self, other, alpha"),
])
def test_mistakes_in_the_table(tmp_path, table, message):
    run = generate(tmp_path, table)
    assert run.returncode != 0
    assert message in run.stderr
    assert "Traceback" not in run.stderr


def test_missing_lowering_prints_its_declaration(tmp_path):
    run = generate(tmp_path, "- func: abs\n- func: addcmul\n")
    assert run.returncode != 0
    assert "Value addcmul(Builder& b, Value self, Value tensor1, Value tensor2, Scalar value) { … }" in run.stderr


def test_lowering_without_entry(tmp_path):
    extra = DEFINED.replace("Value abs", "Value neg(Builder& b, Value self) { return b.neg(self); }\nValue abs")
    run = generate(tmp_path, "- func: abs\n", lowerings=extra)
    assert run.returncode != 0
    assert "unary.cpp: neg" in run.stderr and "add '- func: NAME'" in run.stderr
    assert "helper" not in run.stderr


CATALOGUE_MISTAKES = [
    ("- {name: aten.abs}", "entry 1: needs 'name' and 'operators'"),
    ("- {name: abs, operators: [abs]}", "abs: a composite's name has a namespace, as in aten.gelu"),
    ("- {name: aten.abs, operators: [abss]}", "aten.abs: operator 'abss' is not in ops/aten.yaml; did you mean 'abs'?"),
    ("- {name: aten.abs, operator: [abs], operators: [abs]}", "aten.abs: unknown key 'operator'; did you mean 'operators'?"),
    ("- {name: aten.abs, operators: [abs], version: 0}", "aten.abs: version is a number from 1 on, not 0"),
    ("- {name: aten.abs, operators: [abs], piece: yes indeed}", "aten.abs: piece is true or false, not 'yes indeed'"),
    ("- {name: aten.abs, operators: [abs], backward: aten.sign}", "aten.abs: its backward 'aten.sign' is not in the catalogue"),
    ("- {name: aten.abs, operators: [abs]}\n- {name: aten.abs, operators: [abs]}", "aten.abs is listed twice"),
    ("- {name: aten.abs, operators: [abs], implicit: l1_loss}", "aten.abs: one of 'operators', 'implicit' and 'gradient_of' says where it comes from"),
    ("- {name: aten.abs, implicit: l2_loss}", "aten.abs: 'l2_loss' is no operator of PyTorch"),
    ("- {name: aten.abs_backward, gradient_of: aten.abs}\n- {name: aten.abs, operators: [abs]}", "aten.abs_backward: 'aten.abs' is no implicit composite of the catalogue"),
    ("- {name: aten.abs, operators: [abs], tolerance: {f32: [0.1, 0.1]}}", "a tolerance other than assert_close's says why: because: …"),
    ("- {name: aten.abs, operators: [abs], tolerance: {f31: [0.1, 0.1], because: x}}", "tolerance is {DTYPE: [relative, absolute]} with DTYPE among f64, f32, f16, bf16, not f31"),
    ("- {name: aten.abs, operators: [abs], when: dtype in f32}", "aten.abs: when: 'dtype in f32' is no condition; write as in dtype=f32|bf16, rank>=2"),
    ("- {name: aten.abs, operators: [abs]}\n- {name: acme.abs, operators: [abs]}", "acme.abs: operator 'abs' belongs to aten.abs already"),
]


@pytest.mark.parametrize("catalogue, message", CATALOGUE_MISTAKES)
def test_mistakes_in_the_catalogue(tmp_path, catalogue, message):
    (tmp_path / "composites.yaml").write_text(catalogue)
    run = generate(tmp_path, "- func: abs\n", "--composites", tmp_path / "composites.yaml")
    assert run.returncode != 0
    assert message in run.stderr


def test_the_documentation_shows_the_catalogue(tmp_path):
    import re

    command = [sys.executable, ROOT / "codegen" / "generate.py", "--ops", ROOT / "ops" / "aten.yaml", "--composites", ROOT / "ops" / "composites.yaml",
               "--lowerings", ROOT / "src" / "lowering", "--out", tmp_path]
    subprocess.run(command, check=True)
    table = (tmp_path / "composites.md").read_text().split("\n\n", 2)[2]
    assert table.strip() in (ROOT / "docs" / "composites.md").read_text(), "docs/composites.md: replace its table by " + re.sub(r"\s+$", "", table[:80])
