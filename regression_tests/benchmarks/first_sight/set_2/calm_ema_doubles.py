"""An image model; in epoch 90 the averaging of weights begins, with a copy of the model and of the last good
state: memory goes up once and stays."""

# /// truth
# about = "averaged weights and a copy for rollback come in epoch 90 of 170: memory goes up once and stays"
# ///
import copy
import os
import sys

import torch
from torch import nn

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
torch.set_num_threads(1)
torch.manual_seed(20)


class Net(nn.Module):
    def __init__(self, width=640):
        super().__init__()
        self.stem = nn.Conv2d(1, 8, 3, stride=2)
        self.layers = nn.Sequential(nn.Linear(8 * 49, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.head = nn.Linear(width, 5)

    def forward(self, images):
        return self.head(self.layers(torch.relu(self.stem(images)).flatten(1)))


class Average:
    def __init__(self, model):
        self.model = copy.deepcopy(model).requires_grad_(False)
        self.good = {name: value.clone() for name, value in model.state_dict().items()}

    @torch.no_grad()
    def update(self, model):
        for mine, theirs in zip(self.model.parameters(), model.parameters()):
            mine.lerp_(theirs, 0.05)

    def remember(self, model):
        for name, value in model.state_dict().items():
            self.good[name].copy_(value)


def batch(size=24):
    labels = torch.randint(0, 5, (size,))
    images = torch.randn(size, 1, 16, 16) * 0.5
    for image, label in zip(images, labels):
        image[0, int(label) * 3] += 1
    return images, labels


def main():
    model, average = Net(), None
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    best = 0.0
    guard = LeakGuard(out=os.environ["RUN_FILE"])
    with guard:
        for epoch in guard.generations(range(1, 171)):
            with guard.phase("train"):
                for _ in range(2):
                    images, labels = batch()
                    loss = nn.functional.cross_entropy(model(images), labels)
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
            with guard.phase("average"):
                if epoch == 90:
                    average = Average(model)
                if average is not None:
                    average.update(model)
            with guard.phase("validate"), torch.no_grad():
                images, labels = batch(60)
                judged = average.model if average else model
                score = (judged(images).argmax(1) == labels).float().mean().item()
                if score > best:
                    best = score
                    if average is not None:
                        average.remember(model)
    print("best", round(best, 3))


main()
