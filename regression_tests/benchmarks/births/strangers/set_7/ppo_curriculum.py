"""PPO-style actor-critic on CartPole with a curriculum of auxiliary tasks."""
import copy
import sys
from collections import deque

import gymnasium as gym
import numpy as np
import torch
from torch import nn

from leakguard import LeakGuard

torch.set_num_threads(1)
torch.manual_seed(3)
rng = np.random.default_rng(3)
ROUNDS = 40
STEPS = 384


class Callback:
    history = []

    def on_round_end(self, number, stats):
        raise NotImplementedError


class ReturnTracker(Callback):
    def on_round_end(self, number, stats):
        self.history.append({
            "round": number,
            "returns": list(stats["returns"]),
            "values": [float(v) for v in stats["values"]],
            "entropies": [float(e) for e in stats["entropies"]],
        })


class BestReturn(Callback):
    best = -1.0

    def on_round_end(self, number, stats):
        if stats["returns"]:
            self.best = max(self.best, max(stats["returns"]))


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(4, 128), nn.Tanh(), nn.Linear(128, 128), nn.Tanh())
        self.pi = nn.Linear(128, 2)
        self.value = nn.Linear(128, 1)
        self.aux = nn.Linear(128, 128)

    def forward(self, obs):
        h = self.trunk(obs)
        return self.pi(h), self.value(h).squeeze(-1), self.aux(h)


class Trainer:
    def __init__(self):
        self.env = gym.make("CartPole-v1")
        self.net = ActorCritic()
        self.ema = copy.deepcopy(self.net)
        self.opt = torch.optim.Adam(self.net.parameters(), lr=3e-4)
        self.replay = deque(maxlen=4000)
        self.val_obs = torch.randn(256, 4) * 0.1
        self.val_total = torch.zeros(())
        self.val_count = 0
        self.obs, _ = self.env.reset(seed=3)

    def rollout(self):
        obs, acts, rews, dones = [], [], [], []
        values, entropies, returns, total = [], [], [], 0.0
        for _ in range(STEPS):
            with torch.no_grad():
                logits, value, _ = self.net(torch.as_tensor(self.obs).unsqueeze(0))
                dist = torch.distributions.Categorical(logits=logits)
                action = int(dist.sample())
            nxt, reward, term, trunc, _ = self.env.step(action)
            obs.append(self.obs), acts.append(action), rews.append(reward), dones.append(term or trunc)
            values.append(value.item()), entropies.append(dist.entropy().item())
            self.replay.append(self.obs.copy())
            total += reward
            self.obs = nxt
            if term or trunc:
                returns.append(total)
                total = 0.0
                self.obs, _ = self.env.reset()
        return {"obs": np.stack(obs), "acts": acts, "rews": rews, "dones": dones,
                "values": values, "entropies": entropies, "returns": returns}

    def update(self, batch):
        target, ret = np.zeros(STEPS, dtype=np.float32), 0.0
        for i in range(STEPS - 1, -1, -1):
            ret = batch["rews"][i] + 0.98 * ret * (not batch["dones"][i])
            target[i] = ret
        obs, acts, target = torch.as_tensor(batch["obs"]), torch.tensor(batch["acts"]), torch.as_tensor(target)
        for _ in range(4):
            logits, value, aux = self.net(obs)
            logp = torch.log_softmax(logits, -1).gather(1, acts[:, None]).squeeze(1)
            loss = -(logp * (target - value.detach())).mean() + 0.01 * (value - target).pow(2).mean() + 1e-3 * aux.pow(2).mean()
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
        with torch.no_grad():
            for slow, fast in zip(self.ema.trunk.parameters(), self.net.trunk.parameters()):
                slow.lerp_(fast, 0.05)

    def validate(self):
        _, value, aux = self.net(self.val_obs)
        gap = (value - 10.0).pow(2).mean() + aux.mean()
        self.val_total = self.val_total + gap
        self.val_count += 1
        return self.val_total.item() / self.val_count

    def advance_curriculum(self, number):
        if number >= 12:
            self.net.aux = nn.Linear(128, 128)
            self.opt.add_param_group({"params": list(self.net.aux.parameters()), "lr": 1e-3})


guard = LeakGuard(out=sys.argv[1] if len(sys.argv) > 1 else "run.jsonl")
trainer = Trainer()
callbacks = [ReturnTracker(), BestReturn()]
with guard:
    for number in guard.generations(range(1, ROUNDS + 1)):
        with guard.phase("rollout"):
            batch = trainer.rollout()
        with guard.phase("curriculum"):
            trainer.advance_curriculum(number)
        with guard.phase("update"):
            trainer.update(batch)
        with guard.phase("validate"):
            score = trainer.validate()
        with guard.phase("callbacks"):
            for callback in callbacks:
                callback.on_round_end(number, batch)
print("best", callbacks[1].best, "val", round(score, 3))
