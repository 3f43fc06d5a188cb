"""Lightning runs the loop; its epochs are generations."""

from __future__ import annotations

import logging
import math
import warnings

import pytest

pytest.importorskip("lightning", reason="lightning is not installed")

import torch
from lightning.pytorch import LightningModule, Trainer

from leakguard import LeakGuard
from leakguard.integrations import division
from leakguard.integrations.lightning import LeakGuardCallback

pytestmark = pytest.mark.heavy  # for the framework alone: seconds to import, more to train


class Regression(LightningModule):
    """One layer, trained and validated on the same numbers."""

    def __init__(self, keeps: bool = False, fails: bool = False):
        super().__init__()
        self.layer = torch.nn.Linear(8, 1)
        self.keeps, self.fails, self.predictions = keeps, fails, []

    def training_step(self, batch, batch_idx):
        if self.fails:
            raise ZeroDivisionError
        return self.layer(batch).square().mean()

    def validation_step(self, batch, batch_idx):
        if self.keeps:
            self.predictions.append(self.layer(batch).repeat(1, 100_000))

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01)

    def train_dataloader(self):
        return torch.utils.data.DataLoader(torch.ones(8, 8), batch_size=4)

    val_dataloader = train_dataloader


def fit(module: Regression, callback: LeakGuardCallback, epochs: int = 3, **settings) -> None:
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        Trainer(
            accelerator="cpu", max_epochs=epochs, callbacks=[callback], logger=False,
            enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
            **settings,
        ).fit(module)  # fmt: skip


def test_epoch_is_a_generation_with_its_phases(monkeypatch):
    monkeypatch.setattr(division, "LONG_SECONDS", math.inf)
    guard = LeakGuard(report=None)
    fit(Regression(), LeakGuardCallback(guard))
    assert guard.run.generations == (1, 2, 3)
    assert set(guard.run.phases) == {"train", "validate"}
    assert guard.run.finished


def test_epoch_that_lasts_long_is_divided_and_validations_are_counted(monkeypatch):
    monkeypatch.setattr(division, "LONG_SECONDS", 0.0)
    monkeypatch.setattr(division, "PART_SECONDS", 0.0)
    guard = LeakGuard(report=None)
    fit(Regression(), LeakGuardCallback(guard))
    ends = guard.run.generation_ends()
    assert len(ends) > 6
    assert ends[-1].outer == {"epoch": 3, "validation": 3}
    assert set(guard.run.phases) == {"train", "validate"}


def test_so_many_optimizer_steps_are_a_generation():
    guard = LeakGuard(report=None)
    fit(Regression(), LeakGuardCallback(guard, every=3))
    assert guard.run.generations == (1, 2)
    assert "train" in guard.run.phases


def test_training_that_raises_ends_the_run_and_raises_its_own():
    guard = LeakGuard(report=None)
    with pytest.raises(ZeroDivisionError):
        fit(Regression(fails=True), LeakGuardCallback(guard))
    assert guard.run.finished


def test_predictions_kept_in_validation_are_named_with_list_and_phase():
    guard = LeakGuard(report=None, max_overhead=None)
    fit(Regression(keeps=True), LeakGuardCallback(guard), epochs=8, num_sanity_val_steps=0)
    report = guard.report()
    assert report.verdict == "leak"
    assert any("Regression.predictions" in (finding.held_by or "") for finding in report.findings)
    assert {finding.phase for finding in report.findings} == {"validate"}
