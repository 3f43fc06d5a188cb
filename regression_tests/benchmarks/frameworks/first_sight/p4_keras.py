"""A Keras regression; a callback keeps the worst samples, for a look after the training."""
import os
import sys

os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy as np
import torch

from leakguard import LeakGuard
from leakguard.integrations.keras import LeakGuardCallback

MODE = sys.argv[1]
torch.set_num_threads(1)


class WorstSamples(keras.callbacks.Callback):
    def __init__(self, x, y, keep=3):
        super().__init__()
        self.x, self.y, self.keep = x, y, keep
        self.by_epoch = {}

    def on_epoch_end(self, epoch, logs=None):
        error = np.abs(self.model.predict(self.x, batch_size=256, verbose=0)[:, 0] - self.y)
        order = np.argsort(error)[-100:]
        self.by_epoch[epoch] = {"mean": float(error.mean()),
                                "samples": self.x[order],
                                "errors": error[order]}
        if MODE == "clean":
            while len(self.by_epoch) > self.keep:
                del self.by_epoch[min(self.by_epoch, key=lambda e: self.by_epoch[e]["mean"])]


keras.utils.set_random_seed(7)
rng = np.random.default_rng(7)
x = rng.normal(size=(2048, 24)).astype("float32")
y = np.sin(x[:, 0]) * x[:, 1] + 0.1 * x[:, 2:].sum(1)
model = keras.Sequential([keras.layers.Input((24,)), keras.layers.Dense(64, "relu"), keras.layers.Dense(64, "relu"),
                          keras.layers.Dense(1)])
model.compile("adam", "mse")
worst = WorstSamples(x, y)
guard = LeakGuard(out=f"runs/first_sight/p4-{MODE}.jsonl")
history = model.fit(x, y, epochs=24, batch_size=64, verbose=0, callbacks=[worst, LeakGuardCallback(guard)])
print("RESULT", history.history["loss"][-1], max(e["mean"] for e in worst.by_epoch.values()))
