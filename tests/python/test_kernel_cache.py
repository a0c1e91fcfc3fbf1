"""Compiled kernels on disk: found by later processes, never trusted when damaged, safe between processes."""

import os
import pathlib
import subprocess
import sys

import pytest

PROGRAM = """
import torch
x = torch.arange(1000, device="cresset").float()
print(float((torch.nn.functional.gelu(x) * 3).sum().cpu()))
"""


RECURRENT = """
import torch
torch.manual_seed(0)
model, x = torch.nn.LSTM(24, 24), torch.randn(40, 2, 24)
expected = model(x)[0].detach()
torch.testing.assert_close(model.to("cresset")(x.to("cresset"))[0].cpu().detach(), expected)
"""


def run(directory, program=PROGRAM, *arguments, **environment):
    result = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, timeout=300,
                            env=os.environ | {"CRESSET_CACHE_DIR": str(directory)} | environment)
    assert result.returncode == 0, result.stderr
    return result.stdout


def files(directory):
    return {path: path.read_bytes() for path in sorted(pathlib.Path(directory).glob("llvmcache-*"))}


def modified(directory):
    return {path: path.stat().st_mtime_ns for path in files(directory)}


def test_a_second_process_compiles_nothing(tmp_path):
    first = run(tmp_path)
    before = modified(tmp_path)
    assert before
    assert run(tmp_path) == first
    assert modified(tmp_path) == before


FILLED = """
import torch
x, y = torch.zeros(60, 8, device="cresset"), torch.randn(60, 8).to("cresset")
for i in range(60):
    x[i] += 1
    x[i, 3] = y[59 - i].sum()
expected = torch.ones(60, 8)
expected[:, 3] = y.cpu().flip(0).sum(1)
torch.testing.assert_close(x.cpu(), expected)
"""


@pytest.mark.parametrize("program", [RECURRENT, FILLED], ids=["read", "written"])
def test_steps_at_other_places_share_their_code(tmp_path, program):
    run(tmp_path, program)
    before = modified(tmp_path)
    assert len(before) < 24  # for 40 and 60 steps
    run(tmp_path, program)
    assert modified(tmp_path) == before


SIZES = """
import sys, torch, torch_cresset
model = torch.nn.Sequential(torch.nn.Conv1d(8, 32, 5, padding=2), torch.nn.GELU(), torch.nn.Conv1d(32, 8, 3), torch.nn.Softmax(-1)).eval()
ours = torch.compile(model, backend="cresset", dynamic=True)
with torch.no_grad():
    for n in eval(sys.argv[1]):
        x = torch.randn(2, 8, n)
        torch.testing.assert_close(ours(x), model(x), rtol=1e-4, atol=1e-5)
        before = torch_cresset.counters()["cresset.kernel_compile"] if n == eval(sys.argv[1])[0] else before
print(torch_cresset.counters()["cresset.kernel_compile"] - before)
"""


def test_later_processes_find_kernels_of_any_size(tmp_path):
    assert int(run(tmp_path, SIZES, "[100, 230, 151, 388, 209, 317, 112, 176, 275, 343, 190, 132]")) >= 5  # 11; 7 with AVX2, 5 without AVX
    assert int(run(tmp_path, SIZES, "[123, 257, 301, 178, 366, 145]")) <= 2  # beyond those of the first size


@pytest.mark.parametrize("damage", [lambda b: b[:20], lambda b: b"", lambda b: b[:-8] + bytes(8), lambda b: b"x" * len(b)])
def test_damaged_files_are_compiled_again(tmp_path, damage):
    first = run(tmp_path)
    good = files(tmp_path)
    for path, content in good.items():
        path.write_bytes(damage(content))
    assert run(tmp_path) == first
    assert files(tmp_path) == good


def test_another_instruction_set_has_other_files(tmp_path):
    run(tmp_path)
    one = set(files(tmp_path))
    run(tmp_path, CRESSET_CPU="baseline")
    assert len(files(tmp_path)) == 2 * len(one)


def test_a_directory_that_cannot_be_written_is_no_error(tmp_path):
    (tmp_path / "file").write_text("")
    run(tmp_path / "file" / "below")


def test_processes_share_a_directory(tmp_path):
    started = [subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True, env=os.environ | {"CRESSET_CACHE_DIR": str(tmp_path)})
               for _ in range(3)]
    assert len({process.communicate(timeout=300)[0] for process in started}) == 1
    left = {path.name for path in tmp_path.iterdir()} - {path.name for path in files(tmp_path)}
    assert left <= {"llvmcache.timestamp"}, left
    assert not [path for path in files(tmp_path) if path.suffix]


TRAINING = """
import torch, torch_cresset

def kernels(layers, batch):
    torch.manual_seed(0)
    net = torch.nn.Sequential(*[m for _ in range(layers) for m in (torch.nn.Linear(32, 32), torch.nn.ReLU())]).to("cresset")
    optimizer = torch.optim.AdamW(net.parameters(), fused=True)
    x = torch.randn(batch, 32).to("cresset")
    torch_cresset.reset_counters()
    for _ in range(3):
        net(x).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    torch.cresset.synchronize()
    counters = torch_cresset.counters()
    return [counters.get("cresset.kernel_" + kind, 0) for kind in ("compile", "hit", "disk_hit")]

torch.nn.functional.linear(torch.randn(1, 2).to("cresset"), torch.randn(1, 2).to("cresset")).cpu()  # what is drawn and copied once
print(*kernels(4, 8), *kernels(8, 8), *kernels(4, 16))
"""


def test_equal_layers_compile_once_and_a_changed_shape_only_what_it_changes(tmp_path):
    def run_training():
        result = subprocess.run([sys.executable, "-c", TRAINING], capture_output=True, text=True, timeout=300, env=os.environ | {"CRESSET_CACHE_DIR": str(tmp_path)})
        assert result.returncode == 0, result.stderr
        return [int(v) for v in result.stdout.split()]

    four, _, on_disk, twice_as_deep, hits, _, other_batch, hits_of_batch, _ = run_training()
    assert four > 0 and on_disk == 0
    assert twice_as_deep <= 2 and hits > twice_as_deep  # the last layer's kernels know what follows: nearly all are known
    assert 0 < other_batch < four and hits_of_batch > 0
    again = run_training()
    assert again[::3] == [0, 0, 0] and again[2] == four


def test_a_long_compile_says_how_far_it_is(tmp_path):
    def said(progress):
        result = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=300,
                                env=os.environ | {"CRESSET_CACHE_DIR": str(tmp_path / progress), "CRESSET_PROGRESS": progress})
        assert result.returncode == 0, result.stderr
        return "cresset: compiling, " in result.stderr

    assert said("1e-9") and not said("0") and not said("60")
