"""A tracer remembers the current span in a context variable."""

# /// truth
# about = "a context variable is set to a new span whose parent is the last one, and never reset"
# [[leak]]
# type = "Span"
# holder = ["current_span", "parent", "Context"]
# phase = "serve"
# start = 1
# ///
import contextvars
import os
import sys
import time
from contextlib import contextmanager

import numpy as np

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
rng = np.random.default_rng(2)
current_span: contextvars.ContextVar = contextvars.ContextVar("current_span", default=None)


class Span:
    __slots__ = ("name", "parent", "begun", "attributes")

    def __init__(self, name, parent):
        self.name, self.parent, self.begun = name, parent, time.time()
        self.attributes = {}


@contextmanager
def span(name, **attributes):
    one = Span(name, current_span.get())
    one.attributes.update(attributes)
    token = current_span.set(one)
    try:
        yield one
    finally:
        if not LEAK:
            current_span.reset(token)


def infer(features, weights):
    hidden = features
    for weight in weights:
        hidden = np.maximum(hidden @ weight, 0)
    return hidden


weights = [rng.standard_normal((128, 128)) * 0.1 for _ in range(6)]
guard = LeakGuard(out=os.environ["RUN_FILE"])
with guard:
    for batch in guard.generations(range(1, 501)):
        with guard.phase("load"):
            features = rng.standard_normal((200, 128))
        with guard.phase("serve"), span("request", batch=batch, size=len(features)):
            infer(features, weights)
        with guard.phase("score"):
            float(np.linalg.norm(features[:100] @ features[:100].T))
