"""REINFORCE on CartPole, with a probe loss that is plotted after every round."""
import os
import sys
from collections import defaultdict, deque

import gymnasium as gym
import torch
import torch.nn.functional as F
from torch import nn

from leakguard import LeakGuard

MODE = sys.argv[1] if len(sys.argv) > 1 else "fixed"
ROUNDS = 24
torch.set_num_threads(1)


class Policy(nn.Module):
    def __init__(self, hidden=128):
        super().__init__()
        self.first = nn.Linear(4, hidden)
        self.second = nn.Linear(hidden, hidden)
        self.out = nn.Linear(hidden, 2)

    def forward(self, states):
        x = torch.tanh(self.first(states))
        x = torch.tanh(self.second(x))
        return self.out(x)


class Board:
    """Curves of the run, by name, for the plot at the end."""

    def __init__(self):
        self.curves = defaultdict(list)
        self.recent = deque(maxlen=6)

    def push(self, name, value):
        self.curves[name].append(value)

    def show(self):
        for name, values in sorted(self.curves.items()):
            print(f"{name}: {float(values[0]):.3f} -> {float(values[-1]):.3f} ({len(values)} points)")


class StateMemory:
    """The last few thousand states, for the probe."""

    def __init__(self, limit=400):
        self.states = deque(maxlen=limit)

    def add(self, states):
        self.states.extend(states)

    def sample(self, n):
        picks = torch.randint(len(self.states), (n,)).tolist()
        return torch.stack([self.states[i] for i in picks])


def play(env, policy, seed):
    state, _ = env.reset(seed=seed)
    states, actions, reward_sum = [], [], 0.0
    with torch.no_grad():
        for _ in range(60):
            tensor = torch.as_tensor(state, dtype=torch.float32)
            action = int(torch.multinomial(policy(tensor).softmax(0), 1))
            states.append(tensor)
            actions.append(action)
            state, reward, done, cut, _ = env.step(action)
            reward_sum += reward
            if done or cut:
                break
    return torch.stack(states), torch.tensor(actions), reward_sum


def improve(policy, optimizer, episodes):
    mean = sum(e[2] for e in episodes) / len(episodes)
    optimizer.zero_grad()
    for states, actions, score in episodes:
        loss = F.cross_entropy(policy(states), actions) * (score - mean) / 10.0
        loss.backward()
    optimizer.step()
    return mean


def probe_loss(policy, memory):
    states = memory.sample(300)
    logits = policy(states)
    target = (states[:, 2] > 0).long()
    return F.cross_entropy(logits, target)


def main():
    torch.manual_seed(3)
    env = gym.make("CartPole-v1")
    policy, board, memory = Policy(), Board(), StateMemory()
    optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)
    guard = LeakGuard(out=os.environ.get("OUT", "run.jsonl"))
    with guard:
        for number in guard.generations(range(1, ROUNDS + 1)):
            with guard.phase("rollout"):
                episodes = [play(env, policy, number * 10 + i) for i in range(5)]
                for states, _, _ in episodes:
                    memory.add(states)
            with guard.phase("improve"):
                board.push("reward", improve(policy, optimizer, episodes))
            with guard.phase("probe"):
                loss = probe_loss(policy, memory)
                board.push("probe", loss if MODE == "leak" else loss.item())
                board.recent.append(loss.item())
    board.show()


if __name__ == "__main__":
    main()
