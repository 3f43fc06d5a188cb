"""Adds a leak to the memory of a recorded run, and simulates calm runs to add leaks to."""

from __future__ import annotations

import random
from dataclasses import replace

from leakguard.model import Run
from leakguard.testing import RunStory, State

MB = 1_000_000
_NUMBERS = ("heap_in_use", "rss", "rss_anonymous", "vms")


def with_leak(run: Run, rate: float) -> Run:
    """Return a recorded run in which each generation leaves ``rate`` bytes more."""
    first = now = run.generations[0]
    shots = []
    for shot in run.snapshots:
        now = now if shot.generation is None else shot.generation
        came, before = (int(rate * max(at - first, 0)) for at in (now, now - 1))
        metrics = {n: v + came * (n in _NUMBERS) for n, v in shot.metrics.items()}
        entry = {n: v + before * (n in _NUMBERS) for n, v in shot.entry.items()}
        shots.append(replace(shot, metrics=metrics, entry=entry))
    return replace(run, snapshots=tuple(shots))


def simulated(seed: int) -> Run:
    """Return a calm run of its own length, noise and shape."""
    chance = random.Random(seed)
    rounds, noise = chance.randint(8, 120), chance.choice((0, 1_000, 50_000, 1_000_000))
    tooth, fill = chance.choice((0, 0, 5)), chance.choice((0, 0, 20 * MB))
    story = RunStory()
    for number in range(rounds + 1):
        size = 80 * MB + chance.gauss(0, noise) + fill * (1 - 0.7**number)
        size += 2 * MB * (number % tooth) if tooth else 0
        state = State({"heap_in_use": int(size), "rss": int(size) + 40 * MB})
        story.generation(train=state) if number else story.baseline(state)
    return story.run()
