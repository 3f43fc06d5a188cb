"""Double Q-learning on CartPole with a replay buffer of single transitions."""

# /// truth
# about = """a replay buffer that is a plain list of transitions and is full after two thirds of the
# run, when it begins to overwrite its oldest ones; the state of Adam comes with the first update"""
# ///
import os
import random
import sys
from typing import NamedTuple

import gymnasium
import numpy as np
import torch
from torch import nn

from leakguard import LeakGuard

assert sys.argv[1] == "clean"
GENERATIONS = 300
STEPS = 40
CAPACITY = 8_000

random.seed(53)
torch.manual_seed(53)
torch.set_num_threads(1)


class Transition(NamedTuple):
    state: np.ndarray
    action: int
    reward: float
    following: np.ndarray
    ended: bool


class ReplayBuffer:
    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.transitions: list[Transition] = []
        self.oldest = 0

    def add(self, transition: Transition) -> None:
        if len(self.transitions) < self.capacity:
            self.transitions.append(transition)
        else:
            self.transitions[self.oldest] = transition
            self.oldest = (self.oldest + 1) % self.capacity

    def sample(self, count: int) -> tuple[torch.Tensor, ...]:
        columns = zip(*random.sample(self.transitions, count), strict=True)
        return tuple(torch.as_tensor(np.array(column), dtype=torch.float32) for column in columns)


def network() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 48), nn.ReLU(), nn.Linear(48, 2))


def main() -> None:
    env = gymnasium.make("CartPole-v1")
    state, _ = env.reset(seed=53)
    online, target = network(), network()
    target.load_state_dict(online.state_dict())
    optimizer = torch.optim.Adam(online.parameters(), lr=1e-3)
    replay = ReplayBuffer(CAPACITY)
    guard = LeakGuard(out=os.environ["RUN_FILE"])
    with guard:
        for generation in guard.generations(range(1, GENERATIONS + 1)):
            with guard.phase("act"):
                for _ in range(STEPS):
                    if random.random() < max(0.05, 1.0 - generation / 150):
                        action = random.randrange(2)
                    else:
                        with torch.no_grad():
                            action = int(online(torch.from_numpy(state)).argmax())
                    following, reward, terminated, truncated, _ = env.step(action)
                    replay.add(Transition(state, action, float(reward), following, terminated))
                    state = env.reset()[0] if terminated or truncated else following
            with guard.phase("learn"):
                for _ in range(6):
                    states, actions, rewards, nexts, ended = replay.sample(32)
                    with torch.no_grad():
                        choice = online(nexts).argmax(dim=1, keepdim=True)
                        value = target(nexts).gather(1, choice)[:, 0]
                        goal = rewards + 0.99 * (1.0 - ended) * value
                    taken = online(states).gather(1, actions.long()[:, None])[:, 0]
                    loss = nn.functional.smooth_l1_loss(taken, goal)
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
            if generation % 20 == 0:
                target.load_state_dict(online.state_dict())


if __name__ == "__main__":
    main()
