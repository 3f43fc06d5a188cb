"""Learns a value table for three-heap Nim by self-play."""
# /// truth
# about = "a table of visited states that grows quickly at first and saturates"
# ///
import random
import sys

MODE = sys.argv[1] if len(sys.argv) > 1 else "clean"
HEAPS = (18, 20, 22)


class Entry:
    __slots__ = ("visits", "value")

    def __init__(self):
        self.visits = 0
        self.value = 0.5


def moves(state):
    for i, heap in enumerate(state):
        for left in range(heap):
            yield state[:i] + (left,) + state[i + 1:]


class Learner:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.table = {}

    def entry(self, state):
        found = self.table.get(state)
        if found is None:
            found = self.table[state] = Entry()
        return found

    def pick(self, state, eps):
        options = list(moves(state))
        if self.rng.random() < eps:
            return self.rng.choice(options)
        return min(options, key=lambda s: self.entry(s).value)

    def play(self, eps):
        state = tuple(self.rng.randint(h // 3, h) for h in HEAPS)
        path = [state]
        while any(state):
            state = self.pick(state, eps)
            path.append(state)
        value = 0.0
        for state in reversed(path):
            entry = self.entry(state)
            entry.visits += 1
            entry.value += (value - entry.value) / min(entry.visits, 30)
            value = 1.0 - value
        return len(path)

    def accuracy(self, n=60):
        right = 0
        for _ in range(n):
            state = tuple(self.rng.randint(0, h) for h in HEAPS)
            truth = (state[0] ^ state[1] ^ state[2]) != 0
            right += (self.entry(state).value > 0.5) == truth
        return right / n


learner = Learner(9)
games = 0
for epoch in range(380):
    eps = max(0.1, 0.9 - epoch / 150)
    length = 0
    for _ in range(140):
        length += learner.play(eps)
        games += 1
    if epoch % 30 == 0:
        print(f"epoch {epoch} games {games} states {len(learner.table)} "
              f"length {length / 140:.1f} accuracy {learner.accuracy():.2f}", flush=True)
