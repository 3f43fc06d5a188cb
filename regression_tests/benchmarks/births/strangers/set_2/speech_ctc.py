"""Train a tiny CTC recogniser on synthetic utterances; a probe watches its encoder while it validates."""
import collections
import heapq
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
torch.set_num_threads(1)
torch.manual_seed(3)
EPOCHS, FRAMES, MELS, HIDDEN, SYMBOLS = 40, 160, 40, 256, 29


class Recogniser(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv1d(MELS, HIDDEN, 5, padding=2), nn.ReLU(), nn.Conv1d(HIDDEN, HIDDEN, 3, padding=1), nn.ReLU()
        )
        self.head = nn.Linear(HIDDEN, SYMBOLS)

    def forward(self, mel):
        return self.head(self.encoder(mel).transpose(1, 2)).log_softmax(-1)


class EncoderProbe:
    """Running mean of the encoder's output over one validation pass."""

    def __init__(self):
        self.mean = torch.zeros(HIDDEN, FRAMES)
        self.seen = 0

    def __call__(self, module, inputs, output):
        self.seen += 1
        self.mean += (output.detach().mean(0) - self.mean) / self.seen


def filterbank(speed, cache={}):
    if speed not in cache:
        cache[speed] = torch.rand(MELS, 200).mul(speed).softmax(-1)
    return cache[speed]


def utterances(count, speeds=(0.9, 1.0, 1.1, 1.2)):
    for index in range(count):
        spectrum = torch.rand(200, FRAMES)
        mel = filterbank(speeds[index % 4]) @ spectrum
        yield mel.expand(4, -1, -1) + 0.1 * torch.randn(4, MELS, FRAMES), torch.randint(1, SYMBOLS, (4, 20))


def ctc(log_probs, text):
    frames = torch.full((4,), FRAMES)
    return F.ctc_loss(log_probs.transpose(0, 1), text, frames, torch.full((4,), 20), zero_infinity=True)


def train(model, optimizer, recent):
    total = 0.0
    for mel, text in utterances(2):
        loss = ctc(model(mel), text)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        recent.append(mel)
        total += loss.item()
    return total / 2


def validate(model):
    probe = EncoderProbe()
    handle = model.encoder.register_forward_hook(probe)
    with torch.no_grad():
        losses = [ctc(model(mel), text).item() for mel, text in utterances(2)]
    if not LEAK:
        handle.remove()
    return sum(losses) / len(losses), float(probe.mean.abs().mean())


model = Recogniser()
optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
recent_mels = collections.deque(maxlen=8)
best, curve = [], []
guard = LeakGuard(out=sys.argv[2])
with guard:
    for epoch in guard.generations(range(1, EPOCHS + 1)):
        with guard.phase("train"):
            train_loss = train(model, optimizer, recent_mels)
        with guard.phase("validate"):
            loss, activity = validate(model)
        curve.append(loss)
        heapq.heappush(best, (-loss, epoch))
        if len(best) > 5:
            heapq.heappop(best)
        time.sleep(0.02)
print("best", best[-1], "activity", round(activity, 4))
