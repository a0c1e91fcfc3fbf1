"""The benchmark harness: its figures come from runs whose results were compared, and what is wrong or disturbed shows."""

import copy
import importlib
import json
import os
import pathlib
import subprocess
import sys
import xml.etree.ElementTree

import numpy as np
import pytest
import torch

BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench"


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCH))
    names = ("architectures", "contenders", "report", "rows", "run", "worker")
    yield lambda name: importlib.import_module(name)
    for name in names:
        sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """A short run of a kernel and a training step: the program's completed process, and its folder."""
    folder = tmp_path_factory.mktemp("bench")
    (folder / "performance.md").write_text("before\n<!-- measured: written by bench/run.py -->\nold\n<!-- /measured -->\nafter\n")
    command = [sys.executable, str(BENCH / "run.py"), "--rows", "softmax@64x32,mlp_train@16", "--contenders", "cresset,cresset_device,cresset_exported", "--threads", "1",
               "--rounds", "1", "--block", "0.01", "--json", str(folder / "bench.json"), "--docs", str(folder / "performance.md")]
    return subprocess.run(command, capture_output=True, text=True), folder


def test_a_run_measures_and_compares(measured):
    done, folder = measured
    assert done.returncode == 0, done.stderr
    data = json.loads((folder / "bench.json").read_text())
    for name in ("softmax@64x32", "mlp_train@16"):
        row = data["runs"]["1"][name]
        assert list(row["contenders"]) == ["eager", "cresset", "cresset_device"] + ["cresset_exported"] * (name != "mlp_train@16")
        assert 0 < row["tolerance"] <= 1e-5
        for contender, result in row["contenders"].items():
            assert 0 < result["min_ms"] <= result["median_ms"] and result["blocks"] >= 1 and result["peak_mb"] > 100
            if contender != "eager":
                assert result["equal"] and result["difference"] <= row["tolerance"]
                assert {"first_s", "first_s_cached"} <= result.keys()


def test_the_peak_of_memory_is_that_of_calls(bench, tmp_path, monkeypatch):
    """Neither of comparing results, which takes several times their size, nor of another model whose cost is counted."""
    worker = bench("worker")
    compared = []
    monkeypatch.setattr(worker, "difference", lambda value, expected: compared.append(value.shape) or 0.0)
    monkeypatch.setattr(worker, "peak_memory", lambda: len(compared))
    for name in ("eager", "cresset"):
        working = worker.Worker(name, "gelu@32x16", 1, str(tmp_path / "gelu.npy"))
        working.start()
        working.block(0)
        answer = working.end()
        assert answer["peak_mb"] == 0
    assert compared == [(32, 16)] * 2 and answer["difference"] == 0.0  # the first and the last call's


def test_the_docs_get_tables_and_a_picture(measured):
    done, folder = measured
    assert done.returncode == 0, done.stderr
    text = (folder / "performance.md").read_text()
    assert text.startswith("before\n") and text.endswith("after\n") and "old" not in text
    assert "| softmax, 64×32 |" in text and "| MLP 784-512-512-10 training step, 16 |" in text
    picture = xml.etree.ElementTree.parse(folder / "performance.svg").getroot()
    titles = [t.text for t in picture.iter("{http://www.w3.org/2000/svg}title")]
    assert len(titles) == 7 and any(t.startswith("cresset, device: ") for t in titles)


def results(**times):
    return {name: dict(min_ms=t, median_ms=t, quiet_blocks=1, first_s=0.0, peak_mb=1.0, equal=True, difference=0.0) for name, t in times.items()}


