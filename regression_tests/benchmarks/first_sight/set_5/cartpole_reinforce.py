"""REINFORCE with a linear-softmax policy on CartPole, plain numpy."""
import itertools
import sys

import gymnasium as gym
import numpy as np

# /// truth
# about = "policy gradient that makes an environment per episode, which the monitor keeps"
# [[leak]]
# type = ["EpisodeRecorder", "CartPoleEnv", "TimeLimit", "OrderEnforcing", "PassiveEnvChecker", "EnvSpec"]
# holder = ["attached", "monitor", "Monitor"]
# kind = ["instances", "container", "arrays"]
# line = ["env = EpisodeRecorder(gym.make(\"CartPole-v1\"))", "monitor.attach(env)", "self.attached.append(env)", "self.frames.append(obs)"]
# ///


class EpisodeRecorder(gym.Wrapper):
    def __init__(self, env):
        super().__init__(env)
        self.frames = []

    def step(self, action):
        obs, reward, terminated, truncated, info = self.env.step(action)
        self.frames.append(obs)
        return obs, reward, terminated, truncated, info


class Monitor:
    def __init__(self):
        self.attached = []
        self.mean_length = 0.0

    def attach(self, env):
        self.attached.append(env)

    def detach(self, env):
        self.attached.remove(env)

    def report(self):
        env = self.attached[-1]
        self.mean_length += 0.05 * (len(env.frames) - self.mean_length)
        track = np.asarray(env.frames)[:, 0]
        return float(np.abs(track).max())


class Policy:
    def __init__(self, rng, hidden=32):
        self.w1 = rng.normal(0, 0.5, (4, hidden))
        self.w2 = rng.normal(0, 0.1, (hidden, 2))
        self.rng = rng

    def forward(self, obs):
        h = np.tanh(obs @ self.w1)
        z = h @ self.w2
        p = np.exp(z - z.max())
        return h, p / p.sum()

    def act(self, obs):
        h, p = self.forward(obs)
        return int(self.rng.random() < p[1]), h, p

    def update(self, steps, lr=0.004):
        g, returns = 0.0, []
        for _, _, _, _, r in reversed(steps):
            g = r + 0.99 * g
            returns.append(g)
        adv = np.array(returns[::-1])
        adv = (adv - adv.mean()) / (adv.std() + 1e-6)
        for (obs, a, h, p, _), weight in zip(steps, adv):
            d = -p
            d[a] += 1.0
            back = (self.w2 @ d) * (1 - h * h)
            self.w2 += lr * weight * np.outer(h, d)
            self.w1 += lr * weight * np.outer(obs, back)


def main(mode):
    rng = np.random.default_rng(1)
    policy, monitor = Policy(rng), Monitor()
    frames = 0
    for episode in itertools.count():
        if episode >= 1500 or frames > 240_000:
            break
        env = EpisodeRecorder(gym.make("CartPole-v1"))
        monitor.attach(env)
        obs, _ = env.reset(seed=episode)
        steps, done = [], False
        while not done:
            a, h, p = policy.act(obs)
            nxt, r, term, trunc, _ = env.step(a)
            steps.append((obs, a, h, p, r))
            obs, done = nxt, term or trunc or len(steps) >= 250
        policy.update(steps)
        frames += len(steps)
        drift = monitor.report()
        if mode == "clean":
            env.close()
            monitor.detach(env)
        if episode % 150 == 0:
            print(f"episode {episode:4d} length {monitor.mean_length:6.1f} drift {drift:.2f}")
    print("frames", frames)


if __name__ == "__main__":
    main(sys.argv[1])
