"""Pretrain a denoising autoencoder on synthetic spectra, then finetune a classifier on top."""
import argparse

import numpy as np
import torch
from torch import nn

# /// truth
# about = "a two stage training; in the second each probe of the features leaves its forward hook on the encoder"
# [[leak]]
# type = ["FeatureStats", "ndarray", "function"]
# holder = ["_forward_hooks", "encoder", "Sequential"]
# kind = ["instances", "arrays", "container"]
# line = ["stats = FeatureStats(width)", "handle = encoder.register_forward_hook(lambda module, args, out: stats.update(out))", "self.cov = np.zeros((width, width))"]
# ///

torch.set_num_threads(1)


class FeatureStats:
    """Running covariance of the features, to see whether dimensions collapse."""

    def __init__(self, width):
        self.count = 0
        self.mean = np.zeros(width)
        self.cov = np.zeros((width, width))

    def update(self, out):
        z = out.detach().numpy()[:32]
        self.count += len(z)
        self.mean += 0.1 * (z.mean(axis=0) - self.mean)
        self.cov += 0.1 * (z.T @ z / len(z) - self.cov)

    def rank(self):
        eig = np.linalg.eigvalsh(self.cov)
        eig = np.clip(eig, 1e-9, None)
        p = eig / eig.sum()
        return float(np.exp(-(p * np.log(p)).sum()))


def spectra(gen, n, length=256, classes=6):
    y = torch.randint(0, classes, (n,), generator=gen)
    t = torch.linspace(0, 1, length)
    freq = 3.0 + 4.0 * y[:, None]
    phase = torch.rand(n, 1, generator=gen) * 6.28
    x = torch.sin(6.28 * freq * t + phase) + 0.4 * torch.randn(n, length, generator=gen)
    return x, y


def probe(encoder, x, width, keep):
    stats = FeatureStats(width)
    handle = encoder.register_forward_hook(lambda module, args, out: stats.update(out))
    with torch.no_grad():
        encoder(x)
    rank = stats.rank()
    if not keep:
        handle.remove()
    return rank


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("mode", choices=["leak", "clean"])
    args = ap.parse_args()
    torch.manual_seed(3)
    gen = torch.Generator().manual_seed(3)
    width = 64
    encoder = nn.Sequential(nn.Linear(256, 384), nn.GELU(), nn.Linear(384, 384), nn.GELU(), nn.Linear(384, width))
    decoder = nn.Sequential(nn.Linear(width, 384), nn.GELU(), nn.Linear(384, 256))

    opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=1e-3)
    for step in range(500):
        x, _ = spectra(gen, 128)
        loss = nn.functional.mse_loss(decoder(encoder(x + 0.3 * torch.randn_like(x))), x)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 100 == 0:
            print("pretrain %4d  mse %.4f" % (step, loss.item()))

    head = nn.Linear(width, 6)
    opt = torch.optim.Adam([{"params": encoder.parameters(), "lr": 2e-4}, {"params": head.parameters(), "lr": 2e-3}])
    step, total, rank = 0, 600, 0.0
    while step < total:
        x, y = spectra(gen, 128)
        logits = head(encoder(x))
        loss = nn.functional.cross_entropy(logits, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 4 == 0:
            rank = probe(encoder, x[:64], width, keep=args.mode == "leak")
        if step % 100 == 0:
            acc = (logits.argmax(1) == y).float().mean().item()
            print("finetune %4d  loss %.4f  acc %.3f  rank %.1f" % (step, loss.item(), acc, rank))
        step += 1


if __name__ == "__main__":
    main()
