#!/usr/bin/env python
# Minimal actor-critic on CartPole with periodic evaluation and episode tracing.
import sys

import gymnasium as gym
import numpy as np
import torch
import torch.nn as nn

torch.set_num_threads(1)
torch.manual_seed(3)
mode = sys.argv[1]
UPDATES = 26
HORIZON = 160


class TraceRecorder(gym.Wrapper):
    """Records every observation and a small rendered strip, for the web viewer."""

    active = []

    def __init__(self, env):
        super().__init__(env)
        self.observations = []
        self.strip = np.zeros((400, 64), dtype=np.uint8)
        TraceRecorder.active.append(self)

    def step(self, action):
        obs, rew, term, trunc, info = self.env.step(action)
        row = len(self.observations) % 400
        col = int(np.clip((obs[0] + 2.4) / 4.8 * 63, 0, 63))
        self.strip[row, col] = 255
        self.observations.append(obs)
        return obs, rew, term, trunc, info

    def close(self):
        if mode != "leak":
            TraceRecorder.active.remove(self)
        self.env.close()

    @classmethod
    def recent_steps(cls):
        return sum(len(r.observations) for r in cls.active[-2:])


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
        self.pi = nn.Linear(64, 2)
        self.v = nn.Linear(64, 1)

    def forward(self, x):
        h = self.body(x)
        return torch.distributions.Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


class Trainer:
    def __init__(self):
        self.env = gym.make("CartPole-v1")
        self.net = ActorCritic()
        self.opt = torch.optim.Adam(self.net.parameters(), lr=2e-3)
        self.obs, _ = self.env.reset(seed=11)
        self.returns = []

    def rollout(self):
        data = {"obs": [], "act": [], "rew": [], "done": []}
        for _ in range(HORIZON):
            with torch.no_grad():
                dist, _ = self.net(torch.as_tensor(self.obs))
                action = dist.sample().item()
            nxt, rew, term, trunc, _ = self.env.step(action)
            data["obs"].append(self.obs)
            data["act"].append(action)
            data["rew"].append(rew)
            data["done"].append(term or trunc)
            self.obs = self.env.reset()[0] if term or trunc else nxt
        return data

    def update(self, data):
        obs = torch.as_tensor(np.stack(data["obs"]))
        act = torch.as_tensor(data["act"])
        ret, acc = [], 0.0
        for r, d in zip(reversed(data["rew"]), reversed(data["done"])):
            acc = r + 0.98 * acc * (not d)
            ret.append(acc)
        ret = torch.tensor(ret[::-1], dtype=torch.float32)
        for _ in range(3):
            dist, value = self.net(obs)
            adv = (ret - value).detach()
            loss = -(dist.log_prob(act) * adv).mean() + 0.5 * (ret - value).pow(2).mean()
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()

    def evaluate(self, seed):
        total = 0.0
        for k in range(2):
            env = TraceRecorder(gym.make("CartPole-v1"))
            obs, _ = env.reset(seed=seed * 10 + k)
            done = False
            while not done and len(env.observations) < 120:
                with torch.no_grad():
                    dist, _ = self.net(torch.as_tensor(obs))
                obs, rew, term, trunc, _ = env.step(int(dist.probs.argmax()))
                total += rew
                done = term or trunc
            self.steps = TraceRecorder.recent_steps()
            env.close()
        self.returns.append(total / 2)
        return total / 2


def main():
    trainer = Trainer()
    for it in range(UPDATES):
        trainer.update(trainer.rollout())
        score = trainer.evaluate(it)
        if it % 5 == 0:
            print(f"update {it}: eval return {score:.1f}", flush=True)
    print("best", max(trainer.returns))


main()
