"""A perceptron in pure Python whose schedule listens to an event bus."""
# /// truth
# about = "each epoch subscribes a closure over its window of margins and never takes it back"
# [[leak]]
# type = ["function", "list"]
# holder = "listeners"
# phase = "prepare"
# start = 1
# within = 1
# kind = ["instances", "container"]
# ///
import os
import random
import sys
from collections import defaultdict

from leakguard import LeakGuard, phase

LEAK = sys.argv[1] == "leak"
GENERATIONS = 100


class EventBus:
    def __init__(self):
        self.listeners = defaultdict(list)

    def subscribe(self, event, listener):
        self.listeners[event].append(listener)
        return lambda: self.listeners[event].remove(listener)

    def emit(self, event, value):
        for listener in self.listeners[event]:
            listener(value)


class Trainer:
    def __init__(self, bus):
        self.bus = bus
        chance = random.Random(15)
        self.rows = [[chance.gauss(0, 1) for _ in range(12)] for _ in range(2500)]
        self.signs = [1 if row[0] - 0.5 * row[3] + 0.2 > 0 else -1 for row in self.rows]
        self.weights = [0.0] * 12
        self.rate = 0.1

    @phase("prepare")
    def watch_plateau(self):
        window = [0.0] * 4000
        seen = 0

        def on_epoch_end(errors):
            nonlocal seen
            window[seen % len(window)] = errors
            seen += 1
            if seen == 1 and errors < 10:
                self.rate *= 0.99

        return self.bus.subscribe("epoch_end", on_epoch_end)

    @phase("train")
    def train(self):
        errors = 0
        for _ in range(10):
            for row, sign in zip(self.rows, self.signs):
                margin = sign * sum(w * v for w, v in zip(self.weights, row))
                if margin <= 0:
                    errors += 1
                    self.weights = [w + self.rate * sign * v for w, v in zip(self.weights, row)]
        return errors

    @phase("notify")
    def notify(self, errors):
        self.bus.emit("epoch_end", errors)


trainer = Trainer(EventBus())
guard = LeakGuard(out=os.environ["RUN_FILE"])
with guard:
    for epoch in guard.generations(range(1, GENERATIONS + 1)):
        unsubscribe = trainer.watch_plateau()
        trainer.notify(trainer.train())
        if not LEAK:
            unsubscribe()
        unsubscribe = None
