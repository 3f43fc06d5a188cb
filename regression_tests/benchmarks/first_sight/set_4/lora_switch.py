"""Fine-tunes small adapters on a frozen layer, one task after the other."""

# /// truth
# about = """an optimizer that is given the parameters of each new adapter and never parts with
# those of the old ones, nor with their Adam state; a new adapter comes every five generations"""
# [[leak]]
# type = ["Parameter", "Tensor", "dict"]
# holder = ["optimizer", "param_groups", "state"]
# phase = ["switch", "train"]
# start = 6
# within = 5
# kind = "tensors"
# ///
import os
import sys

import torch
from torch import nn

from leakguard import LeakGuard

DROP_OLD_GROUP = sys.argv[1] == "clean"
GENERATIONS = 250
SWITCH_EVERY = 5
WIDTH, RANK = 192, 16

torch.manual_seed(21)
torch.set_num_threads(1)


class Adapter(nn.Module):
    """A low-rank correction of a frozen linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.Linear(WIDTH, RANK, bias=False)
        self.up = nn.Linear(RANK, WIDTH, bias=False)
        nn.init.zeros_(self.up.weight)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        return self.up(self.down(hidden))


class Tuner:
    def __init__(self) -> None:
        self.base = nn.Linear(WIDTH, WIDTH).requires_grad_(False)
        self.gate = nn.Parameter(torch.ones(WIDTH))
        self.optimizer = torch.optim.AdamW([self.gate], lr=1e-3)
        self.adapter = Adapter()
        self.target = torch.empty(WIDTH, WIDTH)
        self.begin_task()

    def begin_task(self) -> None:
        """The next task: another target, a fresh adapter, the same optimizer."""
        if DROP_OLD_GROUP and len(self.optimizer.param_groups) > 1:
            for parameter in self.optimizer.param_groups.pop()["params"]:
                self.optimizer.state.pop(parameter, None)
        self.adapter = Adapter()
        self.optimizer.add_param_group({"params": list(self.adapter.parameters()), "lr": 3e-3})
        self.target = torch.randn(WIDTH, WIDTH) / WIDTH**0.5

    def step(self, batch: torch.Tensor) -> float:
        output = self.gate * self.base(batch) + self.adapter(batch)
        loss = (output - batch @ self.target).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


def main() -> None:
    tuner = Tuner()
    guard = LeakGuard(out=os.environ["RUN_FILE"])
    with guard:
        for generation in guard.generations(range(1, GENERATIONS + 1)):
            if generation > 1 and generation % SWITCH_EVERY == 1:
                with guard.phase("switch"):
                    tuner.begin_task()
            with guard.phase("train"):
                for _ in range(8):
                    tuner.step(torch.randn(64, WIDTH))
            with guard.phase("validate"), torch.no_grad():
                batch = torch.randn(256, WIDTH)
                error = (tuner.adapter(batch) - batch @ tuner.target).norm()
                assert torch.isfinite(error)


if __name__ == "__main__":
    main()
