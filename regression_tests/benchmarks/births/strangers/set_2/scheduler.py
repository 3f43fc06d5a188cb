"""A job scheduler: plans jobs with deadlines, executes them under spans, writes reports."""
import contextvars
import hashlib
import multiprocessing
import random
import sched
import sys
import time
from collections import Counter, deque

from leakguard import LeakGuard

BROKEN = sys.argv[1] == "leak"
rng = random.Random(17)
current_span = contextvars.ContextVar("current_span", default=None)
deadlines = sched.scheduler(time.monotonic, time.sleep)


class Job:
    def __init__(self, number):
        self.number = number
        self.payload = rng.randbytes(50_000)
        self.state = "new"

    def expire(self):
        self.state = "expired"


class Span:
    def __init__(self, name, parent):
        self.name = name
        self.parent = parent
        self.tags = {f"tag{i}": f"{name}/{i}" for i in range(150)}


def plan(number):
    job = Job(number)
    job.ticket = deadlines.enter(3600, 1, job.expire)
    return job


def child(conn, data):
    conn.send(hashlib.blake2b(data).hexdigest())
    conn.close()


def execute(job):
    span = Span(f"job-{job.number}", current_span.get())
    token = current_span.set(span)
    digest = b""
    for _ in range(150):
        digest = hashlib.sha256(job.payload + digest).digest()
    if job.number % 24 == 0:
        context = multiprocessing.get_context("fork")
        here, there = context.Pipe()
        process = context.Process(target=child, args=(there, job.payload))
        process.start()
        there.close()
        here.recv()
        here.close()
        process.join()
        process.close()
    job.state = "done"
    if not BROKEN:
        current_span.reset(token)
        deadlines.cancel(job.ticket)
        job.ticket = None
    return digest.hex()


def report(job, digest, verbose, lines=[]):
    if not BROKEN:
        lines = []
    if verbose:
        for i in range(0, len(digest), 2):
            lines.append(f"job {job.number:06d} octet {i:02d} = {digest[i:i + 2]} state {job.state}" + " " * 100)
    return len(lines)


def main():
    states = Counter()
    last = deque(maxlen=10)
    guard = LeakGuard(out=sys.argv[2])
    with guard:
        for turn in guard.generations(range(1, 73)):
            jobs = []
            with guard.phase("plan"):
                jobs += [plan(turn * 4 + k) for k in range(4)]
            with guard.phase("execute"):
                digests = [execute(job) for job in jobs]
            with guard.phase("report"):
                for job, digest in zip(jobs, digests):
                    report(job, digest, turn % 3 == 0 and turn > 20)
                    states[job.state] += 1
                    last.append(digest)
            time.sleep(0.005)
    print(dict(states), last[-1][:8])


if __name__ == "__main__":
    main()
