"""Bad batches are collected with their exception, whose traceback holds the frame and the batch in it."""
import sys
import numpy as np
from leakguard import LeakGuard

CLEAN = "clean" in sys.argv
failures = []


def normalise(batch):
    scratch = batch * 2.0
    if not np.isfinite(scratch).all():
        raise ValueError("not finite")
    return scratch


def load_batch(step):
    batch = np.random.rand(256, 200)
    if step % 5 == 0:
        batch[0, 0] = np.nan
    return batch


def train_steps(start, n):
    for step in range(start, start + n):
        batch = load_batch(step)
        try:
            normalise(batch)
        except ValueError as error:
            failures.append(str(error) if CLEAN else error)


guard = LeakGuard(out=f"kept_errors{'_clean' if CLEAN else ''}.jsonl")
step = 0
with guard:
    while step < 250:
        train_steps(step, 25)
        step += 25
        guard.snapshot(f"step {step}")
