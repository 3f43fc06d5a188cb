"""Forecasts a noisy wave with a GRU that carries its state from window to window."""
import sys
from collections import deque

import numpy as np
import torch
from torch import nn

FIXED = sys.argv[1] == "fixed"
torch.set_num_threads(1)
torch.manual_seed(4)
rng = np.random.default_rng(4)


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(8, 48, batch_first=True)
        self.out = nn.Linear(48, 1)

    def forward(self, x, state=None):
        h, state = self.gru(x, state)
        return self.out(h[:, -1]), state


model = Forecaster()
optimizer = torch.optim.Adam(model.parameters(), 1e-3)
online_state = None
tails = {"train": [], "live": []}
recent = deque(maxlen=10)


def read_recording(number):
    time = np.arange(30_000) / 50 + number
    return (np.sin(time) + 0.1 * rng.standard_normal(30_000)).astype(np.float32)


def windows(recording):
    starts = rng.integers(0, 29_000, 32)
    x = np.stack([recording[s:s + 80].reshape(10, 8) for s in starts])
    y = np.array([recording[s + 80] for s in starts])
    return torch.from_numpy(x), torch.from_numpy(y)[:, None]


def train(number):
    recording = read_recording(number)
    for _ in range(8):
        x, y = windows(recording)
        loss = nn.functional.mse_loss(model(x)[0], y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    tail = recording[-40:]
    tails["train"].append({"number": number, "tail": tail.copy() if FIXED else tail})
    recent.append(recording)
    return loss.item()


def follow_live(number):
    global online_state
    wave = torch.sin(torch.arange(80 * 16) / 9 + number).reshape(16, 10, 8)
    guess, state = model(wave, online_state)
    online_state = state.detach() if FIXED else state
    return guess.mean().item()


for number in range(150):
    loss = train(number)
    guess = follow_live(number)
print("loss", round(loss, 4), "guess", round(guess, 4))
