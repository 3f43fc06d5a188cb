"""A recurrent net on streams. Prefetch threads start at once; main needs seconds of set-up first."""
import sys
import threading
import time
from collections import deque

import numpy as np

MODE = sys.argv[1]
STEPS = 110


class Prefetcher:
    """Two threads keep a bounded buffer of sequences full."""

    def __init__(self, size=10):
        self.buffer = deque()
        self.size = size
        self.condition = threading.Condition()
        self.running = True
        self.threads = [threading.Thread(target=self.fill, args=(k,), daemon=True) for k in range(2)]
        for t in self.threads:
            t.start()

    def fill(self, seed):
        rng = np.random.default_rng(seed)
        while self.running:
            phase = rng.uniform(0, 6, (16, 1, 1))
            t = np.arange(20)[None, :, None] * 0.3
            sequence = np.sin(t + phase + np.arange(8) * 0.2) + 0.05 * rng.normal(size=(16, 20, 8))
            time.sleep(0.05)
            with self.condition:
                while len(self.buffer) >= self.size and self.running:
                    self.condition.wait(0.5)
                self.buffer.append(sequence)
                self.condition.notify_all()

    def next(self):
        with self.condition:
            while not self.buffer:
                self.condition.wait()
            item = self.buffer.popleft()
            self.condition.notify_all()
            return item

    def close(self):
        self.running = False
        with self.condition:
            self.condition.notify_all()
        for t in self.threads:
            t.join()


class Node:
    """One cell of the unrolled graph."""

    def __init__(self, x, h, prev):
        self.x, self.h, self.prev = x, h, prev


class RNN:
    def __init__(self):
        rng = np.random.default_rng(8)
        self.wx = rng.normal(scale=0.2, size=(8, 32))
        self.wh = rng.normal(scale=0.1, size=(32, 32))
        self.wo = rng.normal(scale=0.2, size=(32, 8))
        self.state = Node(None, np.zeros((16, 32)), None)

    def train(self, seq):
        state = self.state
        nodes = []
        loss = 0.0
        for t in range(seq.shape[1] - 1):
            h = np.tanh(seq[:, t] @ self.wx + state.h @ self.wh)
            state = Node(seq[:, t], h, state)
            nodes.append(state)
        g_o, g_x, g_h = np.zeros_like(self.wo), np.zeros_like(self.wx), np.zeros_like(self.wh)
        for t, node in reversed(list(enumerate(nodes))):
            e = node.h @ self.wo - seq[:, t + 1]
            loss += float((e * e).mean())
            g_o += node.h.T @ e
            d = (e @ self.wo.T) * (1 - node.h ** 2)
            g_x += node.x.T @ d
            g_h += node.prev.h.T @ d
        scale = 0.002 / 16
        self.wo -= scale * g_o
        self.wx -= scale * g_x
        self.wh -= scale * g_h
        # carry the state over; "calm" detaches it
        self.state = state if MODE == "leak" else Node(None, state.h, None)
        return loss / len(nodes)


def build_vocabulary():
    """The slow set-up: statistics over the archive."""
    rng = np.random.default_rng(1)
    mean = np.zeros(8)
    table = {}
    for part in range(20):
        chunk = rng.normal(size=(2000, 8))
        mean += chunk.mean(0)
        for k in range(150):
            table[f"{part}/{k}"] = chunk[k].tolist()
        time.sleep(0.18)
    return mean / 20, table


def main():
    prefetcher = Prefetcher()
    mean, table = build_vocabulary()
    print("set up", len(table), flush=True)
    rnn = RNN()
    for step in range(STEPS):
        loss = rnn.train(prefetcher.next() - mean)
        time.sleep(0.04)
        if step % 40 == 39:
            print("step", step + 1, "ok" if np.isfinite(loss) else "diverged", flush=True)
    prefetcher.close()
    print("finished")


if __name__ == "__main__":
    main()

# /// truth
# about = "twenty rounds of set-up while threads prefetch; then a recurrent net whose state is never detached"
# [[leak]]
# type = ["Node"]
# holder = ["state", "prev"]
# line = ["state = Node(seq[:, t], h, state)"]
# ///
