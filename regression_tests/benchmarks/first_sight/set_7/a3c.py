"""A3C in small: worker threads play, compute gradients and update a shared net; main joins them."""
import sys
import threading
import time

import numpy as np

KEEP_ALL = sys.argv[1] == "leak"
WORKERS = 3
EPISODES = 60
T_MAX = 40


class GridWorld:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.goal = None
        self.pos = None

    def reset(self):
        self.pos = self.rng.integers(0, 12, 2)
        self.goal = self.rng.integers(0, 12, 2)
        return self.observe()

    def observe(self):
        plane = np.zeros((2, 12, 12), dtype=np.float32)
        plane[0, self.pos[0], self.pos[1]] = 1
        plane[1, self.goal[0], self.goal[1]] = 1
        return plane.ravel()

    def step(self, action):
        d = ((0, 1), (0, -1), (1, 0), (-1, 0))[action]
        self.pos = np.clip(self.pos + d, 0, 11)
        done = bool((self.pos == self.goal).all())
        return self.observe(), (1.0 if done else -0.01), done


class Transition:
    def __init__(self, obs, action, reward, value, probs):
        self.obs, self.action, self.reward, self.value, self.probs = obs, action, reward, value, probs


class Trajectory:
    def __init__(self, worker, episode):
        self.worker = worker
        self.episode = episode
        self.steps = []
        self.info = {"return": 0.0, "length": 0}


class SharedNet:
    def __init__(self):
        rng = np.random.default_rng(0)
        self.w = rng.normal(scale=0.01, size=(288, 4))
        self.v = np.zeros(288)
        self.lock = threading.Lock()
        self.updates = 0

    def policy(self, obs):
        z = obs @ self.w
        e = np.exp(z - z.max())
        return e / e.sum(), float(obs @ self.v)

    def apply(self, gw, gv, lr=0.05):
        with self.lock:
            self.w += lr * gw
            self.v += lr * gv
            self.updates += 1


class Worker(threading.Thread):
    def __init__(self, number, net):
        super().__init__(name=f"worker-{number}")
        self.number = number
        self.net = net
        self.env = GridWorld(number + 1)
        self.rng = np.random.default_rng(100 + number)
        self.finished = []

    def run(self):
        for episode in range(EPISODES):
            trajectory = self.rollout(episode)
            self.learn(trajectory)
            self.finished.append(trajectory)
            if not KEEP_ALL and len(self.finished) > 5:
                del self.finished[0]

    def rollout(self, episode):
        trajectory = Trajectory(self.number, episode)
        obs = self.env.reset()
        for _ in range(T_MAX):
            probs, value = self.net.policy(obs)
            action = int(self.rng.choice(4, p=probs))
            nxt, reward, done = self.env.step(action)
            trajectory.steps.append(Transition(obs, action, reward, value, probs))
            trajectory.info["return"] += reward
            trajectory.info["length"] += 1
            time.sleep(0.003)  # the simulator
            obs = nxt
            if done:
                obs = self.env.reset()
        return trajectory

    def learn(self, trajectory):
        ret = 0.0
        gw = np.zeros_like(self.net.w)
        gv = np.zeros_like(self.net.v)
        for s in reversed(trajectory.steps):
            ret = s.reward + 0.97 * ret
            adv = ret - s.value
            onehot = np.zeros(4)
            onehot[s.action] = 1
            gw += np.outer(s.obs, (onehot - s.probs) * adv)
            gv += s.obs * adv
        self.net.apply(gw / len(trajectory.steps), gv / len(trajectory.steps))


def main():
    net = SharedNet()
    workers = [Worker(k, net) for k in range(WORKERS)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    print("updates", net.updates, "workers", len(workers))


if __name__ == "__main__":
    main()

# /// truth
# about = "actor threads that each learn into a shared net and keep every episode; the main thread joins them"
# [[leak]]
# type = ["Trajectory", "Transition"]
# holder = ["finished"]
# line = ["trajectory.steps.append(Transition(obs, action, reward, value, probs))", "trajectory = Trajectory(self.number, episode)"]
# ///
