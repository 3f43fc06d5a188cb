"""An asynchronous gateway: requests carry a trace in a context variable, audits run later."""
import asyncio
import contextvars
import os
import random
import sys
from collections import deque

from leakguard import LeakGuard

MODE = sys.argv[1] if len(sys.argv) > 1 else "fixed"
ROUNDS = 25
current_trace = contextvars.ContextVar("current_trace", default=None)


class Span:
    __slots__ = ("name", "start", "tags")

    def __init__(self, name, start, tags):
        self.name = name
        self.start = start
        self.tags = tags


class Trace:
    """What happened during one request."""

    def __init__(self, request_id):
        self.request_id = request_id
        self.spans = []

    def add(self, name, start):
        tags = {"request": self.request_id, "at": f"{name}@{start:.6f}"}
        self.spans.append(Span(name, start, tags))


class AuditQueue:
    """Audits are put off until the replies are out, each in the context of its request."""

    def __init__(self):
        self.pending = []
        self.done = 0
        self.suspicious = 0

    def defer(self, job):
        self.pending.append((contextvars.copy_context(), job))

    def flush(self):
        for context, job in self.pending[self.done:]:
            self.suspicious += context.run(job)
            self.done += 1
        if MODE == "fixed":
            self.pending.clear()
            self.done = 0


class Upstream:
    """Answers requests. Answers for a key are kept; there are few keys."""

    def __init__(self):
        self.known = {}
        self.latency = deque(maxlen=200)

    async def ask(self, key, rng):
        delay = rng.random() * 0.002
        self.latency.append(delay)
        await asyncio.sleep(delay)
        if key not in self.known:
            self.known[key] = [rng.random() for _ in range(1000)]
        return self.known[key]


def start_trace(request_id):
    trace = Trace(request_id)
    current_trace.set(trace)
    return trace


def audit():
    trace = current_trace.get()
    slow = [span for span in trace.spans if span.start > 0.999]
    return len(slow) > 4


class Gateway:
    def __init__(self):
        self.upstream = Upstream()
        self.audits = AuditQueue()
        self.rng = random.Random(31)

    async def handle(self, request_id):
        trace = start_trace(request_id)
        answer = await self.upstream.ask(request_id * 7 % 40, self.rng)
        for index in range(100):
            trace.add(f"step-{index % 9}", answer[index] if index else self.rng.random())
        self.audits.defer(audit)
        return sum(answer)

    async def serve(self, first, count):
        tasks = [asyncio.create_task(self.handle(first + i)) for i in range(count)]
        return await asyncio.gather(*tasks)


def main():
    gateway, total = Gateway(), 0.0
    loop = asyncio.new_event_loop()
    guard = LeakGuard(out=os.environ.get("OUT", "run.jsonl"))
    with guard:
        for number in guard.generations(range(ROUNDS)):
            with guard.phase("serve"):
                for block in range(6):
                    total += sum(loop.run_until_complete(gateway.serve(number * 60 + block * 2, 2)))
                loop.run_until_complete(asyncio.sleep(0.06))
            with guard.phase("audit"):
                gateway.audits.flush()
    loop.close()
    print(f"total {total:.1f}, {len(gateway.upstream.known)} keys, {gateway.audits.suspicious} suspicious")


if __name__ == "__main__":
    main()
