"""Predictions of each epoch as a pandas frame, kept for a report that only needs the mean."""
import sys
import numpy as np
import pandas as pd
from leakguard import LeakGuard

CLEAN = "clean" in sys.argv


class Evaluator:
    def __init__(self):
        self.history = []

    def evaluate(self, epoch):
        frame = pd.DataFrame(np.random.rand(8_000, 6), columns=list("abcdef"))
        frame["label"] = np.random.randint(0, 5, len(frame))
        self.history.append(frame.mean() if CLEAN else frame.groupby("label").head(2_000))
        return frame.a.mean()


evaluator = Evaluator()
with LeakGuard(out=f"pandas_history{'_clean' if CLEAN else ''}.jsonl") as guard:
    for epoch in guard.generations(range(12)):
        with guard.phase("evaluate"):
            evaluator.evaluate(epoch)
