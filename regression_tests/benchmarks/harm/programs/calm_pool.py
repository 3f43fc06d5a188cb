"""Calm programs: a pool of two workers must take its first tasks as soon as unwatched."""

import multiprocessing
import time

from regression_tests.benchmarks.harm.stage import event, measured, watched

LIMITS = {"first_task_s": (1.5, 0.5), "wall_s": (1.2, 1.0)}


def work(number):
    return sum(range(20_000)) + number


if __name__ == "__main__":
    ballast = [[number] for number in range(200_000)]
    with watched() as guard:
        begun = time.perf_counter()
        with multiprocessing.get_context("fork").Pool(2) as pool:
            event(pool.apply(work, (1,)))
            measured("first_task_s", time.perf_counter() - begun)
            for number in guard.generations(range(20)):
                event(sum(pool.map(work, range(40))), number)
                time.sleep(0.05)
