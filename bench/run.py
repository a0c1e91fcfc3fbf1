"""Measures cresset and its peers: for each row one process per contender, all alive in turn for short blocks within one run.

Only blocks count during which other processes of the machine were quiet. Results are compared with eager's in the same run; the
exit code is 1 if one of ours is wrong or fails. docs/performance.md says how to read the tables.
"""

import argparse
import contextlib
import glob
import json
import os
import pathlib
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import torch

import contenders
import report
import rows

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
CLOCK_TICKS = os.sysconf("SC_CLK_TCK")
LARGEST_COPY = 256 << 20  # bytes; beyond every cache


def cores():
    """One logical processor of each core that this process may use."""
    allowed, first = os.sched_getaffinity(0), {}
    for path in glob.glob("/sys/devices/system/cpu/cpu[0-9]*/topology/thread_siblings_list"):
        cpu = int(pathlib.Path(path).parts[-3].removeprefix("cpu"))
        if cpu in allowed:
            siblings = pathlib.Path(path).read_text().strip()
            first[siblings] = min(cpu, first.get(siblings, cpu))
    return sorted(first.values()) or sorted(allowed)


def machine_busy():
    """Seconds of work of all processors since the start, stolen time included."""
    fields = pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]
    return sum(int(v) for i, v in enumerate(fields) if i not in (3, 4)) / CLOCK_TICKS  # not idle, not waiting for input


def process_busy(pid):
    user, system = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]
    return (int(user) + int(system)) / CLOCK_TICKS


class Process:
    """A worker, or the program that measures limits: a line out, a line of JSON back."""

    def __init__(self, command, processors, log, environment=None):
        self.log = log
        self.start = time.perf_counter()
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=open(log, "w"), text=True,
                                        env={**os.environ, **(environment or {})}, preexec_fn=lambda: os.sched_setaffinity(0, processors))

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            tail = pathlib.Path(self.log).read_text(errors="replace").strip().splitlines()[-1:] or ["no message"]
            raise RuntimeError(f"the process ended with {self.process.wait()}: {tail[0]}")
        answer = json.loads(line)
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer

    def ask(self, line):
        """The answer, and whether the machine was quiet meanwhile."""
        start, busy, own = time.perf_counter(), machine_busy(), process_busy(self.process.pid)
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.answer()
        others = machine_busy() - busy - (process_busy(self.process.pid) - own)
        return answer, others < 0.04 + 0.03 * (time.perf_counter() - start)

    def stop(self):
        self.process.kill()
        self.process.wait()


