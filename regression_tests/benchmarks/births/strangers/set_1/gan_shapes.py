"""A small GAN on flattened shapes; logs a sample sheet from time to time."""
import sys
from collections import deque

import torch
from torch import nn

FIXED = sys.argv[1] == "fixed"
torch.set_num_threads(1)
torch.manual_seed(29)


class SampleLog:
    def __init__(self):
        self.sheets = {}

    def add(self, step, pictures):
        sheet = pictures.reshape(-1, 16, 16).repeat(1, 2, 2)
        name = "latest" if FIXED else f"step-{step:05d}"
        self.sheets[name] = sheet


class GanTrainer:
    def __init__(self):
        self.generator = nn.Sequential(nn.Linear(32, 128), nn.ReLU(), nn.Linear(128, 256), nn.Tanh())
        self.critic = nn.Sequential(nn.Linear(256, 128), nn.LeakyReLU(0.2), nn.Linear(128, 1))
        self.opt_g = torch.optim.Adam(self.generator.parameters(), 2e-4)
        self.opt_c = torch.optim.Adam(self.critic.parameters(), 2e-4)
        self.noise = torch.randn(128, 32)
        self.log = SampleLog()
        self.real = torch.rand(2000, 256).round() * 2 - 1
        self.norms = deque(maxlen=100)

    def watch_gradients(self):
        weight = self.critic[0].weight
        before = weight.detach().clone()

        def clip(grad):
            self.norms.append(float((grad + 1e-6 * before).norm()))
            return grad.clamp(-1, 1)

        return weight.register_hook(clip)

    def train_round(self):
        handle = self.watch_gradients()
        for _ in range(6):
            real = self.real[torch.randint(0, 2000, (64,))]
            fake = self.generator(torch.randn(64, 32))
            loss_c = torch.relu(1 - self.critic(real)).mean() + torch.relu(1 + self.critic(fake.detach())).mean()
            self.opt_c.zero_grad()
            loss_c.backward()
            self.opt_c.step()
            loss_g = -self.critic(fake).mean()
            self.opt_g.zero_grad()
            loss_g.backward()
            self.opt_g.step()
        if FIXED:
            handle.remove()
        return loss_c.item(), loss_g.item()

    def sample(self, step):
        with torch.no_grad():
            self.log.add(step, self.generator(self.noise))


def run(rounds):
    trainer = GanTrainer()
    for step in range(rounds):
        losses = trainer.train_round()
        if step % 4 == 0:
            trainer.sample(step)
    print("losses", [round(value, 3) for value in losses], "norms", len(trainer.norms))


run(80)
