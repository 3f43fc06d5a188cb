"""Self-play: the policy meets earlier versions of itself."""
import copy
import random
import sys

import torch
from torch import nn

FIXED = sys.argv[1] == "fixed"
torch.set_num_threads(1)
torch.manual_seed(40)
random.seed(40)


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(30, 300), nn.ReLU(), nn.Linear(300, 300), nn.ReLU())
        self.head = nn.Linear(300, 6)

    def forward(self, x):
        return self.head(self.body(x))


class League:
    size = 4

    def __init__(self, policy):
        self.policy = policy
        self.members = {"past": [copy.deepcopy(policy)], "best": [copy.deepcopy(policy)]}
        self.rewards = []

    def admit(self):
        self.members["past"].append(copy.deepcopy(self.policy))
        if FIXED:
            del self.members["past"][:-self.size]

    def opponent(self):
        return random.choice(self.members["past"][-self.size:])


def play(league, optimizer):
    opponent = league.opponent()
    for _ in range(10):
        board = torch.randn(64, 30)
        with torch.no_grad():
            theirs = opponent(board).argmax(-1)
        mine = league.policy(board).log_softmax(-1)
        move = torch.distributions.Categorical(logits=mine.detach()).sample()
        reward = ((move - theirs) % 6 < 3).float() * 2 - 1
        loss = -(mine.gather(1, move[:, None])[:, 0] * reward).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return float(reward.mean())


if __name__ == "__main__":
    league = League(Policy())
    optimizer = torch.optim.Adam(league.policy.parameters(), 1e-3)
    for number in range(150):
        league.rewards.append(play(league, optimizer))
        if number % 5 == 4:
            league.admit()
    print("mean reward", round(sum(league.rewards) / len(league.rewards), 3))