def test_a_wrong_result_is_no_best_peer_and_fails_the_run(bench):
    report = bench("report")
    row = dict(title="softmax", tolerance=1e-6, limits=dict(ms=1.0, fma_gflops=1.0, copy_gbs=1.0, core_to_core_ns=[25.0, 180.0]),
               contenders=results(eager=4.0, inductor=2.0, cresset=3.0, cresset_device=5.0))
    data = dict(machine=dict(date="", commit="", cpu="", family="", model="", cores=1, features=[], memory_gb=1, versions={}), runs={"1": dict(softmax=row)})
    standing = report.ratios(row)
    assert standing["peer"] == "inductor" and standing["against"] == dict(cresset=1.5, cresset_device=2.5) and standing["limit"] == pytest.approx(1 / 3)
    assert report.failures(data) == []
    assert "1 thread: multiply-adds at 1 GFLOP/s, copies at 1 (memory) to 1 GB/s (caches), from core to core in 25 to 180 ns" in report.markdown(data)

    wrong = copy.deepcopy(data)
    contenders = wrong["runs"]["1"]["softmax"]["contenders"]
    contenders["inductor"].update(equal=False, difference=1.0)
    contenders["cresset"].update(equal=False, difference=1.0)
    contenders["cresset_device"] = dict(error="no kernel")
    assert report.ratios(wrong["runs"]["1"]["softmax"])["peer"] == "eager"
    assert report.failures(wrong) == ["softmax, 1 threads: cresset differs from eager by 1.0e+00, allowed 1e-06", "softmax, 1 threads: cresset_device fails: no kernel"]
    line = next(line for line in report.markdown(wrong).splitlines() if line.startswith("| softmax"))
    assert "wrong: 3" in line and "wrong: 2" in line and "fails" in line


def test_docs_without_markers_are_left_alone(bench, tmp_path):
    path = tmp_path / "performance.md"
    path.write_text("no place for tables\n")
    with pytest.raises(ValueError, match="needs the line"):
        bench("report").write_docs(path, dict(machine={}, runs={}))
    assert path.read_text() == "no place for tables\n" and not path.with_suffix(".svg").exists()


def test_difference(bench):
    difference = bench("worker").difference
    expected = np.array([1.0, -4.0, np.inf])
    assert difference(expected, expected) == 0
    assert difference([1.0, -4.4, np.inf], expected) == pytest.approx(0.1)
    assert difference([1.0, np.nan, np.inf], expected) == difference([1.0, -4.0, -np.inf], expected) == difference([1.0, -4.0, 9.0], expected) == np.inf
    assert difference([[1.0, -4.0]], expected) == np.inf


def test_a_busy_machine_is_not_quiet(bench):
    process_class = bench("run").Process
    other = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    process = process_class([sys.executable, "-c", "import sys, time\nfor line in sys.stdin: time.sleep(float(line)); print('{}', flush=True)"], {0}, "/dev/null")
    try:
        assert process.ask("0.6") == ({}, False)
    finally:
        process.stop()
        other.kill()
        other.wait()


