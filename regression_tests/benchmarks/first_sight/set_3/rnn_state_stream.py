"""A recurrent policy is evaluated on a stream; its state is carried from one chunk to the next."""

# /// truth
# about = "a recurrent state carried through an evaluation with gradients on: its graph grows"
# [[leak]]
# type = ["Tensor", "GRUCell"]
# kind = ["autograd", "tensors"]
# holder = ["state", "grad_fn"]
# phase = "evaluate"
# start = 1
# ///
import os
import sys

import torch
from torch import nn

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
torch.set_num_threads(1)
torch.manual_seed(9)


class Policy(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRUCell(24, 64)
        self.head = nn.Linear(64, 4)

    def forward(self, seen: torch.Tensor, state: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        state = self.cell(seen, state)
        return self.head(state), state


class StreamEval:
    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.state = torch.zeros(16, 64)
        self.score = 0.0

    def chunk(self) -> None:
        for _ in range(10):
            values, self.state = self.policy(torch.randn(16, 24), self.state)
            self.score = 0.99 * self.score + 0.01 * values.mean().item()
        if not LEAK:
            self.state = self.state.detach()


policy = Policy()
evaluation = StreamEval(policy)
optimizer = torch.optim.SGD(policy.parameters(), lr=1e-3)
guard = LeakGuard(out=os.environ["RUN_FILE"])
with guard:
    for chunk in guard.generations(range(1, 301)):
        with guard.phase("train"):
            for _ in range(4):
                values, _ = policy(torch.randn(64, 24), torch.zeros(64, 64))
                loss = (values**2).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        with guard.phase("evaluate"):
            evaluation.chunk()
