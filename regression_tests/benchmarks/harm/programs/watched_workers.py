"""Calm programs: workers that watch their own tasks must take the first as soon as unwatched."""

import multiprocessing
import time

from regression_tests.benchmarks.harm.stage import event, measured, watched

HOW = ["api"]
LIMITS = {"first_task_s": (1.5, 1.0)}
TASKS = 12


def worker(tasks, begun):
    ballast = [[number] for number in range(100_000)]
    with watched(out=None, report=None) as guard:
        for task in guard.generations(range(tasks)):
            total = sum(len(entry) for entry in ballast)
            if task == 0:
                began = time.perf_counter()
            time.sleep(0.02)
            if task == 1:
                measured("first_task_s", time.perf_counter() - began)
    return total


if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(2) as pool:
        event(pool.starmap(worker, [(TASKS, time.time())] * 2))
    with watched() as guard:
        for _ in guard.generations(range(3)):
            time.sleep(0.05)
