"""Children: workers that are spawned must start, take their tasks and end as unwatched."""

import multiprocessing
import time

from regression_tests.benchmarks.harm.stage import event, measured, watched

LIMITS = {"first_task_s": (1.5, 1.5)}


class Sample:
    pass


def work(number):
    return number, multiprocessing.current_process().name.partition("-")[0]


if __name__ == "__main__":
    kept = []
    with watched() as guard:
        begun = time.perf_counter()
        with multiprocessing.get_context("spawn").Pool(2) as pool:
            event(pool.apply(work, (1,)))
            measured("first_task_s", time.perf_counter() - begun)
            for _ in guard.generations(range(12)):
                kept.extend(Sample() for _ in range(500))
                event(pool.map(work, range(4)))
                time.sleep(0.05)
            pool.close()
            pool.join()
    event(len(multiprocessing.active_children()))
