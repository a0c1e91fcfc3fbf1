"""One contender on one row, in a process of its own: builds it, makes the first calls, and then answers each line of standard
input, a number of seconds, with the times of calls that fill it. "quit" checks the last result and ends. One line of JSON each way.

    worker.py CONTENDER ROW THREADS FILE [--first-calls | --cost]

FILE holds eager's result for the others to compare with; eager writes it when it ends. Results are compared, and with the options the first calls or the row's cost
are all there is, so that the peak of memory is that of the calls alone.
"""

import json
import logging
import os
import resource
import sys
import time
import traceback
import warnings

FIRST_CALLS = 4  # a training step changes its program until the optimizer's state exists and numbers have been seen to change
CHECKED_LOSS = 2  # the third: the first says nothing of backward and optimizer


def peak_memory():
    """MB of this process."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def difference(value, expected):
    """The largest difference, relative to the largest value; infinite where shapes or NaNs differ."""
    import numpy as np

    value, expected = np.asarray(value, np.float64), np.asarray(expected, np.float64)
    if value.shape != expected.shape:
        return float("inf")
    finite = np.isfinite(expected)
    if not np.array_equal(value[~finite], expected[~finite], equal_nan=True) or not np.isfinite(value[finite]).all():
        return float("inf")
    return float(np.abs(value[finite] - expected[finite]).max(initial=0) / max(np.abs(expected[finite]).max(initial=0), 1e-30))


class Worker:
    def __init__(self, contender, row, threads, path):
        import contenders
        import rows

        self.row, self.eager, self.path = rows.find(row), contender == "eager", path
        self.call, self.read = contenders.CONTENDERS[contender].build(self.row, threads)

    def start(self):
        """The first calls, whose result is kept: in training the loss that is compared."""
        times, losses = [], []
        for _ in range(FIRST_CALLS):
            start = time.perf_counter()
            self.result = self.call()
            times.append(time.perf_counter() - start)
            if self.row.training:
                losses.append(self.read(self.result))
            elif len(times) == 1:
                self.first = self.result
        if self.row.training:
            self.first = losses[CHECKED_LOSS]
            if self.eager and difference(self.first, losses[0]) < 100 * self.row.tolerance:
                raise RuntimeError(f"eager's third loss is {self.first} after {losses[0]}: too near for a check")
        return dict(first_calls=times)

    def serve(self, lines, say):
        for line in lines:
            if line.strip() == "quit":
                return say(self.end())
            say(self.block(float(line)))

    def block(self, seconds):
        times, faults = [], resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        end = time.perf_counter() + seconds
        while not times or time.perf_counter() < end:
            self.result = None  # what it held may be used again, as in a user's loop
            start = time.perf_counter()
            self.result = self.call()
            times.append(time.perf_counter() - start)
        return dict(times=times, page_faults=(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - faults) / len(times))

    def end(self):
        import numpy as np

        answer = dict(peak_mb=peak_memory())
        results = [self.first] if self.row.training else [self.read(self.first), self.read(self.result)]
        if self.eager:
            np.save(self.path, results[0])
        else:
            expected = np.load(self.path)
            answer["difference"] = max(difference(result, expected) for result in results)
        return answer


def cost(row):
    import rows

    row = rows.find(row)
    return rows.cost(row.work(), row.training)


def main():
    contender, row, threads, path, *options = sys.argv[1:]
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is not an answer

    def say(answer):
        answers.write(json.dumps(answer) + "\n")
        answers.flush()

    try:
        import torch

        torch.set_num_threads(int(threads))
        if "--cost" in options:
            say(cost(row))
        else:
            worker = Worker(contender, row, int(threads), path)
            say(worker.start())
            if "--first-calls" not in options:
                worker.serve(sys.stdin, say)
    except Exception as error:
        traceback.print_exc()
        say(dict(error=f"{type(error).__name__}: {error}"[:400]))
    answers.close()
    os._exit(0)  # some runtimes hang or crash when their threads are torn down


if __name__ == "__main__":
    main()
