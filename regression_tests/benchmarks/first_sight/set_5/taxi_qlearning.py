import sys
from dataclasses import dataclass

import gymnasium as gym
import numpy as np

# /// truth
# about = "tabular Q-learning that collects demonstrations without end once exploration is low"
# [[leak]]
# type = ["Transition", "list"]
# holder = ["demos"]
# kind = ["instances", "container"]
# line = ["episode.append(Transition(s, a, float(r), s2, term, info))", "demos.append(episode)"]
# ///

MODE = sys.argv[1]


@dataclass
class Transition:
    state: int
    action: int
    reward: float
    next_state: int
    terminal: bool
    info: dict


env = gym.make("Taxi-v4", max_episode_steps=100)
rng = np.random.default_rng(7)
q = np.zeros((env.observation_space.n, env.action_space.n))
model_r = np.zeros_like(q)
model_s = np.zeros(q.shape, dtype=np.int64)
seen = np.zeros(q.shape, dtype=bool)
demos = []
epsilon, alpha, gamma = 1.0, 0.3, 0.97
iteration, seed, returns = 0, 0, []

while True:
    if iteration == 420:
        break
    scores = []
    for _ in range(6):
        seed += 1
        s, info = env.reset(seed=seed)
        episode, done, score = [], False, 0.0
        while not done:
            if rng.random() < epsilon:
                a = int(rng.integers(6))
            else:
                a = int(q[s].argmax())
            s2, r, term, trunc, info = env.step(a)
            q[s, a] += alpha * (r + gamma * (0 if term else q[s2].max()) - q[s, a])
            model_r[s, a], model_s[s, a], seen[s, a] = r, s2, True
            episode.append(Transition(s, a, float(r), s2, term, info))
            score += r
            s, done = s2, term or trunc
        if epsilon < 0.15 and term:
            demos.append(episode)
            if MODE != "leak":
                del demos[:-25]
        scores.append(score)

    # a few sweeps over remembered transitions
    idx = np.argwhere(seen)
    pick = idx[rng.integers(len(idx), size=4000)]
    for ps, pa in pick:
        q[ps, pa] += 0.1 * (model_r[ps, pa] + gamma * q[model_s[ps, pa]].max() * (model_r[ps, pa] < 20) - q[ps, pa])
    # imitate
    if demos:
        for tr in demos[int(rng.integers(len(demos)))]:
            q[tr.state, tr.action] += 0.002

    epsilon = max(0.05, epsilon * 0.989)
    iteration += 1
    if iteration % 60 == 0:
        print("iter %4d  eps %.3f  return %.1f" % (iteration, epsilon, np.mean(scores)))

env.close()
print("finished, mean q %.3f" % q[seen].mean())
