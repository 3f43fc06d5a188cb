"""Runs jobs in contexts of their own and keeps a short audit."""
import contextvars
import sys
import zlib
from collections import deque

from leakguard import LeakGuard

FIXED = sys.argv[1] == "fixed"
request = contextvars.ContextVar("request")
tenant = contextvars.ContextVar("tenant", default="none")


class JobRunner:
    def __init__(self):
        self.contexts = deque(maxlen=8) if FIXED else deque()
        self.audit = deque(maxlen=200)

    def submit(self, number):
        context = contextvars.copy_context()
        context.run(self.prepare, number)
        self.contexts.append(context)
        return context.run(self.execute)

    def prepare(self, number):
        tenant.set(f"tenant-{number % 7}")
        request.set({"number": number, "body": [number * step for step in range(2500)]})

    def execute(self):
        payload = request.get()
        raw = ",".join(map(str, payload["body"])).encode()
        checksum = 0
        for _ in range(14):
            checksum = zlib.crc32(zlib.compress(raw, 9), checksum)
        self.audit.append((tenant.get(), payload["number"], checksum))
        return checksum


runner = JobRunner()
guard = LeakGuard(out=sys.argv[2])
with guard:
    for turn in guard.generations(range(200)):
        with guard.phase("jobs"):
            last = [runner.submit(turn * 2 + part) for part in range(2)]
print("audit", len(runner.audit), "last", last)
