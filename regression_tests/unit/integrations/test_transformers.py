"""The Hugging Face Trainer runs the loop; its epochs are generations."""

from __future__ import annotations

import math

import pytest

pytest.importorskip("transformers", reason="transformers is not installed")
pytest.importorskip("accelerate", reason="accelerate is not installed")

import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

from leakguard import LeakGuard
from leakguard.integrations import division
from leakguard.integrations.transformers import LeakGuardCallback

pytestmark = pytest.mark.heavy  # for the framework alone: seconds to import, more to train

_TINY = BertConfig(
    vocab_size=50, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16
)


def train(folder, callback: LeakGuardCallback, epochs: int = 3, compute_metrics=None) -> None:
    rows = [{"input_ids": torch.arange(8), "labels": torch.tensor(row % 2)} for row in range(8)]
    args = TrainingArguments(
        str(folder), num_train_epochs=epochs, per_device_train_batch_size=4, eval_strategy="epoch",
        save_strategy="no", report_to=[], disable_tqdm=True, use_cpu=True, logging_strategy="no",
    )  # fmt: skip
    Trainer(
        BertForSequenceClassification(_TINY), args, train_dataset=rows, eval_dataset=rows,
        callbacks=[callback], compute_metrics=compute_metrics,
    ).train()  # fmt: skip


def test_epoch_is_a_generation_with_its_phases(tmp_path, monkeypatch):
    monkeypatch.setattr(division, "LONG_SECONDS", math.inf)
    guard = LeakGuard(report=None)
    train(tmp_path, LeakGuardCallback(guard))
    assert guard.run.generations == (1, 2, 3)
    assert set(guard.run.phases) == {"train", "evaluate"}
    assert guard.run.finished


def test_epoch_that_lasts_long_is_divided_and_evaluations_are_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(division, "LONG_SECONDS", 0.0)
    monkeypatch.setattr(division, "PART_SECONDS", 0.0)
    guard = LeakGuard(report=None)
    train(tmp_path, LeakGuardCallback(guard))
    ends = guard.run.generation_ends()
    assert len(ends) >= 6  # each epoch has two steps
    assert ends[-1].outer == {"epoch": 3, "evaluation": 3}
    assert set(guard.run.phases) == {"train", "evaluate"}


def test_so_many_optimizer_steps_are_a_generation(tmp_path):
    guard = LeakGuard(report=None)
    train(tmp_path, LeakGuardCallback(guard, every=2))
    assert guard.run.generations == (1, 2, 3)
    assert set(guard.run.phases) == {"train", "evaluate"}


def test_predictions_gathered_by_a_metric_are_told_in_phase_evaluate(tmp_path):
    kept = []

    def compute_metrics(prediction):
        kept.append((prediction.predictions, bytearray(1_000_000)))
        return {}

    guard = LeakGuard(report=None, max_overhead=None)
    train(tmp_path, LeakGuardCallback(guard), epochs=8, compute_metrics=compute_metrics)
    report = guard.report()
    assert report.verdict == "leak"
    named = {finding.held_by: finding.phase for finding in report.findings}
    assert [phase for holder, phase in named.items() if "kept" in (holder or "")] == ["evaluate"]
