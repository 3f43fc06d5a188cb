"""Cross-entropy search on CartPole with an event bus; draws what it learned when the search is over."""
import collections
import sys

import gymnasium
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np


class Bus:
    def __init__(self):
        self.listeners = collections.defaultdict(list)

    def subscribe(self, event, listener):
        self.listeners[event].append(listener)

    def unsubscribe(self, event, listener):
        self.listeners[event].remove(listener)

    def emit(self, event, *args):
        for listener in self.listeners[event]:
            listener(*args)


class Trajectory:
    def __init__(self):
        self.states = np.zeros((500, 4), np.float32)
        self.length = 0
        self.finished = False

    def on_step(self, state):
        self.states[self.length] = state
        self.length += 1

    def on_end(self, total):
        self.finished = True


def episode(env, bus, weights, seed):
    trajectory = Trajectory()
    bus.subscribe("end", trajectory.on_end)
    state, _ = env.reset(seed=seed)
    total, over = 0.0, False
    while not over:
        state, reward, done, cut, _ = env.step(int(state @ weights > 0))
        trajectory.on_step(state)
        total += reward
        over = done or cut
    bus.emit("end", total)
    if MODE == "clean":
        bus.unsubscribe("end", trajectory.on_end)
    return total, trajectory


def main():
    rng = np.random.default_rng(8)
    env = gymnasium.make("CartPole-v1")
    bus = Bus()
    mean, spread = np.zeros(4), np.ones(4)
    returns, longest = [], None
    for round_ in range(80):
        tried = mean + spread * rng.normal(size=(12, 4))
        totals = []
        for k, weights in enumerate(tried):
            total, trajectory = episode(env, bus, weights, seed=round_ * 100 + k)
            totals.append(total)
            if longest is None or trajectory.length > longest.length:
                longest = trajectory
        elite = tried[np.argsort(totals)[-4:]]
        mean, spread = elite.mean(0), elite.std(0) + 0.05
        returns.append(float(np.mean(totals)))
    env.close()
    figure, axes = plt.subplots(1, 2, figsize=(8, 3))
    axes[0].plot(returns)
    axes[1].plot(longest.states[:longest.length])
    figure.savefig(f"p9-{MODE}.png")
    plt.close(figure)
    print("RESULT", returns[-1], mean.round(6).tolist(), longest.length)
    return 0 if returns[-1] > 499.9 else 3  # 3: not solved


MODE = sys.argv[1]
sys.exit(main())
