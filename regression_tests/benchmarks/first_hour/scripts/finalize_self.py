"""Checkpoints in shared memory; a finalizer that means well keeps each of them alive."""
import sys
import time
import weakref
import numpy as np
from leakguard import LeakGuard

CLEAN = "clean" in sys.argv
open_slots = weakref.WeakValueDictionary()
released = []


class Checkpoint:
    def __init__(self, step, weights):
        self.step = step
        self.blob = weights.astype(np.float32)
        open_slots[step] = self
        if CLEAN:
            weakref.finalize(self, released.append, step)
        else:
            weakref.finalize(self, self.release)

    def release(self):
        released.append(self.step)


def train_step(w):
    return w - 0.001 * np.sign(w) * np.abs(w).mean()


guard = LeakGuard(out=f"s12.{'clean' if CLEAN else 'leaky'}.jsonl")
weights = np.random.default_rng(0).normal(size=120_000)
current = None
with guard:
    for step in range(30):
        for _ in range(20):
            weights = train_step(weights)
        current = Checkpoint(step, weights)
        guard.snapshot(f"checkpoint {step}")
print("open", len(open_slots), "released", len(released))
