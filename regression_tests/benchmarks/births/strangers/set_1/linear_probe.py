"""Linear probes on frozen features, one per layer and round."""
import sys

import torch
from torch import nn

FIXED = sys.argv[1] == "fixed"
torch.set_num_threads(1)
torch.manual_seed(31)

backbone = nn.Sequential(nn.Linear(64, 200), nn.Tanh(), nn.Linear(200, 200), nn.Tanh())
inputs = torch.randn(500, 64)
labels = (inputs[:, 0] > 0).long() + 2 * (inputs[:, 1] > 0).long()


def probe(features, steps=25):
    head = nn.Linear(200, 4)
    optimizer = torch.optim.Adam(head.parameters(), 0.02)
    for _ in range(steps):
        loss = nn.functional.cross_entropy(head(features), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return head(features).detach().softmax(-1)


def accuracy(probabilities, seen=[]):
    if FIXED:
        seen = []
    seen.append(probabilities)
    return float((seen[-1].argmax(-1) == labels).float().mean())


def main():
    curve = []
    for number in range(120):
        with torch.no_grad():
            features = backbone(inputs + 0.01 * torch.randn_like(inputs))
        curve.append(accuracy(probe(features)))
    print("accuracy", round(sum(curve) / len(curve), 4))


main()
