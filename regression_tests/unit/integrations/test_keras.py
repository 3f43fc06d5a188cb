"""Keras runs the loop; its epochs are generations."""

from __future__ import annotations

import math
import os

import pytest

os.environ.setdefault("KERAS_BACKEND", "torch")
pytest.importorskip("keras", reason="keras is not installed")

import keras
import numpy as np

from leakguard import LeakGuard
from leakguard.integrations import division
from leakguard.integrations.keras import LeakGuardCallback

pytestmark = pytest.mark.heavy  # for the framework alone: seconds to import, more to train

_X, _Y = np.ones((16, 4), "float32"), np.ones((16, 1), "float32")


class Gathered(keras.callbacks.Callback):
    """What many write: predictions of every epoch, for a plot at the end."""

    def __init__(self):
        super().__init__()
        self.predictions = []

    def on_test_end(self, logs=None):
        self.predictions.append(np.repeat(self.model.predict_on_batch(_X), 100_000, axis=1))


def fit(*callbacks, epochs: int = 3) -> None:
    model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(
        _X, _Y, epochs=epochs, batch_size=8, verbose=0, validation_data=(_X, _Y),
        callbacks=list(callbacks),
    )  # fmt: skip


def test_epoch_is_a_generation_with_its_phases(monkeypatch):
    monkeypatch.setattr(division, "LONG_SECONDS", math.inf)
    guard = LeakGuard(report=None)
    fit(LeakGuardCallback(guard))
    assert guard.run.generations == (1, 2, 3)
    assert set(guard.run.phases) == {"train", "evaluate"}
    assert guard.run.finished


def test_epoch_that_lasts_long_is_divided_and_validations_are_counted(monkeypatch):
    monkeypatch.setattr(division, "LONG_SECONDS", 0.0)
    monkeypatch.setattr(division, "PART_SECONDS", 0.0)
    guard = LeakGuard(report=None)
    fit(LeakGuardCallback(guard))
    ends = guard.run.generation_ends()
    assert len(ends) > 6
    assert ends[-1].outer == {"epoch": 3, "evaluation": 3}
    assert set(guard.run.phases) == {"train", "evaluate"}


def test_callback_keeps_no_model():
    callback = LeakGuardCallback(LeakGuard(report=None))
    fit(callback)
    assert callback.model is None


def test_so_many_batches_are_a_generation():
    guard = LeakGuard(report=None)
    fit(LeakGuardCallback(guard, every=3))
    assert guard.run.generations == (1, 2)


def test_predictions_of_every_epoch_are_named_with_their_list():
    guard = LeakGuard(report=None, max_overhead=None)
    fit(Gathered(), LeakGuardCallback(guard), epochs=8)
    report = guard.report()
    assert report.verdict == "leak"
    assert "Gathered.predictions" in report.findings[0].held_by
    assert report.findings[0].phase == "evaluate"
