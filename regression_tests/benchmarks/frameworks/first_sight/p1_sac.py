"""Soft actor-critic on Pendulum; a callback keeps the best policy by the mean of late rewards."""
import copy
import sys

import numpy as np
import torch
from stable_baselines3 import SAC
from stable_baselines3.common.callbacks import BaseCallback

from leakguard import LeakGuard
from leakguard.integrations.stable_baselines3 import LeakGuardCallback

MODE = sys.argv[1]
torch.set_num_threads(1)


class KeepBestPolicy(BaseCallback):
    def __init__(self, every=500):
        super().__init__()
        self.every = every
        self.snapshots = []

    def _on_step(self):
        if self.num_timesteps % self.every == 0:
            score = float(np.mean(self.model.replay_buffer.rewards[max(0, self.num_timesteps - self.every):self.num_timesteps]))
            entry = (score, self.num_timesteps, copy.deepcopy(self.model.policy.actor.state_dict()))
            self.snapshots.append(entry)
            if MODE == "clean":
                self.snapshots = [max(self.snapshots, key=lambda e: e[0])]
        return True


model = SAC("MlpPolicy", "Pendulum-v1", seed=3, buffer_size=30_000, learning_starts=500, train_freq=32,
            gradient_steps=1, batch_size=64, policy_kwargs={"net_arch": [48, 48]}, device="cpu")
keeper = KeepBestPolicy()
guard = LeakGuard(out=f"runs/first_sight/p1-{MODE}.jsonl")
model.learn(22_000, callback=[keeper, LeakGuardCallback(guard)])
best = max(keeper.snapshots, key=lambda e: e[0])
print("RESULT", best[1], round(best[0], 6), float(sum(t.double().sum() for t in model.policy.state_dict().values())))
