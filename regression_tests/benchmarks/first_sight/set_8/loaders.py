"""Train a softmax classifier from batches that two loader threads put in a queue."""
import queue
import sys
import threading
import time

import numpy as np

N_BATCHES = 180
BATCH = 64
DIM = 96
CLASSES = 10


class Batch:
    def __init__(self, index, x, y):
        self.index = index
        self.x = x
        self.y = y


class StepRecord:
    """What one training step computed, for the learning-curve plots."""

    def __init__(self, step, loss, batch, probs):
        self.step = step
        self.loss = loss
        self.batch = batch
        self.probs = probs
        self.per_sample = [{"sample": i, "p": float(p.max())} for i, p in enumerate(probs)]


class Loader(object):
    def __init__(self, indices, out):
        self.indices = indices
        self.out = out
        self.truth = np.random.default_rng(0).normal(size=(DIM, CLASSES))

    def __call__(self):
        for i in self.indices:
            rng = np.random.default_rng(i)
            time.sleep(0.05)  # disk
            x = rng.normal(size=(BATCH, DIM))
            y = (x @ self.truth).argmax(axis=1)
            self.out.put(Batch(i, x, y))
        self.out.put(None)


class Trainer:
    def __init__(self, keep_all):
        self.w = np.zeros((DIM, CLASSES))
        self.keep_all = keep_all
        self.records = []

    def step(self, n, batch):
        logits = batch.x @ self.w
        logits -= logits.max(axis=1, keepdims=True)
        probs = np.exp(logits)
        probs /= probs.sum(axis=1, keepdims=True)
        rows = np.arange(BATCH)
        loss = float(-np.log(probs[rows, batch.y] + 1e-12).mean())
        grad = probs.copy()
        grad[rows, batch.y] -= 1
        self.w -= 0.05 * batch.x.T @ grad / BATCH
        record = StepRecord(n, loss, batch, probs)
        self.records.append(record)
        if not self.keep_all:
            del self.records[:-10]
        return loss


def main():
    mode = sys.argv[1]
    q = queue.Queue(maxsize=8)
    threads = [threading.Thread(target=Loader(range(k, N_BATCHES, 2), q), daemon=True) for k in range(2)]
    for t in threads:
        t.start()
    trainer = Trainer(keep_all=mode == "leak")
    done, n, seen, losses = 0, 0, 0, []
    while done < 2:
        batch = q.get()
        if batch is None:
            done += 1
            continue
        losses.append(trainer.step(n, batch))
        time.sleep(0.015)
        n += 1
        seen += batch.index
    for t in threads:
        t.join()
    print("steps", n, "index sum", seen, "learned", np.mean(losses[-20:]) < np.mean(losses[:20]))


if __name__ == "__main__":
    main()

# /// truth
# about = "two loader threads feed a queue; the trainer keeps every step with its batch"
# [[leak]]
# type = ["StepRecord", "Batch"]
# holder = ["records"]
# line = ["record = StepRecord(n, loss, batch, probs)", "self.out.put(Batch(i, x, y))"]
# ///
