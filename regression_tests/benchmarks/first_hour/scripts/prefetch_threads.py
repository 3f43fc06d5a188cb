"""Prefetching: a thread per epoch that waits for ever on its own full queue."""
import queue
import sys
import threading
import time
import numpy as np
from leakguard import LeakGuard

CLEAN = "clean" in sys.argv


class Prefetcher:
    def __init__(self, data, batch, depth=4):
        self.q = queue.Queue(maxsize=depth)
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self._run, args=(data, batch), daemon=True)
        self.thread.start()

    def _run(self, data, batch):
        order = np.random.permutation(len(data))
        for i in range(0, len(order), batch):
            chunk = data[order[i:i + batch]].copy()
            while not self.stop.is_set():
                try:
                    self.q.put(chunk, timeout=0.05 if CLEAN else None)
                    break
                except queue.Full:
                    continue
            if self.stop.is_set():
                return

    def __iter__(self):
        return self

    def __next__(self):
        return self.q.get()

    def close(self):
        self.stop.set()
        self.thread.join()


def main():
    data = np.random.rand(4000, 100)
    w = np.zeros(100)
    guard = LeakGuard(out=f"s13.{'clean' if CLEAN else 'leaky'}.jsonl")
    with guard:
        for epoch in guard.generations(range(20)):
            with guard.phase("load"):
                loader = Prefetcher(data, 200)
            with guard.phase("train"):
                for i, batch in enumerate(loader):
                    w += 1e-4 * batch.mean(0)
                    time.sleep(0.003)
                    if i == 8:        # early stop: half of an epoch is enough
                        break
            if CLEAN:
                loader.close()
    print(w.sum(), threading.active_count())


main()
