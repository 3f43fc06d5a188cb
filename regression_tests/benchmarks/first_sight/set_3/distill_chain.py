"""Every tenth epoch the student becomes its own teacher, by a deep copy."""

# /// truth
# about = "the copy that becomes the teacher has the last teacher inside: a chain that grows by one"
# [[leak]]
# type = ["Student", "Linear", "Parameter", "Tensor", "Sequential"]
# kind = ["tensors"]
# holder = ["teacher", "_modules"]
# phase = "promote"
# start = 20
# within = 10
# ///
import copy
import os
import sys

import torch
from torch import nn

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
torch.set_num_threads(1)
torch.manual_seed(51)


class Student(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(64, 192), nn.ReLU(), nn.Linear(192, 64))
        self.teacher = None

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return self.body(inputs)

    def promote(self) -> None:
        if not LEAK:
            self.teacher = None
        teacher = copy.deepcopy(self)
        self.teacher = teacher.requires_grad_(False)


student = Student()
optimizer = torch.optim.SGD(student.body.parameters(), lr=1e-2)
guard = LeakGuard(out=os.environ["RUN_FILE"])
with guard:
    for epoch in guard.generations(range(1, 251)):
        with guard.phase("promote"):
            if epoch % 10 == 0:
                student.promote()
        with guard.phase("train"):
            for _ in range(10):
                inputs = torch.randn(64, 64)
                wanted = inputs.roll(1, 1)
                if student.teacher is not None:
                    with torch.no_grad():
                        wanted = 0.5 * wanted + 0.5 * student.teacher(inputs)
                loss = nn.functional.mse_loss(student(inputs), wanted)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