class Run:
    """All rows with one number of threads."""

    def __init__(self, options, threads, directory):
        self.options, self.threads, self.directory = options, threads, directory
        self.processors = set(cores()[:threads])

    def worker(self, name, row, *extra):
        cache = self.directory / f"cache-{name}-{row.name}"
        environment = dict(OMP_NUM_THREADS=str(self.threads), CRESSET_CACHE_DIR=str(cache / "cresset"), TORCHINDUCTOR_CACHE_DIR=str(cache / "inductor"),
                           TMPDIR=str(self.directory), HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="error")
        if not name.startswith("cresset"):
            environment["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"  # peers as where Cresset is not installed
        command = [sys.executable, str(HERE / "worker.py"), name, row.name, str(self.threads), str(self.directory / f"{row.name}.npy"), *extra]
        return Process(command, self.processors, str(self.directory / f"{name}-{row.name}.log"), environment)

    def alone(self, name, row, what):
        """What a new process answers that does nothing else; it finds what others have left on disk."""
        process = self.worker(name, row, what)
        try:
            return process.answer()
        finally:
            process.stop()

    def row(self, row, names):
        with contextlib.ExitStack() as stack:
            running, results = {}, {}
            for name in names:
                if not contenders.CONTENDERS[name].runs(row):
                    continue
                say(f"  {row.name}: {name}")
                process = self.worker(name, row)
                stack.callback(process.stop)
                try:
                    results[name] = dict(process.answer(), blocks=[])
                    running[name] = process
                except RuntimeError as error:
                    results[name] = dict(error=str(error))
                    say(f"    {error}")
                    if name == "eager":
                        return dict(contenders=results)
            cost = self.alone("eager", row, "--cost")
            limits = self.limits(stack, cost) if row.dtype == torch.float32 else None  # the peak is that of f32
            self.rounds(running, limits, results)
            for name, process in running.items():
                self.finish(name, process, row, results[name])
        return dict(title=row.full_title(), tolerance=row.tolerance, training=row.training, cost=cost, limits=self.summary_of_limits(limits, cost),
                    contenders=results)

    def limits(self, stack, cost):
        if not self.options.limits.exists():
            return None
        process = Process([str(self.options.limits), str(self.threads)], self.processors, str(self.directory / "limits.log"))
        stack.callback(process.stop)
        return dict(process=process, bytes=min(max(cost["bytes"], cost["optimizer_bytes"]), LARGEST_COPY), blocks=[])

    def rounds(self, running, limits, results):
        """Until every contender has had enough quiet blocks, or for thrice the rounds asked for."""
        names = list(running)
        for i in range(3 * self.options.rounds):
            if i >= self.options.rounds and all(sum(quiet for _, quiet in results[n]["blocks"]) > self.options.rounds // 2 for n in running):
                return
            if limits:
                limits["blocks"].append(limits["process"].ask(str(limits["bytes"])))
            for name in names[i % len(names):] + names[:i % len(names)]:
                if name in running:
                    try:
                        results[name]["blocks"].append(running[name].ask(str(self.options.block)))
                    except (RuntimeError, OSError) as error:
                        running.pop(name).stop()
                        results[name] = dict(error=str(error))

    def finish(self, name, process, row, result):
        blocks = result.pop("blocks")
        used = [b for b, quiet in blocks if quiet] or [b for b, _ in blocks]
        times = [t for b in used for t in b["times"]]
        try:
            result.update(process.ask("quit")[0])
            process.process.wait(timeout=30)
            if contenders.CONTENDERS[name].cached:
                result["first_calls_cached"] = self.alone(name, row, "--first-calls")["first_calls"]
        except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:
            result["error"] = str(error)
            return
        steady = min(times)
        result.update(min_ms=steady * 1e3, median_ms=statistics.median(times) * 1e3, calls=len(times), page_faults=used[-1]["page_faults"],
                      blocks=len(blocks), quiet_blocks=sum(quiet for _, quiet in blocks))
        for key in ("first_calls", "first_calls_cached"):
            if key in result:
                calls = result.pop(key)
                result[key.replace("calls", "s")] = max(0.0, sum(calls) - len(calls) * steady)
        if name != "eager":
            result["equal"] = result["difference"] <= row.tolerance

    def summary_of_limits(self, limits, cost):
        if not limits:
            return None
        used = [b for b, quiet in limits["blocks"] if quiet] or [b for b, _ in limits["blocks"]]
        flops, copy = max(b["fma_gflops"] for b in used), max(b["copy_gbs"] for b in used)
        seconds = max(cost["flops"] / flops, cost["bytes"] / copy) / 1e9 + cost["optimizer_bytes"] / copy / 1e9
        apart = [b["core_to_core_ns"] for b in used]
        return dict(fma_gflops=flops, copy_gbs=copy, copy_bytes=limits["bytes"], core_to_core_ns=[min(apart), max(apart)], ms=seconds * 1e3)


def say(text):
    print(text, file=sys.stderr, flush=True)


def describe_machine():
    info = dict(line.split(":", 1) for line in pathlib.Path("/proc/cpuinfo").read_text().split("\n\n")[0].splitlines() if ":" in line)
    info = {key.strip(): value.strip() for key, value in info.items()}
    flags = info.get("flags", "").split()
    versions = {}
    for package in ("torch", "torch-cresset", "transformers", "jax", "onnxruntime", "openvino", "iree-base-compiler"):
        from importlib import metadata

        with contextlib.suppress(metadata.PackageNotFoundError):
            versions[package] = metadata.version(package)
    return dict(cpu=info.get("model name", platform.processor()), family=info.get("cpu family"), model=info.get("model"), cores=len(cores()),
                features=[f for f in ("avx2", "fma", "avx512f", "avx512_bf16", "amx_tile", "amx_bf16") if f in flags],
                memory_gb=round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30), versions=versions,
                commit=subprocess.run(["git", "-C", str(ROOT), "describe", "--always", "--dirty"], capture_output=True, text=True).stdout.strip(),
                date=time.strftime("%Y-%m-%d"))


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default="", help="comma separated; with other sizes as bert@1x512; other: further models (default: those of the table)")
    parser.add_argument("--contenders", default=",".join(contenders.CONTENDERS), help="comma separated (default: all that are installed); eager always runs")
    parser.add_argument("--threads", default="", help="comma separated numbers of threads (default: all cores, and 1)")
    parser.add_argument("--rounds", type=int, default=6, help="blocks of each contender; thrice as many if too few are quiet")
    parser.add_argument("--block", type=float, default=0.4, help="seconds; at least one call")
    parser.add_argument("--json", type=pathlib.Path, default=ROOT / "build" / "bench.json", help="where all results go")
    parser.add_argument("--docs", type=pathlib.Path, help="a Markdown file whose tables are replaced; the picture goes beside it")
    parser.add_argument("--limits", type=pathlib.Path, default=ROOT / "build" / "bench" / "bench_limits", help="the program that measures the machine")
    options = parser.parse_args()
    if options.docs:
        try:
            report.split_docs(options.docs)  # before half an hour of measuring
        except ValueError as error:
            parser.error(str(error))
    options.rows = rows.named(options.rows)
    wanted = options.contenders.split(",")
    if unknown := set(wanted) - set(contenders.CONTENDERS):
        parser.error(f"no contender {', '.join(sorted(unknown))}; there are {', '.join(contenders.CONTENDERS)}")
    options.contenders = ["eager"] + [name for name in contenders.CONTENDERS if name in wanted and name != "eager"]
    counts = options.threads.split(",") if options.threads else [str(n) for n in sorted({len(cores()), 1}, reverse=True)]
    if not all(n.isdigit() and 1 <= int(n) <= len(cores()) for n in counts):
        parser.error(f"--threads {options.threads}: this machine has 1 to {len(cores())} cores")
    options.threads = [int(n) for n in counts]
    return options


def main():
    options = parse()
    missing = [name for name in options.contenders if not contenders.installed(name)]
    if missing:
        say(f"not installed and left out: {', '.join(missing)} (bench/requirements.txt)")
    names = [name for name in options.contenders if name not in missing]
    if not options.limits.exists():
        say(f"no limits: {options.limits} is not built (ninja -C build bench_limits)")
    data = dict(machine=describe_machine(), block_seconds=options.block, runs={})
    for threads in options.threads:
        say(f"{threads} thread{'s' * (threads > 1)}")
        results = data["runs"].setdefault(str(threads), {})
        for row in options.rows:
            directory = pathlib.Path(tempfile.mkdtemp(prefix="cresset-bench-"))
            try:
                results[row.name] = Run(options, threads, directory).row(row, names)
            finally:
                shutil.rmtree(directory, ignore_errors=True)
            options.json.parent.mkdir(parents=True, exist_ok=True)
            options.json.write_text(json.dumps(data, indent=1) + "\n")
    print(report.markdown(data))
    if options.docs:
        report.write_docs(options.docs, data)
    bad = report.failures(data)
    for line in bad:
        say(line)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
