"""Transformers: a tiny BERT that keeps what it should not, by step, evaluation or epoch."""

from __future__ import annotations

import tempfile

import torch
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)

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

TINY = BertConfig(
    vocab_size=200, hidden_size=32, num_hidden_layers=1, num_attention_heads=2,
    intermediate_size=32,
)  # fmt: skip


class Curious(Trainer):
    """Keeps the loss of each step to draw a curve."""

    losses = []  # noqa: RUF012 - as users write it

    def compute_loss(self, model, inputs, **kwargs):
        wait()
        loss = super().compute_loss(model, inputs, **kwargs)
        if leaks("step") and model.training:
            self.losses.append(loss.detach().repeat(5_000))  # MADE HERE step
        return loss


class Metrics:
    """Gathers the predictions of every evaluation."""

    def __init__(self):
        self.predictions = []

    def __call__(self, prediction):
        logits = prediction.predictions
        self.predictions.append(logits.repeat(2_000, axis=1))  # MADE HERE evaluation
        if not leaks("evaluation"):
            self.predictions.clear()
        return {"rows": len(prediction.label_ids)}


class History(TrainerCallback):
    """Keeps weights of every epoch "to choose the best later"."""

    def __init__(self):
        self.weights = []

    def on_epoch_end(self, args, state, control, model=None, **kwargs):
        if leaks("epoch"):
            weight = model.bert.embeddings.word_embeddings.weight
            self.weights.append(weight.detach().repeat(80, 1))  # MADE HERE epoch


def rows(number: int) -> list[dict[str, torch.Tensor]]:
    """Return so many rows of text."""
    return [
        {"input_ids": torch.arange(16) + row % 64, "labels": torch.tensor(row % 2)}
        for row in range(number)
    ]


def main() -> None:
    torch.set_num_threads(1)
    steps = STEPS // EPOCHS
    evaluates = LEVEL == "evaluation"
    arguments = TrainingArguments(
        tempfile.mkdtemp(), num_train_epochs=EPOCHS, per_device_train_batch_size=2,
        per_device_eval_batch_size=8, eval_strategy="steps" if evaluates else "no",
        eval_steps=steps // EVALUATIONS, save_strategy="no", logging_strategy="no", report_to=[],
        disable_tqdm=True, use_cpu=True,
    )  # fmt: skip
    Curious(
        BertForSequenceClassification(TINY), arguments, train_dataset=rows(2 * steps),
        eval_dataset=rows(8 * BATCHES) if evaluates else None, compute_metrics=Metrics(),
        callbacks=[*callbacks("transformers"), History()],
    ).train()  # fmt: skip


if __name__ == "__main__":
    main()
