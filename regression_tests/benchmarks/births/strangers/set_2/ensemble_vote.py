"""Snapshot ensemble: late snapshots of one network vote on a test set."""
import copy
import math
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

leak = sys.argv[1] == "leak"
torch.set_num_threads(1)
torch.manual_seed(31)
CYCLES, FIRST_SNAPSHOT, MEMBERS = 64, 16, 4


def make_committee(size):
    members = []

    def admit(net, score):
        members.append((score, copy.deepcopy(net).eval()))
        members.sort(key=lambda member: -member[0])
        if not leak:
            del members[size:]

    def vote(x):
        with torch.no_grad():
            return sum(net(x).softmax(1) for _, net in members[:size])

    return admit, vote


def make_data(count, centres):
    labels = torch.randint(0, len(centres), (count,))
    return centres[labels] + torch.randn(count, centres.shape[1]), labels


def cosine(cycle, step, steps=6, top=0.02):
    return top * (1 + math.cos(math.pi * (step + 1) / steps)) / 2 / (1 + cycle / 40)


def build():
    return nn.Sequential(
        nn.Linear(60, 224), nn.BatchNorm1d(224), nn.ReLU(), nn.Dropout(0.2), nn.Linear(224, 224), nn.ReLU(), nn.Linear(224, 12)
    )


centres = torch.randn(12, 60) * 0.7
test_x, test_y = make_data(400, centres)
admit, vote = make_committee(MEMBERS)
net = build()
optimizer = torch.optim.SGD(net.parameters(), 0.02, momentum=0.9)
batches = {}  # fixed shuffles, eight of them
single, joint = [], []
for cycle in range(1, CYCLES + 1):
    net.train()
    x, y = batches.setdefault(cycle % 8, make_data(256, centres))
    for step in range(6):
        optimizer.param_groups[0]["lr"] = cosine(cycle, step)
        loss = F.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    net.eval()
    with torch.no_grad():
        score = (net(test_x).argmax(1) == test_y).float().mean().item()
    single.append(score)
    if cycle >= FIRST_SNAPSHOT:
        admit(net, score)
        joint.append((vote(test_x).argmax(1) == test_y).float().mean().item())
    time.sleep(0.06)
print("single", round(single[-1], 3), "committee", round(joint[-1], 3))