def test_costs(bench):
    rows = bench("rows")
    cost = lambda name: rows.cost(rows.find(name).work(), rows.find(name).training)
    assert cost("matmul@32x48x64") == dict(flops=2 * 32 * 48 * 64, bytes=4 * (32 * 64 + 64 * 48 + 32 * 48), optimizer_bytes=0)
    assert cost("attention@2x3x32x16")["flops"] == 4 * 2 * 3 * (32 * 33 // 2) * 16  # what lies above the diagonal is not needed
    weights = 784 * 512 + 512 * 512 + 512 * 10
    # Each product has two in backward, but the first one's input needs no gradient.
    assert cost("mlp_train@16") == dict(flops=2 * 16 * (3 * weights - 784 * 512), bytes=12 * (weights + 1034), optimizer_bytes=28 * (weights + 1034))


def test_names_of_rows(bench):
    rows = bench("rows")
    assert rows.find("matmul@2x3x4").work().inputs[1].shape == torch.Size([4, 3])
    assert rows.find("matmul@2x3").sizes == (2, 3, 1024) and rows.find("matmul@2x3x4").full_title() == "matmul, 2×4 by 4×3"
    assert [r.name for r in rows.named("gelu,matmul@2")] == ["gelu", "matmul@2"] and not any(r.other for r in rows.named(""))
    assert {"vit", "mobilenet", "bert_train"} <= {r.name for r in rows.named("other")} and all(r.other for r in rows.named("other"))
    half = rows.find("linear_gelu@2x3x4:bf16")
    assert {t.dtype for t in half.work().inputs} == {torch.bfloat16} and half.sizes == (2, 3, 4) and half.full_title() == "linear+gelu, 2×3 to 4, bf16"
    for name, message in (("mamtul", "no row 'mamtul'; there are gelu, "), ("matmul@2x3x4x5", "sizes of matmul are matmul@mxnxk, as matmul@1024x1024x1024"), ("softmax@0", "sizes of softmax"), ("bert@4xa", "sizes of bert")):
        with pytest.raises(SystemExit, match=message):
            rows.find(name)


def test_limits_of_the_machine():
    program = BENCH.parent / "build" / "bench" / "bench_limits"
    if not program.exists():
        pytest.skip("bench_limits is not built")
    done = subprocess.run([str(program), "1"], input="1000000\n100000000\n", capture_output=True, text=True)
    small, large = map(json.loads, done.stdout.splitlines())
    assert small["fma_gflops"] > 1 and small["copy_gbs"] > 0.1 and large["copy_gbs"] > 0.1 and small["core_to_core_ns"] == 0
    if os.cpu_count() > 1:
        done = subprocess.run([str(program), "2"], input="1000000\n", capture_output=True, text=True)
        assert 1 < json.loads(done.stdout)["core_to_core_ns"] < 1e5
    assert subprocess.run([str(program), "none"], capture_output=True).returncode == 2


def test_growth_with_layers(tmp_path):
    docs = tmp_path / "performance.md"
    docs.write_text("before\n<!-- growth: written by bench/growth.py -->\nold\n<!-- /growth -->\nafter\n")
    done = subprocess.run([sys.executable, str(BENCH / "growth.py"), "--layers", "3,6", "--docs", str(docs)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() in docs.read_text() and "old" not in docs.read_text()
    three, six = ([cell.strip() for cell in line.split("|")[1:-1]] for line in done.stdout.strip().splitlines()[2:])
    assert three[0] == "3" and six[0] == "6"
    assert int(three[6]) < int(six[6]) and three[7] == six[7]  # more launches of the same kernels
    assert three[5] == six[5]
    docs.write_text("no markers\n")
    assert subprocess.run([sys.executable, str(BENCH / "growth.py"), "--docs", str(docs)], capture_output=True).returncode == 2
    assert docs.read_text() == "no markers\n"


def test_an_architecture_is_compared(tmp_path):
    command = [sys.executable, str(BENCH / "architectures.py"), "t5", "time_series_transformer", "--seconds", "0.01", "--json", str(tmp_path / "all.jsonl")]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "1 compared, 1 left out" in output
    t5, other = [json.loads(line) for line in (tmp_path / "all.jsonl").read_text().splitlines()]
    assert t5["inputs"] == {"input_ids": [2, 64], "decoder_input_ids": [2, 16]} and t5["fallbacks"] == {} and "prediction_length" in other["left out"]
    for key in ("torch.compile", "device", "gradients"):
        assert 0 <= t5[key] < 1e-5
    assert all(t5[f"{key}, ms"] > 0 for key in ("eager", "torch.compile", "device"))


def test_what_an_architecture_shows_is_said(bench):
    findings = bench("architectures").findings
    right = {"name": "t5", "torch.compile": 1e-7, "device": "random", "gradients": 1e-6, "fallbacks": {}, "eager, ms": 2.0, "torch.compile, ms": 1.0, "device, ms": 1.5}
    assert not list(findings(right))
    wrong = right | {"device": float("nan"), "gradients: error": "RuntimeError: no", "fallbacks": {"aten::foo": 2}, "torch.compile, ms": 3.0}
    assert [text.split(":")[0] for text in findings(wrong)] == ["torch.compile 3.00 ms, eager 2.00", "device differs by nan (eager from f64", "gradients", "falls back"]
    assert list(findings({"name": "t5", "ended": "after 240 s"})) == ["the process ended: after 240 s"]
