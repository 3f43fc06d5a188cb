"""Trains a small convolutional net on made pictures and watches the direction of its gradient."""
import collections
import sys

import torch
from torch import nn
from torch.nn.utils import parameters_to_vector


class GradientWatch:
    """The cosine between the gradients of now and of twenty looks ago."""

    def __init__(self, limit):
        self.vectors = collections.deque(maxlen=limit)

    def look(self, model):
        self.vectors.append(parameters_to_vector(p.grad for p in model.parameters()))
        if len(self.vectors) < 20:
            return 0.0
        return float(torch.cosine_similarity(self.vectors[-1], self.vectors[-20], dim=0))


def pictures(n):
    labels = torch.randint(0, 4, (n,))
    x = torch.randn(n, 1, 12, 12) * 0.7
    for k in range(4):
        x[labels == k, :, (k // 2) * 6:(k // 2) * 6 + 6, (k % 2) * 6:(k % 2) * 6 + 6] += 0.5
    return x, labels


def main(mode):
    torch.set_num_threads(1)
    torch.manual_seed(21)
    model = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(200, 24), nn.ReLU(),
                          nn.Linear(24, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9)
    watch = GradientWatch(None if mode == "leak" else 20)
    cosines = collections.deque(maxlen=50)
    right = 0
    for step in range(3000):
        x, labels = pictures(32)
        optimizer.zero_grad()
        out = model(x)
        nn.functional.cross_entropy(out, labels).backward()
        if step % 5 == 0:
            cosines.append(watch.look(model))
        optimizer.step()
        right += int((out.argmax(1) == labels).sum())
    print("RESULT", right, sum(cosines) / len(cosines), float(sum(p.detach().double().sum() for p in model.parameters())))


if __name__ == "__main__":
    main(sys.argv[1])
