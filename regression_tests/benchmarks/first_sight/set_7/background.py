"""A trainer runs in a background thread (as behind a GUI); the main thread polls and shows progress."""
import sys
import threading
import time

import numpy as np

GENERATIONS = 26


class Layer:
    def __init__(self, n_in, n_out, rng):
        self.weights = rng.normal(scale=1 / np.sqrt(n_in), size=(n_in, n_out))
        self.bias = np.zeros(n_out)

    def copy_mutated(self, rng, sigma):
        other = Layer.__new__(Layer)
        other.weights = self.weights + sigma * rng.normal(size=self.weights.shape)
        other.bias = self.bias + sigma * rng.normal(size=self.bias.shape)
        return other


class Individual:
    def __init__(self, layers, parent=None):
        self.layers = layers
        self.parent = parent  # lineage, for the tree plot
        self.fitness = None

    def predict(self, x):
        for layer in self.layers[:-1]:
            x = np.tanh(x @ layer.weights + layer.bias)
        last = self.layers[-1]
        return x @ last.weights + last.bias

    def child(self, rng, keep_parent):
        return Individual([l.copy_mutated(rng, 0.02) for l in self.layers], self if keep_parent else None)


class EvolutionTrainer:
    def __init__(self, lineage):
        self.rng = np.random.default_rng(3)
        self.lineage = lineage
        self.x = self.rng.normal(size=(150, 40))
        self.y = np.sin(self.x[:, :1])
        self.population = [
            Individual([Layer(40, 120, self.rng), Layer(120, 120, self.rng), Layer(120, 1, self.rng)]) for _ in range(12)
        ]
        self.generation = 0
        self.best = None

    def evaluate(self, individual):
        error = individual.predict(self.x) - self.y
        individual.fitness = -float((error ** 2).mean())
        time.sleep(0.02)

    def evolve(self):
        for individual in self.population:
            self.evaluate(individual)
        self.population.sort(key=lambda i: i.fitness, reverse=True)
        self.best = self.population[0].fitness
        elite = self.population[:4]
        # every survivor is re-created, too: weights decay a little
        self.population = [e.child(self.rng, self.lineage) for e in elite for _ in range(3)]

    def train(self):
        while self.generation < GENERATIONS:
            self.evolve()
            self.generation += 1


def main(mode):
    trainer = EvolutionTrainer(lineage=(mode == "leak"))
    thread = threading.Thread(target=trainer.train, name="trainer", daemon=True)
    thread.start()
    shown = -1
    while thread.is_alive():
        time.sleep(0.25)
        if trainer.generation // 8 > shown:
            shown = trainer.generation // 8
    thread.join()
    print(f"generations {trainer.generation}, best {trainer.best:.5f}")


main(sys.argv[1])

# /// truth
# about = "a genetic algorithm in a thread that the main one polls; each individual keeps its parent"
# [[leak]]
# type = ["Individual", "Layer"]
# holder = ["parent", "population"]
# line = ["return Individual([l.copy_mutated(rng, 0.02) for l in self.layers], self if keep_parent else None)"]
# ///
