"""A training loop in main with a metrics thread beside it that reports every second."""
import json
import os
import sys
import tempfile
import threading
import time

import numpy as np


class Metric:
    def __init__(self, name, step, value, histogram):
        self.name, self.step, self.value, self.histogram = name, step, value, histogram
        self.tags = {"host": "train-0", "run": "exp7"}


class MetricsReporter(threading.Thread):
    def __init__(self, path, forget):
        super().__init__(daemon=True, name="metrics")
        self.path = path
        self.forget = forget
        self.pending = []
        self.sent = 0
        self.lock = threading.Lock()
        self.wake = threading.Event()
        self.closing = False

    def report(self, metrics):
        with self.lock:
            self.pending.extend(metrics)

    def run(self):
        while not self.closing:
            self.wake.wait(0.5)
            self.flush()

    def flush(self):
        with self.lock:
            if self.forget:
                fresh, self.pending = self.pending, []
            else:
                fresh = self.pending[self.sent:]
                self.sent = len(self.pending)
        with open(self.path, "w") as f:
            for m in fresh:
                f.write(json.dumps({"name": m.name, "step": m.step, "value": m.value}) + "\n")

    def close(self):
        self.closing = True
        self.wake.set()
        self.join()
        self.flush()


class Autoencoder:
    def __init__(self):
        rng = np.random.default_rng(5)
        self.params = {"enc": rng.normal(scale=0.1, size=(64, 24)), "dec": rng.normal(scale=0.1, size=(24, 64))}

    def train_step(self, x, lr=0.02):
        h = np.tanh(x @ self.params["enc"])
        r = h @ self.params["dec"]
        e = r - x
        g_dec = h.T @ e / len(x)
        g_enc = x.T @ ((e @ self.params["dec"].T) * (1 - h * h)) / len(x)
        self.params["dec"] -= lr * g_dec
        self.params["enc"] -= lr * g_enc
        return float((e * e).mean()), {"enc": g_enc, "dec": g_dec}


def main():
    mode = sys.argv[1]
    handle, path = tempfile.mkstemp(suffix=".jsonl")
    os.close(handle)
    reporter = MetricsReporter(path, forget=(mode != "leak"))
    reporter.start()
    model = Autoencoder()
    rng = np.random.default_rng(6)
    base = rng.normal(size=(24, 64))
    step = 0
    for epoch in range(12):
        for _ in range(25):
            x = np.tanh(rng.normal(size=(128, 24)) @ base)
            loss, grads = model.train_step(x)
            metrics = [Metric("loss", step, loss, None)]
            for name, g in grads.items():
                metrics.append(Metric("grad/" + name, step, float(np.linalg.norm(g)), g))
                metrics.append(Metric("weight/" + name, step, float(np.linalg.norm(model.params[name])),
                                      np.histogram(model.params[name], 500)))
            reporter.report(metrics)
            time.sleep(0.03)
            step += 1
        print(f"epoch {epoch} loss {loss:.4f}", flush=True)
    reporter.close()
    os.unlink(path)
    print("steps", step)


if __name__ == "__main__":
    main()

# /// truth
# about = "a training beside a thread that flushes metrics, which stay pending"
# [[leak]]
# type = ["Metric"]
# holder = ["pending"]
# line = ['metrics = [Metric("loss", step, loss, None)]', 'metrics.append(Metric("grad/" + name, step, float(np.linalg.norm(g)), g))', 'metrics.append(Metric("weight/" + name, step, float(np.linalg.norm(model.params[name])),']
# ///
