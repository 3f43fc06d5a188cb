"""A recurrent net on a curriculum: sequences grow longer until the middle of the run, then the exam comes back
to short ones, stage by stage. A stage has its own data set."""

# /// truth
# about = "a curriculum whose data sets grow until the middle of the run, then shrink"
# ///
import os
import sys

import torch
from torch import nn

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
torch.set_num_threads(1)
torch.manual_seed(14)


class Stage:
    def __init__(self, length, examples=1500):
        self.length = length
        self.inputs = torch.randn(examples, length, 6)
        self.labels = (self.inputs[:, :, 0].mean(1) > 0).long()

    def batch(self, size=24):
        chosen = torch.randint(0, len(self.inputs), (size,))
        return self.inputs[chosen], self.labels[chosen]


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(6, 24)
        self.head = nn.Linear(24, 2)

    def forward(self, inputs):
        hidden = inputs.new_zeros(len(inputs), 24)
        for step in inputs.unbind(1):
            hidden = self.cell(step, hidden)
        return self.head(hidden)


def length_for(epoch, epochs=180):
    middle = epochs // 2
    rise = 1 - abs(epoch - middle) / middle
    return 6 + 6 * int(rise * 9)


def main():
    model = Reader()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    stage = Stage(length_for(1))
    accuracy = 0.0
    guard = LeakGuard(out=os.environ["RUN_FILE"])
    with guard:
        for epoch in guard.generations(range(1, 181)):
            with guard.phase("choose_stage"):
                if stage.length != length_for(epoch):
                    stage = Stage(length_for(epoch))
            with guard.phase("train"):
                for _ in range(3):
                    inputs, labels = stage.batch()
                    loss = nn.functional.cross_entropy(model(inputs), labels)
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
            with guard.phase("validate"), torch.no_grad():
                inputs, labels = stage.batch(100)
                accuracy = 0.9 * accuracy + 0.1 * (model(inputs).argmax(1) == labels).float().mean().item()
    print("accuracy", round(accuracy, 3))


main()
