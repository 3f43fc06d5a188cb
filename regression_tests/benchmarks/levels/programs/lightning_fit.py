"""Lightning: a small regression that keeps what it should not, by step, validation or epoch."""

from __future__ import annotations

import logging
import warnings

import torch
from lightning.pytorch import LightningModule, Trainer

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

WIDTH = 64


class Regression(LightningModule):
    """Two layers, and what was kept of each step, validation or epoch."""

    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(WIDTH, 128), torch.nn.ReLU(), torch.nn.Linear(128, 1)
        )
        self.losses = []
        self.outputs = []
        self.history = []

    def training_step(self, batch, batch_idx):
        wait()
        (x,) = batch
        loss = self.layers(x).square().mean()
        if leaks("step"):
            self.losses.append(loss.detach().repeat(5_000))  # MADE HERE step
        return loss

    def validation_step(self, batch, batch_idx):
        wait()
        (x,) = batch
        self.outputs.append(self.layers(x).repeat(1, 2_000))  # MADE HERE evaluation

    def on_validation_epoch_end(self):
        if not leaks("evaluation"):
            self.outputs.clear()

    def on_train_epoch_end(self):
        if leaks("epoch"):
            self.history.append(self.layers[0].weight.detach().repeat(64, 1))  # MADE HERE epoch

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=1e-3)


def rows(batches: int) -> torch.utils.data.DataLoader:
    """Return so many batches of random rows."""
    data = torch.utils.data.TensorDataset(torch.randn(32 * batches, WIDTH))
    return torch.utils.data.DataLoader(data, batch_size=32)


def main() -> None:
    torch.set_num_threads(1)
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    warnings.simplefilter("ignore")
    steps = STEPS // EPOCHS
    validates = LEVEL == "evaluation"
    Trainer(
        accelerator="cpu", max_epochs=EPOCHS, logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False, callbacks=callbacks("lightning"),
        val_check_interval=steps // EVALUATIONS if validates else None,
    ).fit(Regression(), rows(steps), rows(BATCHES) if validates else None)  # fmt: skip


if __name__ == "__main__":
    main()
