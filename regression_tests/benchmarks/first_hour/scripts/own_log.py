"""A trainer that only prints its own lines; the log is all there is afterwards."""
import sys
import psutil
import numpy as np

CLEAN = "clean" in sys.argv
checkpoints = []
for epoch in range(1, 13):
    weights = np.random.rand(500, 1000)
    for _ in range(3):
        weights = np.tanh(weights)
    if CLEAN:
        checkpoints.clear()
    checkpoints.append(weights.copy())
    ram = psutil.Process().memory_info().rss / 2**30
    print(f"[Epoch {epoch}/12] loss={1 / epoch:.4f} lr=1.0e-03")
    print(f"  RAM: {ram:.4f} GB, checkpoints in memory: {len(checkpoints)}")
