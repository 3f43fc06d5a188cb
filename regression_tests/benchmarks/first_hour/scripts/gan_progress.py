"""A tiny GAN that keeps a strip of samples to make a GIF at the end."""
import sys
import torch
from torch import nn
from leakguard import LeakGuard, phase

CLEAN = "clean" in sys.argv


class GAN:
    def __init__(self, z=32, size=28 * 28):
        self.G = nn.Sequential(nn.Linear(z, 128), nn.LeakyReLU(0.2), nn.Linear(128, size), nn.Tanh())
        self.D = nn.Sequential(nn.Linear(size, 128), nn.LeakyReLU(0.2), nn.Linear(128, 1))
        self.opt_g = torch.optim.Adam(self.G.parameters(), 2e-4)
        self.opt_d = torch.optim.Adam(self.D.parameters(), 2e-4)
        self.fixed = torch.randn(128, z)
        self.z = z
        self.progress = []

    @phase("discriminator")
    def step_d(self, real):
        fake = self.G(torch.randn(real.shape[0], self.z)).detach()
        loss = nn.functional.softplus(-self.D(real)).mean() + nn.functional.softplus(self.D(fake)).mean()
        self.opt_d.zero_grad()
        loss.backward()
        self.opt_d.step()
        return loss.item()

    @phase("generator")
    def step_g(self, n):
        loss = nn.functional.softplus(-self.D(self.G(torch.randn(n, self.z)))).mean()
        self.opt_g.zero_grad()
        loss.backward()
        self.opt_g.step()
        return loss.item()

    @phase("sample")
    def sample(self):
        if CLEAN:
            with torch.no_grad():
                grid = self.G(self.fixed)[:8].clone()
            self.progress.append(grid)
            del self.progress[:-10]
        else:
            grid = self.G(self.fixed)
            self.progress.append(grid[:8])      # "only eight of them"


def main():
    gan = GAN()
    data = torch.randn(2048, 28 * 28).clamp(-1, 1)
    guard = LeakGuard(out=f"s02.{'clean' if CLEAN else 'leaky'}.jsonl")
    with guard:
        for epoch in guard.generations(range(1, 31)):
            for i in range(0, len(data), 128):
                d = gan.step_d(data[i:i + 128])
                g = gan.step_g(128)
            gan.sample()
            if epoch % 10 == 0:
                print("epoch", epoch, "D", round(d, 3), "G", round(g, 3))


main()
