"""A ContextVar with the trace of a request: set, never reset, each value holding the one before."""
import contextvars
import sys
from leakguard import LeakGuard

CLEAN = "clean" in sys.argv


class Span:
    def __init__(self, name, parent):
        self.name, self.parent = name, parent
        self.events = [f"{name}:{k}" for k in range(200)]


current = contextvars.ContextVar("current", default=None)


def handle(name):
    token = current.set(Span(name, current.get()))
    total = sum(len(event) for event in current.get().events)
    if CLEAN:
        current.reset(token)
    return total


def serve_batch(batch):
    return sum(handle(f"request-{batch}-{k}") for k in range(40))


with LeakGuard(out=f"request_context{'_clean' if CLEAN else ''}.jsonl") as guard:
    for batch in guard.generations(range(12)):
        with guard.phase("serve"):
            serve_batch(batch)
