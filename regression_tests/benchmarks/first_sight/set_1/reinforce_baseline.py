"""REINFORCE with a moving baseline taken from a critic."""
# /// truth
# about = "the moving baseline is never detached, so that each update keeps the graph of all before it"
# [[leak]]
# holder = "baseline"
# phase = "bootstrap"
# start = 1
# within = 1
# kind = ["autograd", "tensors"]
# ///
import os
import sys

import torch
from torch import nn

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
GENERATIONS = 150
torch.manual_seed(3)
torch.set_num_threads(1)


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.policy = nn.Sequential(nn.Linear(24, 96), nn.Tanh(), nn.Linear(96, 6))
        self.critic = nn.Sequential(nn.Linear(24, 96), nn.Tanh(), nn.Linear(96, 96), nn.Tanh(), nn.Linear(96, 1))
        self.baseline = torch.zeros(())

    def update_baseline(self, observations):
        value = self.critic(observations).mean()
        if not LEAK:
            value = value.detach()
        self.baseline = 0.95 * self.baseline + 0.05 * value


agent = Agent()
policy_optimizer = torch.optim.Adam(agent.policy.parameters(), 1e-3)
critic_optimizer = torch.optim.SGD(agent.critic.parameters(), 1e-3)
target = torch.randn(24, 6)

guard = LeakGuard(out=os.environ["RUN_FILE"])
with guard:
    for update in guard.generations(range(1, GENERATIONS + 1)):
        with guard.phase("rollout"), torch.no_grad():
            observations = torch.randn(5000, 24)
            chances = torch.softmax(agent.policy(observations), -1)
            actions = torch.multinomial(chances, 1).squeeze(1)
            rewards = (observations @ target).gather(1, actions[:, None]).squeeze(1)
        with guard.phase("bootstrap"):
            agent.update_baseline(observations[:400])
        with guard.phase("optimize"):
            for _ in range(2):
                logs = torch.log_softmax(agent.policy(observations), -1)
                chosen = logs.gather(1, actions[:, None]).squeeze(1)
                loss = -(chosen * (rewards - agent.baseline.detach())).mean()
                policy_optimizer.zero_grad()
                loss.backward()
                policy_optimizer.step()
            critic_loss = (agent.critic(observations).squeeze(1) - rewards).square().mean()
            critic_optimizer.zero_grad()
            critic_loss.backward()
            critic_optimizer.step()
