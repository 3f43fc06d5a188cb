"""A thread augments batches for the loop and remembers what it has done."""

# /// truth
# about = "a worker thread keeps every finished job for a statistic that only needs their times"
# [[leak]]
# type = "Job"
# holder = ["done", "Augmenter"]
# phase = ["submit", "augment"]
# start = 1
# ///
import os
import queue
import sys
import threading
import time

import numpy as np

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
rng = np.random.default_rng(11)


class Job:
    def __init__(self, number: int, images: np.ndarray) -> None:
        self.number = number
        self.images = images
        self.result = queue.Queue(maxsize=1)
        self.seconds = 0.0


class Augmenter(threading.Thread):
    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.jobs: queue.Queue = queue.Queue()
        self.done: list = []

    def run(self) -> None:
        while (job := self.jobs.get()) is not None:
            begun = time.perf_counter()
            flipped = np.ascontiguousarray(job.images[:, ::-1])
            job.result.put(flipped + rng.normal(0, 0.01, flipped.shape).astype(np.float32))
            job.images = None
            job.seconds = time.perf_counter() - begun
            self.done.append(job if LEAK else job.seconds)
            if not LEAK:
                del self.done[:-100]


worker = Augmenter()
worker.start()
guard = LeakGuard(out=os.environ["RUN_FILE"])
weights = rng.standard_normal((32 * 32, 64)).astype(np.float32)
with guard:
    for step in guard.generations(range(1, 401)):
        with guard.phase("submit"):
            jobs = [Job(step * 4 + k, rng.random((16, 32, 32), dtype=np.float32)) for k in range(4)]
            for job in jobs:
                worker.jobs.put(job)
        with guard.phase("train"):
            for job in jobs:
                batch = job.result.get().reshape(16, -1)
                weights -= 1e-5 * batch.T @ (batch @ weights)
        jobs = job = None
worker.jobs.put(None)
worker.join()
