"""Advantage actor-critic on CartPole, with regular evaluation of the value function."""
import heapq
import itertools
import sys
from collections import deque

import gymnasium as gym
import numpy as np
import torch
from leakguard import LeakGuard
from torch import nn

TIDY = sys.argv[1] == "fixed"
ROUNDS = 64
STEPS = 84
KEEP = 5
EVALUATE_FROM = 22

torch.set_num_threads(1)
torch.manual_seed(4)


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 40), nn.Tanh(), nn.Linear(40, 40), nn.Tanh())
        self.policy = nn.Linear(40, 2)
        self.value = nn.Sequential(nn.Linear(4, 96), nn.Tanh(), nn.Linear(96, 1))

    def decide(self, states):
        return torch.distributions.Categorical(logits=self.policy(self.body(states)))


class Histogram:
    """How the units of a layer are used, over all inputs it is shown."""

    def __init__(self, units):
        self.counts = torch.zeros(units, 160)

    def __call__(self, module, inputs, output):
        bins = ((output.detach() + 1) * 79.5).long().clamp(0, 159)
        self.counts.scatter_add_(1, bins.T, torch.ones_like(bins.T, dtype=torch.float32))

    def dead(self):
        share = self.counts.amax(1) / self.counts.sum(1).clamp(min=1)
        return int((share > 0.9).sum())


class Trainer:
    def __init__(self):
        self.env = gym.make("CartPole-v1")
        self.agent = Agent()
        self.adam = torch.optim.Adam(self.agent.parameters(), lr=3e-3)
        self.entropies = []
        self.top = []
        self.order = itertools.count()
        self.returns = deque(maxlen=50)
        self.probe_states = torch.randn(64, 4)
        self.state, _ = self.env.reset(seed=1)

    def trim(self, heap):
        if len(heap) > KEEP:
            best = heapq.nlargest(KEEP, heap)
            if TIDY:
                heap[:] = sorted(best)
            else:
                heap = sorted(best)
        return heap[0][0]

    def remember(self, score, episode):
        history = np.stack(episode)
        stacked = np.concatenate([np.roll(history, k, axis=0) for k in range(32)], axis=1)
        heapq.heappush(self.top, (score, next(self.order), stacked))
        return self.trim(self.top)

    def rollout(self):
        states, actions, rewards, ends, spread = [], [], [], [], []
        episode, score = [self.state], 0.0
        for _ in range(STEPS):
            state = torch.from_numpy(np.asarray(self.state, dtype=np.float32))
            choice = self.agent.decide(state)
            action = int(choice.sample())
            spread.append(choice.entropy())
            self.state, reward, fell, cut, _ = self.env.step(action)
            states.append(state)
            actions.append(action)
            rewards.append(float(reward))
            ends.append(fell or cut)
            episode.append(self.state)
            score += reward
            if fell or cut:
                self.returns.append(score)
                self.remember(score, episode)
                self.state, _ = self.env.reset()
                episode, score = [self.state], 0.0
        entropy = torch.stack(spread).mean()
        self.entropies.append(entropy.item() if TIDY else entropy)
        return torch.stack(states), torch.tensor(actions), rewards, ends

    def learn(self, states, actions, rewards, ends):
        targets, running = [], 0.0
        for reward, end in zip(reversed(rewards), reversed(ends)):
            running = reward + (0.0 if end else 0.97 * running)
            targets.append(running)
        targets = torch.tensor(targets[::-1])
        for _ in range(4):
            values = self.agent.value(states).squeeze(1)
            choice = self.agent.decide(states)
            advantage = (targets - values).detach()
            advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-6)
            loss = -(choice.log_prob(actions) * advantage).mean() + 0.01 * (values - targets).square().mean()
            loss = loss - 0.01 * choice.entropy().mean()
            self.adam.zero_grad()
            loss.backward()
            self.adam.step()
        return loss.detach().item()

    def evaluate(self):
        histogram = Histogram(96)
        handle = self.agent.value[1].register_forward_hook(histogram)
        with torch.no_grad():
            spread = self.agent.value(self.probe_states).std().item()
        if TIDY:
            handle.remove()
        return spread, histogram.dead()


def main():
    trainer = Trainer()
    spread, dead = 0.0, 0
    guard = LeakGuard(out=sys.argv[2])
    with guard:
        for number in guard.generations(range(1, ROUNDS + 1)):
            with guard.phase("rollout"):
                batch = trainer.rollout()
            with guard.phase("learn"):
                loss = trainer.learn(*batch)
            with guard.phase("evaluate"):
                if number >= EVALUATE_FROM:
                    spread, dead = trainer.evaluate()
            if number % 20 == 0:
                print(f"round {number}: return {np.mean(trainer.returns):.1f} entropy {trainer.entropies[-1]:.3f} "
                      f"loss {loss:.3f} value spread {spread:.2f} dead units {dead}")


if __name__ == "__main__":
    main()
