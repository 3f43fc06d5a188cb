"""Evolution strategy with novelty and a surrogate filter on CartPole."""
import sys
from collections import OrderedDict

import gymnasium as gym
import numpy as np

from leakguard import LeakGuard
MODE = sys.argv[1]
GENERATIONS, POPULATION, WEIGHTS, STEPS = 60, 10, 4 * 8 + 8 * 2, 200


class EventBus:
    listeners = {}

    def subscribe(self, topic, callback):
        self.listeners.setdefault(topic, []).append(callback)

    def unsubscribe(self, topic, callback):
        self.listeners[topic].remove(callback)

    def publish(self, topic, *args):
        for callback in self.listeners.get(topic, ()):
            callback(*args)


BUS = EventBus()


class EpisodeStatistics:
    """Collects the visited states of one generation, for normalising the inputs."""

    def __init__(self, capacity=2000):
        self.states = np.zeros((capacity, 4), np.float32)
        self.used = 0

    def on_episode(self, states):
        count = min(len(states), len(self.states) - self.used)
        self.states[self.used:self.used + count] = states[:count]
        self.used += count

    def scale(self):
        return self.states[:max(self.used, 2)].std(0) + 1e-3


def novelty(behaviour, memory=[]):
    memory.append(behaviour)
    if MODE == "fixed" and len(memory) > 4 * POPULATION:
        del memory[0]
    distances = np.abs(np.stack(memory[-64:]) - behaviour).mean(1)
    return np.sort(distances)[:5].mean()


def shuffled_batches(features, targets, size=256):
    order = np.random.default_rng(len(features)).permutation(len(features))
    features, targets = features[order], targets[order]
    for start in range(0, len(order), size):
        yield features[start:start + size], targets[start:start + size]


class Surrogate:
    """Ridge regression from weights to return, refreshed on a few minibatches."""

    def __init__(self):
        self.samples = OrderedDict()
        self.pending = {}
        self.coefficients = np.zeros(WEIGHTS)

    def add(self, genome, score):
        self.samples[genome.tobytes()] = (genome, score)
        if len(self.samples) > 250:
            self.samples.popitem(last=False)

    def refresh(self, generation):
        features = np.stack([genome for genome, _ in self.samples.values()])
        targets = np.array([score for _, score in self.samples.values()])
        stream = shuffled_batches(features, targets)
        x, y = next(stream)
        self.coefficients = np.linalg.solve(x.T @ x + 5 * np.eye(WEIGHTS), x.T @ (y - y.mean()))
        if MODE == "fixed":
            stream.close()
        else:
            self.pending[generation] = stream


class Search:
    def __init__(self):
        self.rng = np.random.default_rng(2)
        self.env = gym.make("CartPole-v1")
        self.mean = np.zeros(WEIGHTS)
        self.scale = np.ones(4)
        self.hall_of_fame = []
        self.surrogate = Surrogate()

    def rollout(self, genome, seed):
        hidden, output = genome[:32].reshape(4, 8), genome[32:].reshape(8, 2)
        state, _ = self.env.reset(seed=seed)
        states = [state]
        while len(states) <= STEPS:
            action = int(np.argmax(np.tanh((state / self.scale) @ hidden) @ output))
            state, _, ended, _, _ = self.env.step(action)
            states.append(state)
            if ended:
                break
        BUS.publish("episode", np.stack(states))
        behaviour = np.zeros(STEPS + 1)
        behaviour[:len(states)] = [s[0] for s in states]
        return len(states) - 1.0, behaviour

    def propose(self):
        genomes = self.mean + 0.5 * self.rng.normal(size=(4 * POPULATION, WEIGHTS))
        order = np.argsort(-(genomes @ self.surrogate.coefficients), kind="stable")
        return genomes[order[:POPULATION]]

    def evaluate(self, genomes, generation):
        statistics = EpisodeStatistics()
        BUS.subscribe("episode", statistics.on_episode)
        scores, bonuses = [], []
        for genome in genomes:
            pairs = [self.rollout(genome, seed) for seed in (generation, generation + 1000)]
            scores.append(np.mean([score for score, _ in pairs]))
            bonuses.append(novelty(pairs[0][1]))
            self.surrogate.add(genome, scores[-1])
        self.scale = statistics.scale()
        if MODE == "fixed":
            BUS.unsubscribe("episode", statistics.on_episode)
        return np.array(scores), np.array(bonuses)

    def select(self, genomes, scores, bonuses):
        elite = np.argsort(-(scores + 5 * bonuses))[:POPULATION // 4]
        self.mean = 0.5 * self.mean + 0.5 * genomes[elite].mean(0)
        found = self.hall_of_fame + [(scores[i], genomes[i].copy()) for i in elite]
        self.hall_of_fame = sorted(found, key=lambda pair: -pair[0])[:10]


search = Search()
guard = LeakGuard(out=sys.argv[2])
with guard:
    for generation in guard.generations(range(1, GENERATIONS + 1)):
        with guard.phase("propose"):
            genomes = search.propose()
        with guard.phase("evaluate"):
            scores, bonuses = search.evaluate(genomes, generation)
        with guard.phase("select"):
            search.select(genomes, scores, bonuses)
        with guard.phase("surrogate"):
            if generation > 24:
                search.surrogate.refresh(generation)
        if generation % 10 == 0:
            print(f"{generation:3d} mean {scores.mean():.1f} best {search.hall_of_fame[0][0]:.0f}")
