"""Episodes are handed to a writer thread through a queue; the writer ended at its first bad record."""
import queue
import sys
import threading
import time
import numpy as np
from leakguard import LeakGuard, phase

CLEAN = "clean" in sys.argv
outbox = queue.Queue()


def writer():
    written = 0
    while True:
        episode = outbox.get()
        if episode is None:
            return
        if not CLEAN and written == 3:
            return  # a swallowed error
        written += 1
        episode["rewards"].mean()


def rollout(seed):
    rng = np.random.default_rng(seed)
    return {"rewards": rng.random(5_000), "states": rng.random((200, 64)), "seed": seed}


@phase("collect")
def collect(iteration):
    for k in range(8):
        outbox.put(rollout(8 * iteration + k))
    time.sleep(0.03)


thread = threading.Thread(target=writer, name="metrics-writer", daemon=True)
thread.start()
with LeakGuard(out=f"metrics_queue{'_clean' if CLEAN else ''}.jsonl") as guard:
    for iteration in guard.generations(range(12)):
        collect(iteration)
outbox.put(None)
