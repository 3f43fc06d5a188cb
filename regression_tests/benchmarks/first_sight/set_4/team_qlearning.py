"""Q-learning of a small team of agents that share one recurrent network."""

# /// truth
# about = """a logger whose lists of statistics are never cleared, given values that still carry
# the graph that made them, as in oxwhirl/pymarl pull request 73; it logs from the end of the
# random exploration on"""
# [[leak]]
# type = ["Tensor", "tuple"]
# holder = "stats"
# phase = "rollout"
# start = 81
# kind = ["autograd", "tensors"]
# ///
import os
import sys
from collections import defaultdict

import torch
from torch import nn

from leakguard import LeakGuard

CLEAR_STATS = sys.argv[1] == "clean"
GENERATIONS = 260
EXPLORE_UNTIL = 80
AGENTS, OBSERVATION, ACTIONS, HIDDEN = 6, 24, 5, 32

torch.manual_seed(73)
torch.set_num_threads(1)


class StatsLogger:
    """Collects statistics by name and prints their means now and then."""

    def __init__(self) -> None:
        self.stats: dict[str, list[tuple[int, torch.Tensor]]] = defaultdict(list)

    def log_stat(self, key: str, value: torch.Tensor, step: int) -> None:
        self.stats[key].append((step, value))

    def print_recent_stats(self, step: int) -> None:
        for key, entries in sorted(self.stats.items()):
            recent = [value.item() for _, value in entries[-5:]]
            print(f"{step} {key} {sum(recent) / len(recent):.4f}")
        if CLEAR_STATS:
            self.stats.clear()


class TeamNetwork(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRUCell(OBSERVATION, HIDDEN)
        self.head = nn.Linear(HIDDEN, ACTIONS)

    def forward(self, seen: torch.Tensor, hidden: torch.Tensor) -> tuple:
        hidden = self.cell(seen, hidden)
        return self.head(hidden), hidden


def rollout(network: TeamNetwork, length: int = 20) -> tuple[torch.Tensor, torch.Tensor]:
    hidden = torch.zeros(AGENTS, HIDDEN)
    seen = torch.randn(AGENTS, OBSERVATION)
    taken, rewards = [], []
    for _ in range(length):
        values, hidden = network(seen, hidden)
        action = values.argmax(dim=1)
        taken.append(values.gather(1, action[:, None]).mean())
        rewards.append(torch.cos(seen[:, 0]).mean())
        seen = 0.8 * seen.roll(1, dims=1) + 0.2 * torch.randn(AGENTS, OBSERVATION)
    return torch.stack(taken), torch.stack(rewards)


def main() -> None:
    network = TeamNetwork()
    optimizer = torch.optim.RMSprop(network.parameters(), lr=5e-4)
    logger = StatsLogger()
    guard = LeakGuard(out=os.environ["RUN_FILE"])
    with guard:
        for generation in guard.generations(range(1, GENERATIONS + 1)):
            with guard.phase("rollout"):
                if generation > EXPLORE_UNTIL:
                    greedy, _ = rollout(network)
                    logger.log_stat("greedy_value", greedy.mean(), generation)
                taken, rewards = rollout(network)
            with guard.phase("train"):
                targets = rewards[:-1] + 0.95 * taken[1:].detach()
                loss = (taken[:-1] - targets).square().mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            if generation % 10 == 0:
                logger.print_recent_stats(generation)


if __name__ == "__main__":
    main()
