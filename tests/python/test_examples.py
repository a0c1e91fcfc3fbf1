"""The examples run as they stand."""

import pathlib
import subprocess
import sys

import pytest

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize("path", sorted(EXAMPLES.rglob("*.py")), ids=lambda path: path.stem)
def test_example(path):
    run = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    assert run.stdout


def test_a_program_without_python(tmp_path):
    import torch
    import torch_cresset

    torch_dir, cresset_dir = (str(pathlib.Path(m.__file__).parent) for m in (torch, torch_cresset))
    subprocess.run(["cmake", "-S", EXAMPLES / "cpp", "-B", tmp_path, f"-DTORCH={torch_dir}", f"-DTORCH_CRESSET={cresset_dir}"], check=True, capture_output=True)
    built = subprocess.run(["cmake", "--build", tmp_path], capture_output=True, text=True)
    assert built.returncode == 0, built.stdout + built.stderr
    run = subprocess.run([tmp_path / "train"], capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "fell back" not in run.stdout
