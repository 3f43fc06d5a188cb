"""Tests of a trainer with an event bus; every trainer subscribes, none leaves. LG_CLEAN=1 repairs."""
import os
import pytest

CLEAN = os.environ.get("LG_CLEAN") == "1"


class EventBus:
    def __init__(self):
        self.listeners = {}

    def on(self, name, fn):
        self.listeners.setdefault(name, []).append(fn)

    def off(self, name, fn):
        self.listeners[name].remove(fn)

    def emit(self, name, *args):
        for fn in self.listeners.get(name, ()):
            fn(*args)


BUS = EventBus()


class Trainer:
    def __init__(self, width=400):
        self.weights = [0.1 * i for i in range(width * 100)]
        self.steps = 0
        BUS.on("tick", self.on_tick)

    def on_tick(self, n):
        self.steps += n

    def train(self):
        for _ in range(3):
            self.weights = [w * 0.99 for w in self.weights]
        BUS.emit("tick", 3)

    def close(self):
        BUS.off("tick", self.on_tick)


@pytest.mark.memory_budget(growth="500 kB")
def test_training_keeps_nothing(memory_budget):
    for generation in memory_budget.generations(6):
        trainer = Trainer()
        trainer.train()
        if CLEAN:
            trainer.close()


@pytest.mark.memory_budget(constant={Trainer: 0})
def test_trainers_are_gone():
    trainer = Trainer()
    trainer.train()
    if CLEAN:
        trainer.close()


def test_old_trainer_is_freed(expect_freed):
    trainer = Trainer()
    trainer.train()
    if CLEAN:
        trainer.close()
    expect_freed(trainer, "closed after training")


def test_unrelated():
    assert sum(range(10)) == 45
