"""A tick-driven job runner: jobs with heartbeats, time limits and a log per job."""
import hashlib
import heapq
import itertools
import logging
import logging.handlers
import os
import random
import sys
import threading
from collections import deque

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from leakguard import LeakGuard

TIDY = sys.argv[1] == "fixed"
TICKS = 90
QUEUES = ("mail", "thumbs", "export")
SLOW_HOST_FROM = 34


class Job:
    def __init__(self, number, queue, rng):
        self.number = number
        self.queue = queue
        self.table = rng.normal(size=(60, 80))
        self.limit = 1
        self.done = False
        self.result = None


class Heartbeat:
    """Renews a job's lease from the side, until it is told to stop."""

    def __init__(self, job):
        self.job = job
        self.renewals = 0
        self.stopped = threading.Event()
        self.snapshot = np.repeat(job.table, 4, axis=0)
        self.thread = threading.Thread(target=self.beat, daemon=True)
        self.thread.start()

    def beat(self):
        while not self.stopped.wait(20.0):
            self.renewals += int(self.snapshot.shape[0] > 0)

    def stop(self):
        self.stopped.set()
        self.thread.join()


class Runner:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.names = random.Random(seed)
        self.numbers = itertools.count(1)
        self.pending = deque()
        self.limits = []
        self.finished = deque(maxlen=40)
        self.late = 0
        self.totals = np.zeros(64)

    def log_for(self, job):
        name = f"runner.{job.queue}" if TIDY else f"runner.{job.queue}.{job.number}"
        log = logging.getLogger(name)
        if not log.handlers:
            log.setLevel(logging.INFO)
            log.propagate = False
            log.addHandler(logging.handlers.MemoryHandler(120, logging.CRITICAL, logging.NullHandler()))
        return log

    def submit(self, tick):
        for queue in QUEUES:
            job = Job(next(self.numbers), queue, self.rng)
            if queue == "thumbs" and tick >= SLOW_HOST_FROM:
                job.limit = 7200
            self.pending.append(job)
            heapq.heappush(self.limits, (tick + job.limit, job.number, job))

    def expire(self, tick):
        if TIDY:
            self.limits = [entry for entry in self.limits if not entry[2].done]
            heapq.heapify(self.limits)
        while self.limits and self.limits[0][0] <= tick:
            _, _, job = heapq.heappop(self.limits)
            if not job.done:
                self.late += 1

    def execute(self, job):
        heart = Heartbeat(job)
        log = self.log_for(job)
        work = job.table
        for step in range(16):
            work = np.tanh(work @ work.T / 60.0) @ job.table
            digest = hashlib.sha256(work.tobytes() * 6).hexdigest()
            log.info("job %s step %s of 16: digest %s norm %.3f", job.number, step, digest, float(np.abs(work).mean()))
            spectrum = np.linalg.svd(work, compute_uv=False) + np.linalg.svd(work.T @ work, compute_uv=False)[:60]
        job.result = np.resize(spectrum, 64)
        if job.queue == "export":
            self.totals += np.cumsum(job.result)
            if TIDY:
                heart.stop()
            return
        self.totals += job.result
        heart.stop()

    def work(self):
        done = []
        while self.pending:
            job = self.pending.popleft()
            self.execute(job)
            job.done = True
            done.append(job)
        return done

    def collect(self, jobs):
        for job in jobs:
            self.finished.append((job.number, job.queue, job.result))
        frame = np.sort(np.stack([result for _, _, result in self.finished]), axis=0)
        return float(np.median(frame[:, 0]))


def main():
    runner = Runner(5)
    guard = LeakGuard(out=sys.argv[2])
    with guard:
        for tick in guard.generations(range(1, TICKS + 1)):
            with guard.phase("schedule"):
                runner.expire(tick)
                runner.submit(tick)
            with guard.phase("work"):
                jobs = runner.work()
            with guard.phase("collect"):
                median = runner.collect(jobs)
            if tick % 30 == 0:
                print(f"tick {tick}: {jobs[-1].number} jobs, {runner.late} late, median {median:.3f}, "
                      f"total {runner.totals.sum():.1f}")


if __name__ == "__main__":
    main()
