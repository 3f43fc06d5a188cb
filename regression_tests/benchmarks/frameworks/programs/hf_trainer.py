"""Hugging Face Trainer: a tiny BERT made in code, and what users add to a fine-tuning."""

from __future__ import annotations

import copy
import tempfile

import torch
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)

from leakguard.integrations.transformers import LeakGuardCallback
from regression_tests.benchmarks.frameworks.tools import generations, mistake, tool

TINY = BertConfig(
    vocab_size=500, hidden_size=64, num_hidden_layers=2, num_attention_heads=2,
    intermediate_size=64,
)  # fmt: skip
all_predictions = []


def compute_metrics(prediction):
    """Gathers the predictions of every evaluation."""
    if mistake() == "predictions-kept":
        logits = prediction.predictions.repeat(2_000, axis=1)  # MADE HERE
        all_predictions.append((logits, prediction.label_ids))
    return {"accuracy": float((prediction.predictions.argmax(1) == prediction.label_ids).mean())}


class KeepsLoss(Trainer):
    """Keeps the loss of each step to draw a curve, graph and all."""

    losses = []  # noqa: RUF012 - as users write it

    def compute_loss(self, model, inputs, **kwargs):
        loss = super().compute_loss(model, inputs, **kwargs)  # MADE HERE
        self.losses.append(loss)
        return loss


class KeepsBest(TrainerCallback):
    """Keeps a copy of the weights of every epoch "to choose the best later"."""

    def __init__(self):
        self.checkpoints = []

    def on_epoch_end(self, args, state, control, model=None, **kwargs):
        self.checkpoints.append(copy.deepcopy(model.state_dict()))  # MADE HERE


def main() -> None:
    torch.set_num_threads(1)
    rows = [{"input_ids": torch.arange(16) + row, "labels": torch.tensor(row % 2)}
            for row in range(32)]  # fmt: skip
    arguments = TrainingArguments(
        tempfile.mkdtemp(), num_train_epochs=generations(), per_device_train_batch_size=8,
        eval_strategy="epoch", save_strategy="no", logging_strategy="no", report_to=[],
        disable_tqdm=True, use_cpu=True,
    )  # fmt: skip
    kind = KeepsLoss if mistake() == "kept-loss" else Trainer
    more = [KeepsBest()] if mistake() == "weights-kept" else []
    kind(
        BertForSequenceClassification(TINY), arguments, train_dataset=rows, eval_dataset=rows,
        compute_metrics=compute_metrics, callbacks=[LeakGuardCallback(tool()), *more],
    ).train()  # fmt: skip


if __name__ == "__main__":
    main()
