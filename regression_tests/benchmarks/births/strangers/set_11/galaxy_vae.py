"""Train a small VAE on synthetic multi-band galaxy cut-outs, one sky field per epoch."""
import copy
import sys
from collections import deque
from dataclasses import dataclass

import torch
from torch import nn
import torch.nn.functional as F

FIXED = sys.argv[1] == "fixed"
torch.set_num_threads(1)
torch.manual_seed(20)


@dataclass(frozen=True)
class Survey:
    bands: int = 3
    side: int = 32
    epochs: int = 72
    batches: int = 3
    batch: int = 32
    anneal: int = 26

    @property
    def pixels(self):
        return self.bands * self.side ** 2


SURVEY = Survey()
AXIS = torch.linspace(-1.0, 1.0, SURVEY.side)


def cutouts(count, gen):
    """Elliptical exponential discs with a colour gradient and sky noise."""
    y, x = AXIS.view(1, 1, -1, 1), AXIS.view(1, 1, 1, -1)
    shape = torch.rand(count, 4, generator=gen)
    radius = 0.15 + 0.35 * shape[:, 0].view(-1, 1, 1, 1)
    ratio = 0.4 + 0.6 * shape[:, 1].view(-1, 1, 1, 1)
    colour = 0.5 + shape[:, 1:4].view(-1, 3, 1, 1)
    distance = torch.sqrt(x ** 2 + (y / ratio) ** 2) / radius
    image = colour * torch.exp(-distance)
    image = image + 0.03 * torch.randn(image.shape, generator=gen)
    return image.reshape(count, -1).clamp(0, 1.5)


class FieldCalibration(nn.Module):
    def __init__(self):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(SURVEY.pixels))
        self.sky = nn.Parameter(torch.zeros(SURVEY.pixels))

    def forward(self, image):
        return image * self.gain + self.sky


class GalaxyVAE(nn.Module):
    def __init__(self, latent=16, hidden=224):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(SURVEY.pixels, hidden), nn.SiLU())
        self.head = nn.Linear(hidden, 2 * latent)
        self.decoder = nn.Sequential(nn.Linear(latent, hidden), nn.SiLU(), nn.Linear(hidden, SURVEY.pixels))

    def forward(self, image):
        mean, logvar = self.head(self.encoder(image)).chunk(2, dim=1)
        z = mean + torch.randn_like(mean) * torch.exp(0.5 * logvar)
        return self.decoder(z), mean, logvar


def elbo(model, image, target, beta):
    recon, mean, logvar = model(image)
    kl = -0.5 * (1 + logvar - mean ** 2 - logvar.exp()).sum(dim=1).mean()
    return F.mse_loss(recon, target, reduction="sum") / len(image) + beta * kl


class Validation:
    """Smoothed validation score; keeps the best weights seen."""

    def __init__(self, gen, count=24):
        self.images = cutouts(count, gen)
        self.smooth = None
        self.best_score = float("inf")
        self.best_weights = None

    def update(self, model):
        with torch.set_grad_enabled(not FIXED):
            score = elbo(model, self.images, self.images, 1.0)
            self.smooth = score if self.smooth is None else 0.8 * self.smooth + 0.2 * score
        if self.smooth.item() < self.best_score:
            self.best_score = self.smooth.item()
            self.best_weights = copy.deepcopy(model.state_dict())
        return self.smooth.item()


def active_units(model, probe):
    """Fraction of encoder units that respond to the probe images."""
    activity = {}

    def record(module, inputs, output):
        if inputs[0] is probe:
            activity["spread"] = output.detach().std(dim=0)

    handle = model.encoder.register_forward_hook(record)
    with torch.no_grad():
        model(probe)
    if FIXED:
        handle.remove()
    return (activity["spread"] > 0.05).float().mean().item()


def train_field(model, optimizer, gen, beta, hardest):
    field = FieldCalibration()
    calibrator = torch.optim.Adam(field.parameters(), lr=1e-3) if FIXED else None
    if calibrator is None:
        optimizer.add_param_group({"params": list(field.parameters()), "lr": 1e-3})
    total = 0.0
    for _ in range(SURVEY.batches):
        image = cutouts(SURVEY.batch, gen)
        loss = elbo(model, field(image), image, beta) + (field.gain - 1).pow(2).mean()
        optimizer.zero_grad()
        field.zero_grad()
        loss.backward()
        optimizer.step()
        if calibrator is not None:
            calibrator.step()
        total += loss.item()
        hardest.append(image[:1].clone())
    return total / SURVEY.batches


def main():
    gen = torch.Generator().manual_seed(3)
    model = GalaxyVAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    validation = Validation(gen)
    hardest = deque(maxlen=96)
    history = []
    for epoch in range(1, SURVEY.epochs + 1):
        beta = min(1.0, epoch / SURVEY.anneal)
        train_loss = train_field(model, optimizer, gen, beta, hardest)
        score = validation.update(model)
        units = active_units(model, cutouts(16, gen)) if epoch > SURVEY.anneal else None
        history.append((epoch, train_loss, score, units))
    print(f"epoch {epoch}: train {train_loss:.1f} val {score:.1f} active {units:.2f}")


if __name__ == "__main__":
    main()
