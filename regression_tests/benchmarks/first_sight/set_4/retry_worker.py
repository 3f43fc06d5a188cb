"""A worker of a job queue: failed jobs are tried again, and given up after the third attempt."""

# /// truth
# about = """a worker that keeps the exception of each job it gave up, and with it the frames of
# the job and their payload, as in celery/celery issues 6023 and 8882"""
# [[leak]]
# type = ["JobFailed", "ZeroVarianceError", "traceback", "frame", "ndarray", "Job"]
# holder = ["last_error", "__traceback__"]
# phase = "work"
# start = 4
# within = 4
# ///
import os
import sys
from collections import deque
from dataclasses import dataclass

import numpy as np

from leakguard import LeakGuard

FORGET_ERRORS = sys.argv[1] == "clean"
GENERATIONS = 480
MAX_ATTEMPTS = 3


class ZeroVarianceError(ValueError):
    """The signal is constant, so it cannot be normalised."""


@dataclass(slots=True)
class Job:
    number: int
    seed: int
    broken: bool
    attempts: int = 0


class Worker:
    """Runs jobs; `last_error` tells the next attempt why the one before failed."""

    def __init__(self) -> None:
        self.queue: deque[Job] = deque()
        self.last_error: dict[int, Exception] = {}
        self.given_up = 0
        self.total = 0.0

    def spectrum(self, job: Job) -> np.ndarray:
        samples = np.random.default_rng(job.seed).normal(size=12_000)
        if job.broken:
            samples[:] = 1.0
        spread = samples.std()
        if spread < 1e-12:
            raise ZeroVarianceError(f"job {job.number} has a constant signal")
        return np.abs(np.fft.rfft((samples - samples.mean()) / spread))

    def work(self) -> None:
        for _ in range(len(self.queue)):
            job = self.queue.popleft()
            job.attempts += 1
            try:
                self.total += float(self.spectrum(job).max())
            except ZeroVarianceError as error:
                self.last_error[job.number] = error
                if job.attempts < MAX_ATTEMPTS:
                    self.queue.append(job)
                    continue
                self.given_up += 1
                if FORGET_ERRORS:
                    del self.last_error[job.number]
            else:
                self.last_error.pop(job.number, None)


def main() -> None:
    worker = Worker()
    number = 0
    guard = LeakGuard(out=os.environ["RUN_FILE"])
    with guard:
        for generation in guard.generations(range(1, GENERATIONS + 1)):
            with guard.phase("receive"):
                for slot in range(18):
                    number += 1
                    broken = generation % 4 == 0 and slot == 7
                    worker.queue.append(Job(number, seed=number * 7, broken=broken))
            with guard.phase("work"):
                worker.work()


if __name__ == "__main__":
    main()
