"""Keras 3 on torch: a small model with validation, and callbacks as users write them."""

from __future__ import annotations

import os
import warnings

os.environ["KERAS_BACKEND"] = "torch"

import keras
import numpy as np
import torch

from leakguard.integrations.keras import LeakGuardCallback
from regression_tests.benchmarks.frameworks.tools import generations, mistake, tool

X, Y = np.random.rand(256, 32).astype("float32"), np.random.rand(256, 1).astype("float32")


class Gathered(keras.callbacks.Callback):
    """Predictions of every epoch, for a film of how they change."""

    def __init__(self):
        super().__init__()
        self.predictions = []

    def on_test_end(self, logs=None):
        prediction = self.model.predict_on_batch(X)
        self.predictions.append(np.repeat(prediction, 200, axis=1))  # MADE HERE


class WeightHistory(keras.callbacks.Callback):
    """Weights of every epoch."""

    def __init__(self):
        super().__init__()
        self.weights = []

    def on_epoch_end(self, epoch, logs=None):
        self.weights.append([np.array(w) for w in self.model.get_weights()])  # MADE HERE


class Seen(keras.metrics.Metric):
    """A metric over all predictions, whose reset forgets its list."""

    def __init__(self):
        super().__init__(name="seen")
        self.values = []

    def update_state(self, y_true, y_pred, sample_weight=None):
        if not y_pred.is_meta:  # Keras asks once for the shape only
            self.values.append(y_pred.detach().repeat(1, 500))  # MADE HERE

    def result(self):
        return sum(value.mean() for value in self.values[-8:]) / 8

    def reset_state(self):
        if mistake() == "healthy":
            self.values.clear()


def main() -> None:
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    model = keras.Sequential(
        [keras.layers.Input((32,)), keras.layers.Dense(64, "relu"), keras.layers.Dense(1)]
    )
    metrics = [Seen()] if mistake() == "metric-never-reset" else []
    model.compile("adam", "mse", metrics=metrics)
    more = {"gathered": [Gathered()], "weights-kept": [WeightHistory()]}.get(mistake(), [])
    model.fit(
        X, Y, epochs=generations(), batch_size=32, verbose=0, validation_data=(X, Y),
        callbacks=[LeakGuardCallback(tool()), *more],
    )  # fmt: skip


if __name__ == "__main__":
    main()
