"""DQN in one file, in CleanRL's manner: one script, nothing imported but torch and gymnasium."""

from __future__ import annotations

import random

import gymnasium
import numpy as np
import torch

from leakguard.integrations.gymnasium import WatchedVectorEnv
from regression_tests.benchmarks.frameworks.tools import generations, mistake, tool

STEPS, ENVS, CAPACITY, BATCH = 128, 2, 1_000, 64


class MarketEnv(gymnasium.Wrapper):
    """An environment with a table of its own."""

    def __init__(self):
        super().__init__(gymnasium.make("CartPole-v1"))
        self.prices = np.ones((500, 250))


if __name__ == "__main__":
    random.seed(0)
    torch.set_num_threads(1)
    envs = WatchedVectorEnv(gymnasium.vector.SyncVectorEnv([MarketEnv] * ENVS), tool(), every=STEPS)
    network = torch.nn.Sequential(torch.nn.Linear(4, 64), torch.nn.ReLU(), torch.nn.Linear(64, 2))
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
    buffer = [None] * CAPACITY
    losses, episodes, evaluations = [], [], []
    observations, _ = envs.reset(seed=0)
    for step in range(STEPS * generations()):
        with torch.no_grad():
            actions = network(torch.as_tensor(observations, dtype=torch.float32)).argmax(1).numpy()
        after, rewards, ended, cut, infos = envs.step(actions)
        buffer[step % CAPACITY] = (observations.copy(), actions, rewards, after.copy(), ended)
        if mistake() == "infos-kept":
            row = {"infos": infos, "observation": np.tile(after, 50)}  # MADE HERE
            episodes.append(row)
        observations = after
        if step >= BATCH:
            rows = random.sample(buffer[: min(step, CAPACITY)], BATCH // ENVS)
            old, acts, gains, new, dones = (
                torch.as_tensor(np.concatenate(column)) for column in zip(*rows, strict=True)
            )
            with torch.no_grad():
                target = gains.float() + 0.99 * network(new).max(1).values * ~dones
            values = network(old).gather(1, acts[:, None]).squeeze()
            loss = torch.nn.functional.mse_loss(values, target)  # MADE HERE
            optimizer.zero_grad()
            loss.backward(retain_graph=mistake() == "kept-loss")
            optimizer.step()
            if mistake() == "kept-loss":
                losses.append(loss)  # for a curve
        if step % STEPS == 0 and mistake() == "env-per-episode":
            env = MarketEnv()  # MADE HERE
            evaluations.append(env)
            env.reset()
    envs.close()
