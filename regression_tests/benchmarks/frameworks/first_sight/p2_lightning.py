"""A Lightning autoencoder whose bottleneck is inspected by a forward hook in each epoch."""
import sys

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from leakguard import LeakGuard
from leakguard.integrations.lightning import LeakGuardCallback

MODE = sys.argv[1]
torch.set_num_threads(1)


class ActivationProbe:
    def __init__(self, rows, width):
        self.samples = torch.zeros(rows, width)
        self.at = 0

    def __call__(self, module, inputs, output):
        if self.at < len(self.samples):
            self.samples[self.at] = output.detach()[0]
            self.at += 1


class AutoEncoder(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 16))
        self.decoder = nn.Sequential(nn.Linear(16, 128), nn.ReLU(), nn.Linear(128, 64))
        self.spread = []

    def on_train_epoch_start(self):
        self.probe = ActivationProbe(200, 16)
        self.handle = self.encoder.register_forward_hook(self.probe)

    def training_step(self, batch, index):
        x, = batch
        loss = nn.functional.mse_loss(self.decoder(self.encoder(x)), x)
        self.log("loss", loss, on_epoch=True, on_step=False)
        return loss

    def on_train_epoch_end(self):
        self.spread = (self.spread + [float(self.probe.samples.std())])[-5:]
        if MODE == "clean":
            self.handle.remove()

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


L.seed_everything(5, verbose=False)
data = torch.randn(3200, 8) @ torch.randn(8, 64)
model = AutoEncoder()
guard = LeakGuard(out=f"runs/first_sight/p2-{MODE}.jsonl")
trainer = L.Trainer(max_epochs=30, accelerator="cpu", logger=False, enable_checkpointing=False,
                    enable_progress_bar=False, enable_model_summary=False, callbacks=[LeakGuardCallback(guard)])
trainer.fit(model, DataLoader(TensorDataset(data), batch_size=32, shuffle=True))
print("RESULT", model.spread, float(sum(p.detach().double().sum() for p in model.parameters())))
