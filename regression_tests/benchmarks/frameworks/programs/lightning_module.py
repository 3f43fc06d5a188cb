"""Lightning: a small regression with validation, and modules as users write them."""

from __future__ import annotations

import logging
import warnings

import torch
import torchmetrics
from lightning.pytorch import LightningModule, Trainer

from leakguard.integrations.lightning import LeakGuardCallback
from regression_tests.benchmarks.frameworks.tools import generations, mistake, tool


class Regression(LightningModule):
    """Two layers."""

    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 1)
        )
        self.losses = []
        self.outputs = []
        self.seen = torchmetrics.CatMetric()

    def training_step(self, batch, batch_idx):
        (x,) = batch
        loss = self.layers(x).square().mean()  # MADE HERE kept-loss
        if mistake() == "kept-loss":
            self.losses.append(loss)
        return loss

    def validation_step(self, batch, batch_idx):
        (x,) = batch
        prediction = self.layers(x)
        if mistake() == "gathered-outputs":
            self.outputs.append({"x": x.clone(), "prediction": prediction})  # MADE HERE
        if mistake() == "metric-never-reset":
            self.seen.update((x + prediction).flatten())  # MADE HERE

    def on_validation_epoch_end(self):
        if mistake() == "healthy":
            self.outputs.clear()

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)

    def train_dataloader(self):
        data = torch.utils.data.TensorDataset(torch.randn(512, 64))
        return torch.utils.data.DataLoader(data, batch_size=64)

    val_dataloader = train_dataloader


def main() -> None:
    torch.set_num_threads(1)
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    warnings.simplefilter("ignore")
    Trainer(
        accelerator="cpu", max_epochs=generations(), callbacks=[LeakGuardCallback(tool())],
        logger=False, enable_checkpointing=False, enable_progress_bar=False,
        enable_model_summary=False,
    ).fit(Regression())  # fmt: skip


if __name__ == "__main__":
    main()
