"""Distil a wide teacher into a slim student on synthetic descriptors (mixed precision)."""
import copy
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
BIG = DEVICE == "cuda"
CLASSES = 4000 if BIG else 600
WIDTH = 1024 if BIG else 128
N_TRAIN, N_VAL = (4096, 1024) if BIG else (1024, 512)
BATCH = 256 if BIG else 128
EPOCHS = 40
FEATURES = 512 if BIG else 128


class Descriptors(Dataset):
    """Random points around class centres; made on the fly, the same for the same index."""

    def __init__(self, size, seed):
        g = torch.Generator().manual_seed(seed)
        self.size = size
        self.labels = torch.randint(0, CLASSES, (size,), generator=g)
        self.base = torch.randn(64, FEATURES, generator=g)

    def __len__(self):
        return self.size

    def __getitem__(self, i):
        label = int(self.labels[i])
        x = self.base[label % 64] + 0.1 * self.base[(label // 64 + i) % 64]
        return x, label


def mlp(width, depth):
    layers = [nn.Linear(FEATURES, width), nn.GELU()]
    for _ in range(depth - 1):
        layers += [nn.Linear(width, width), nn.GELU()]
    return nn.Sequential(*layers, nn.Linear(width, CLASSES))


class Student(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(FEATURES)
        self.net = mlp(WIDTH, 2)

    def forward(self, x):
        return self.net(self.norm(x))


class ValidationMetrics:
    def __init__(self, epoch):
        self.epoch = epoch
        self.logits = []
        self.targets = []
        self.loss_sum = 0.0

    def update(self, logits, targets):
        self.logits.append(logits)
        self.targets.append(targets)
        self.loss_sum += F.cross_entropy(logits.float(), targets).item()

    def accuracy(self):
        hits = [(l.argmax(1) == t).float().mean().item() for l, t in zip(self.logits, self.targets)]
        return sum(hits) / len(hits)

    def confidence(self):
        peaks = [l.float().softmax(1).amax(1).mean().item() for l in self.logits]
        return sum(peaks) / len(peaks)

    def summary(self):
        return {"epoch": self.epoch, "acc": self.accuracy(), "conf": self.confidence(),
                "loss": self.loss_sum / len(self.logits)}


class Trainer:
    def __init__(self):
        self.student = Student().to(DEVICE)
        self.teacher = mlp(WIDTH * 2, 2).to(DEVICE).eval().requires_grad_(False)
        self.ema = copy.deepcopy(self.student).eval().requires_grad_(False)
        self.optimizer = torch.optim.AdamW(self.student.parameters(), lr=1e-3)
        self.scaler = torch.amp.GradScaler("cuda", enabled=BIG)
        kwargs = dict(batch_size=BATCH, num_workers=2, persistent_workers=True, pin_memory=BIG)
        self.train_loader = DataLoader(Descriptors(N_TRAIN, 0), shuffle=True, **kwargs)
        self.val_loader = DataLoader(Descriptors(N_VAL, 1), **kwargs)
        self.history = []
        self.best_loss, self.best_state = float("inf"), None

    def autocast(self):
        return torch.autocast(DEVICE, dtype=torch.float16 if BIG else torch.bfloat16, enabled=BIG)

    def train_epoch(self):
        self.student.train()
        for x, y in self.train_loader:
            x, y = x.to(DEVICE, non_blocking=True), y.to(DEVICE, non_blocking=True)
            with self.autocast():
                with torch.no_grad():
                    soft = (self.teacher(x) / 2.0).softmax(1)
                out = self.student(x)
                loss = F.cross_entropy(out, y) + F.kl_div((out / 2.0).log_softmax(1), soft, reduction="batchmean")
            self.optimizer.zero_grad(set_to_none=True)
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()
            with torch.no_grad():
                for p, q in zip(self.ema.parameters(), self.student.parameters()):
                    p.lerp_(q, 0.01)
        return loss.item()

    @torch.no_grad()
    def validate(self, epoch):
        self.student.eval()
        metrics = ValidationMetrics(epoch)
        for x, y in self.val_loader:
            x, y = x.to(DEVICE, non_blocking=True), y.to(DEVICE, non_blocking=True)
            with self.autocast():
                logits = self.student(x)
            metrics.update(logits, y)
        return metrics

    def fit(self, epochs):
        for epoch in range(epochs):
            t0 = time.perf_counter()
            train_loss = self.train_epoch()
            metrics = self.validate(epoch)
            summary = metrics.summary()
            self.history.append(metrics)
            if summary["loss"] < self.best_loss:
                self.best_loss = summary["loss"]
                self.best_state = {k: v.cpu().clone() for k, v in self.ema.state_dict().items()}
            if epoch % 5 == 0:
                print(f"epoch {epoch:3d} train {train_loss:.3f} val {summary['loss']:.3f} "
                      f"acc {summary['acc']:.3f} conf {summary['conf']:.4f} {time.perf_counter() - t0:.2f}s", flush=True)
        return self.best_loss


if __name__ == "__main__":
    torch.manual_seed(0)
    trainer = Trainer()
    best = trainer.fit(EPOCHS)
    print(f"best validation loss {best:.4f} over {len(trainer.history)} epochs")
