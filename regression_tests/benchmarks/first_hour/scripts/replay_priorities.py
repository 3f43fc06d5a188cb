"""Prioritised replay: the deque is bounded, the priorities beside it are not."""
import sys
from collections import deque
import numpy as np
from leakguard import LeakGuard

CLEAN = "clean" in sys.argv


class PrioritizedReplay:
    def __init__(self, capacity):
        self.items = deque(maxlen=capacity)
        self.priority = {}
        self.capacity = capacity
        self.serial = 0

    def add(self, transition):
        self.serial += 1
        self.items.append((self.serial, transition))
        self.priority[self.serial] = (1.0, [0.0] * 8)         # priority and the last eight TD errors
        if CLEAN:
            self.priority.pop(self.serial - self.capacity, None)

    def sample(self, n):
        chosen = [self.items[i] for i in np.random.randint(0, len(self.items), n)]
        return chosen

    def update(self, serial, td):
        if serial in self.priority:
            p, hist = self.priority[serial]
            self.priority[serial] = (abs(td) + 1e-3, hist[1:] + [td])


def main():
    buffer = PrioritizedReplay(20_000)
    q = np.zeros((16, 4))
    guard = LeakGuard(out=f"s22.{'clean' if CLEAN else 'leaky'}.jsonl")
    guard.gauge("replay_buffer", lambda: len(buffer.items), capacity=20_000)
    with guard:
        for it in guard.generations(range(1, 61)):
            with guard.phase("rollout"):
                for _ in range(1000):
                    s = np.random.randint(16)
                    buffer.add((s, np.random.randint(4), np.random.rand(), np.random.rand(12).astype(np.float32)))
            with guard.phase("train"):
                for serial, (s, a, r, _) in buffer.sample(2000):
                    td = r - q[s, a]
                    q[s, a] += 0.1 * td
                    buffer.update(serial, td)
    print(q.mean(), len(buffer.priority))


main()
