"""Evolves a linear CartPole policy, one episode per candidate."""
# /// truth
# about = "an RL script that keeps the environment of every episode together with its recorded observations"
# [[leak]]
# type = ["RecordedEnv", "CartPoleEnv", "ndarray"]
# holder = ["open_envs", "frames"]
# kind = ["instances", "arrays"]
# line = ["env = RecordedEnv(gym.make(\"CartPole-v1\", max_episode_steps=220))", "open_envs.append(env)"]
# ///
import sys

import gymnasium as gym
import numpy as np

MODE = sys.argv[1] if len(sys.argv) > 1 else "clean"
TOTAL_STEPS = 320_000
open_envs = []


class RecordedEnv(gym.Wrapper):
    def __init__(self, env):
        super().__init__(env)
        self.frames = []

    def step(self, action):
        obs, reward, term, trunc, info = self.env.step(action)
        self.frames.append(np.array(obs, dtype=np.float64))
        return obs, reward, term, trunc, info

    def path_length(self):
        track = np.stack(self.frames)
        return float(np.abs(np.diff(track, axis=0)).sum())


def features(obs):
    x, v, a, w = obs
    return np.array([x, v, a, w, np.tanh(4 * a), np.tanh(w), 1.0])


def episode(env, weights, seed):
    obs, _ = env.reset(seed=seed)
    score, steps, done = 0.0, 0, False
    while not done:
        action = int(weights @ features(obs) > 0)
        obs, reward, term, trunc, _ = env.step(action)
        score += reward
        steps += 1
        done = term or trunc
    return score, steps


rng = np.random.default_rng(5)
mean = np.zeros(7)
sigma = 0.6
best_of_batch = []
step = 0
number = 0
while step < TOTAL_STEPS:
    weights = mean + sigma * rng.standard_normal(7)
    env = RecordedEnv(gym.make("CartPole-v1", max_episode_steps=220))
    score, steps = episode(env, weights, seed=1000 + number)
    fitness = score - 0.05 * env.path_length()
    env.close()
    if MODE == "leak":
        open_envs.append(env)
    best_of_batch.append((fitness, tuple(weights)))
    if len(best_of_batch) == 24:
        elite = sorted(best_of_batch, reverse=True)[:6]
        mean = 0.5 * mean + 0.5 * np.mean([w for _, w in elite], axis=0)
        sigma = max(0.1, sigma * 0.95)
        best_of_batch = []
    step += steps
    number += 1
    if number % 150 == 0:
        print(f"episode {number} step {step} score {score:.0f} sigma {sigma:.2f}", flush=True)
print("done after", number, "episodes")
