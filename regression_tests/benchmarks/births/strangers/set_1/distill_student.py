"""Distils a wide teacher into a narrow student."""
import sys

import torch
from torch import nn

FIXED = sys.argv[1] == "fixed"
torch.set_num_threads(1)
torch.manual_seed(17)


def net(width):
    return nn.Sequential(nn.Linear(50, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10))


class TeacherCache:
    def __init__(self, teacher):
        self.teacher = teacher
        self.logits = {}

    def get(self, epoch, number, batch):
        key = number if FIXED else (epoch, number)
        if key not in self.logits:
            with torch.no_grad():
                self.logits[key] = self.teacher(batch)
        return self.logits[key]


class Distiller:
    def __init__(self):
        self.student = net(48)
        self.cache = TeacherCache(net(256))
        self.optimizer = torch.optim.Adam(self.student.parameters(), 1e-3)
        self.batches = torch.randn(10, 200, 50)
        self.held_out = torch.randn(300, 50)
        self.running_gap = torch.zeros(())
        self.problems = []

    def train_epoch(self, epoch):
        for number, batch in enumerate(self.batches):
            wanted = self.cache.get(epoch, number, batch)
            loss = nn.functional.kl_div(self.student(batch).log_softmax(-1), wanted.softmax(-1), reduction="batchmean")
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        return loss.item()

    def measure_gap(self):
        gap = (self.student(self.held_out) - self.cache.teacher(self.held_out).detach()).pow(2).mean()
        self.running_gap = self.running_gap + (gap.detach() if FIXED else gap)

    def check_export(self, epoch):
        probe = torch.randn(60, 500)
        try:
            self.student(probe)
        except RuntimeError as error:
            self.problems.append(str(error) if FIXED else error)
            del self.problems[:-500]


def main():
    distiller = Distiller()
    for epoch in range(100):
        loss = distiller.train_epoch(epoch)
        distiller.measure_gap()
        distiller.check_export(epoch)
    print("loss", round(loss, 4), "gap", round(distiller.running_gap.item() / 100, 4), "problems", len(distiller.problems))


if __name__ == "__main__":
    main()
