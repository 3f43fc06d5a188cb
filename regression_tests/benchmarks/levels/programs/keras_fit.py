"""Keras 3 on torch: a small model that keeps what it should not, by batch, validation or epoch."""

from __future__ import annotations

import os
import warnings

os.environ["KERAS_BACKEND"] = "torch"

import keras
import numpy as np
import torch

from regression_tests.benchmarks.levels.plan import (
    BATCHES,
    EPOCHS,
    EVALUATIONS,
    LEVEL,
    STEPS,
    callbacks,
    leaks,
    wait,
)


class Curves(keras.callbacks.Callback):
    """Keeps the logs of each batch to draw a curve."""

    def __init__(self):
        super().__init__()
        self.curve = []

    def on_train_batch_end(self, batch, logs=None):
        wait()
        if leaks("step"):
            self.curve.append(np.full(5_000, logs["loss"], dtype="float32"))  # MADE HERE step


class Film(keras.callbacks.Callback):
    """Keeps predictions of every validation, for a film of how they change."""

    def __init__(self):
        super().__init__()
        self.predictions = []

    def on_test_end(self, logs=None):
        prediction = self.model.predict_on_batch(SOME)
        self.predictions.append(np.repeat(prediction, 4_000, axis=1))  # MADE HERE evaluation
        if not leaks("evaluation"):
            self.predictions.clear()


class History(keras.callbacks.Callback):
    """Keeps weights of every epoch."""

    def __init__(self):
        super().__init__()
        self.weights = []

    def on_epoch_end(self, epoch, logs=None):
        if leaks("epoch"):
            weights = self.model.get_weights()[0]
            self.weights.append(np.repeat(weights, 128, axis=0))  # MADE HERE epoch


SOME = np.random.rand(256, 32).astype("float32")


def rows(batches: int) -> tuple[np.ndarray, np.ndarray]:
    """Return so many batches of random rows, and what to predict of them."""
    number = 16 * batches
    return np.random.rand(number, 32).astype("float32"), np.random.rand(number, 1).astype("float32")


def main() -> None:
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    model = keras.Sequential(
        [keras.layers.Input((32,)), keras.layers.Dense(128, "relu"), keras.layers.Dense(1)]
    )
    model.compile("sgd", "mse")
    evaluates = LEVEL == "evaluation"
    epochs = EVALUATIONS if evaluates else EPOCHS  # fit() validates at the end of an epoch
    x, y = rows(STEPS // epochs)
    more = [Film()] if evaluates else []
    model.fit(
        x, y, epochs=epochs, batch_size=16, verbose=0,
        validation_data=rows(BATCHES) if evaluates else None,
        callbacks=[*callbacks("keras"), Curves(), History(), *more],
    )  # fmt: skip


if __name__ == "__main__":
    main()
