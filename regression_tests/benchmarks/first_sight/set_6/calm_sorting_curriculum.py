"""Evolves sorting networks with a curriculum of longer and longer inputs."""
# /// truth
# about = "a curriculum whose test cases and genomes get longer up to a last level"
# ///
import random
import sys

MODE = sys.argv[1] if len(sys.argv) > 1 else "clean"
LEVELS = [(6, 60), (8, 60), (10, 50), (12, 40), (14, 40), (16, 120)]


class Network:
    def __init__(self, pairs):
        self.pairs = pairs
        self.fitness = 0.0

    def sort(self, values):
        values = list(values)
        for a, b in self.pairs:
            if values[a] > values[b]:
                values[a], values[b] = values[b], values[a]
        return values


class Curriculum:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.population = []
        self.cases = []

    def enter(self, width):
        rng = self.rng
        self.width = width
        self.cases = [[rng.randrange(1000) for _ in range(width)] for _ in range(60 * width)]
        length = width * 4
        if not self.population:
            self.population = [Network([self.pair() for _ in range(length)]) for _ in range(16)]
        for net in self.population:
            net.pairs += [self.pair() for _ in range(length - len(net.pairs))]

    def pair(self):
        a, b = sorted(self.rng.sample(range(self.width), 2))
        return a, b

    def score(self, net, cases):
        good = 0
        for case in cases:
            out = net.sort(case)
            good += sum(x <= y for x, y in zip(out, out[1:]))
        return good / (len(cases) * (self.width - 1))

    def generation(self):
        cases = self.rng.sample(self.cases, 270)
        for net in self.population:
            net.fitness = self.score(net, cases)
        self.population.sort(key=lambda n: -n.fitness)
        parents = self.population[:6]
        children = []
        while len(children) < 10:
            a, b = self.rng.sample(parents, 2)
            cut = self.rng.randrange(len(a.pairs))
            genes = a.pairs[:cut] + b.pairs[cut:]
            for _ in range(3):
                genes[self.rng.randrange(len(genes))] = self.pair()
            children.append(Network(genes))
        self.population = parents + children
        return parents[0].fitness


def main():
    course = Curriculum(41)
    total = 0
    for width, rounds in LEVELS:
        course.enter(width)
        for _ in range(rounds):
            best = course.generation()
            total += 1
        print(f"generation {total}: width {width} best {best:.3f} "
              f"genes {len(course.population[0].pairs)}", flush=True)


if __name__ == "__main__":
    main()
