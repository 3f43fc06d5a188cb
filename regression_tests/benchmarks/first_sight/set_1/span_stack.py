"""A request handler with home-made tracing: the open spans are a stack in a context variable."""
# /// truth
# about = "answers from the cache leave early, past the reset of the context variable; the stack of spans grows"
# [[leak]]
# type = "Span"
# holder = "span_stack"
# start = 1
# within = 2
# kind = "instances"
# ///
import contextvars
import json
import os
import random
import sys
import time
from dataclasses import dataclass, field

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
GENERATIONS = 220

span_stack = contextvars.ContextVar("span_stack", default=())


@dataclass(slots=True)
class Span:
    name: str
    begun: float
    attributes: dict = field(default_factory=dict)
    events: list = field(default_factory=list)

    def note(self, text):
        self.events.append((time.perf_counter(), text))


def start_span(name, **attributes):
    span = Span(name, time.perf_counter(), attributes)
    return span, span_stack.set(span_stack.get() + (span,))


documents = {
    key: json.dumps({"key": key, "rows": [{"n": n, "text": f"row {n} of {key}"} for n in range(60)]})
    for key in range(50)
}
hot = {}


def handle(key):
    span, token = start_span("handle", key=key, agent=f"client-{key}")
    span.note(f"lookup {key}")
    if key in hot:
        span.note("hit")
        if not LEAK:
            span_stack.reset(token)
        return hot[key]
    try:
        for _ in range(6):
            body = json.loads(documents[key])
            answer = json.dumps(body, sort_keys=True)
        span.note("loaded")
        return answer
    finally:
        span_stack.reset(token)


def main():
    chance = random.Random(77)
    for key in range(4):
        hot[key] = handle(key)
    guard = LeakGuard(out=os.environ["RUN_FILE"])
    with guard:
        for second in guard.generations(range(1, GENERATIONS + 1)):
            for _ in range(80):
                handle(chance.randrange(50))


main()
