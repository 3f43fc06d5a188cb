"""Evaluates a model in rounds: predictions, mistakes, confusion."""
import heapq
import sys
import time

import numpy as np
import torch
from torch import nn

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
torch.manual_seed(1)


class Report:
    def __init__(self):
        self.predictions = []
        self.mistakes = []
        self.confusion = {}
        self.latest = torch.zeros(512, 100)
        self.thresholds = [torch.full((300,), i / 40) for i in range(40)]


report = Report()
model = nn.Sequential(nn.Linear(50, 200), nn.ReLU(), nn.Linear(200, 100)).eval()


@torch.no_grad()
def predict():
    inputs = torch.randn(512, 50)
    probabilities = torch.softmax(model(inputs), dim=1)
    if LEAK:
        report.predictions.append(probabilities)
    else:
        report.latest.copy_(probabilities)
    return probabilities, torch.randint(100, (512,))


def note_mistakes(probabilities, labels, number):
    best = probabilities.max(dim=1)
    for i in range(200):
        text = f"round {number} sample {i}: said {int(best.indices[i])} not {int(labels[i])} " + "context " * 20
        if LEAK:
            report.mistakes.append((float(best.values[i]), text))
        else:
            heapq.heappush(report.mistakes, (float(best.values[i]), text))
            if len(report.mistakes) > 300:
                heapq.heappop(report.mistakes)


def summarise(probabilities, labels, number):
    matrix = np.zeros((100, 100), dtype=np.int64)
    np.add.at(matrix, (labels.numpy(), probabilities.argmax(dim=1).numpy()), 1)
    report.confusion[number if LEAK else "all"] = matrix


guard = LeakGuard(out=sys.argv[2])
with guard:
    for number in guard.generations(range(1, 41)):
        with guard.phase("predict"):
            probabilities, labels = predict()
            time.sleep(0.05)
        with guard.phase("mistakes"):
            note_mistakes(probabilities, labels, number)
        with guard.phase("summary"):
            summarise(probabilities, labels, number)
            time.sleep(0.03)
