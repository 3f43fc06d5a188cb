"""Scores candidate parameter vectors in a thread pool, main takes the results and moves the mean (CEM)."""
import argparse
import time
from concurrent.futures import ThreadPoolExecutor, as_completed

import numpy as np

ROUNDS = 90
POP = 8


def evaluate(index, theta):
    rng = np.random.default_rng(index)
    time.sleep(0.02 + 0.005 * (index % 3))
    path = theta + 0.1 * rng.normal(size=(60, theta.size))
    score = -float(((path - 1.5) ** 2).mean())
    return {"index": index, "theta": theta, "score": score, "path": path,
            "steps": [(i, float(p[0])) for i, p in enumerate(path)]}


class Search:
    def __init__(self, pool, leak):
        self.pool = pool
        self.leak = leak
        self.mean = np.zeros(24)
        self.futures = set()
        self.rng = np.random.default_rng(7)

    def round(self, n):
        batch = []
        for k in range(POP):
            theta = self.mean + 0.5 * self.rng.normal(size=24)
            f = self.pool.submit(evaluate, n * POP + k, theta)
            self.futures.add(f)  # so that close() can cancel what is open
            batch.append(f)
        results = []
        for f in as_completed(batch):
            results.append(f.result())
            if not self.leak:
                self.futures.discard(f)
        results.sort(key=lambda r: (-r["score"], r["index"]))
        elite = np.array([r["theta"] for r in results[:3]])
        self.mean = elite.mean(axis=0)
        return results[0]["score"]

    def close(self):
        for f in self.futures:
            f.cancel()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("mode", choices=["leak", "clean"])
    args = parser.parse_args()
    with ThreadPoolExecutor(max_workers=4) as pool:
        search = Search(pool, args.mode == "leak")
        curve = []
        for n in range(ROUNDS):
            curve.append(search.round(n))
            if n % 30 == 29:
                print(f"round {n + 1}: best {curve[-1]:.4f}")
        search.close()


if __name__ == "__main__":
    main()

# /// truth
# about = "a search whose pool of threads evaluates; the futures stay with their results"
# [[leak]]
# type = ["Future"]
# holder = ["futures"]
# line = ["f = self.pool.submit(evaluate, n * POP + k, theta)"]
# ///
