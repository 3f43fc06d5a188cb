"""Several leaks at once: each with its own phase, holder, number and bytes, counted once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from leakguard import diagnose
from leakguard.model import Holder, Run
from leakguard.model.units import MB
from leakguard.testing import RunStory, State

ARRAY = "numpy.ndarray"
GENERATIONS = 12


class Told:
    """A run whose phases add arrays to containers, by how many and how large they are."""

    def __init__(self, **phases: tuple[tuple[str, int, int], ...]) -> None:
        """Give each phase its (container, arrays a generation, bytes of each)."""
        self.phases = phases
        self.bounds: dict[str, int] = {}

    def run(self) -> Run:
        story, count, size = RunStory(), 0, 0
        story.baseline(self._state(0, 0))
        for generation in range(1, GENERATIONS + 1):
            ends = {}
            for phase, added in self.phases.items():
                for path, number, each in added:
                    gained = self._entries(path, number, generation)
                    gained -= self._entries(path, number, generation - 1)
                    count, size = count + gained, size + gained * each
                ends[phase] = self._state(count, size)
            story.generation(**ends)
        run = story.run()
        return replace(run, snapshots=tuple(map(self._with_holders, run.snapshots)))

    def _state(self, count: int, size: int) -> State:
        metrics = {"rss": 200 * MB + size, "heap_in_use": 100 * MB + size}
        return State(metrics, {ARRAY: 500 + count, "list": 1000}, {ARRAY: size, "list": 56_000})

    def _entries(self, path: str, number: int, generation: int) -> int:
        return min(number * generation, self.bounds.get(path, 10**9))

    def _with_holders(self, snapshot):
        if snapshot.moment != "generation":
            return snapshot
        added = [entry for phase in self.phases.values() for entry in phase]
        holders = [self._holder(*entry, snapshot.generation) for entry in added]
        return replace(snapshot, holders=tuple(sorted(holders, key=lambda h: -h.retained_bytes)))

    def _holder(self, path: str, number: int, each: int, generation: int) -> Holder:
        entries = self._entries(path, number, generation)
        before = self._entries(path, number, generation - 1)
        streak = generation - 1 if entries > before else 0
        return Holder(path, ARRAY, entries, before, streak, self.bounds.get(path),
                      retained_bytes=entries * each, fingerprint=f"of {path}")  # fmt: skip


def test_leak_under_a_fill_has_its_own_number_and_bytes():
    told = Told(collect=(("app.window[*]", 25, 5_000), ("app.kept[*]", 10, 5_000)))
    told.bounds["app.window[*]"] = 1_000
    report = diagnose(told.run())
    (finding,) = report.findings
    assert (finding.held_by, finding.verdict) == ("app.kept[*]", "leak")
    assert finding.count_per_generation == pytest.approx(10)
    assert finding.bytes_per_generation == pytest.approx(50_000)
    assert "app.window[*]" in {c.metric for c in report.cleared}


def test_the_same_place_in_several_modules_is_one_leak():
    hooks = tuple((f"app.net._modules['{k}']._forward_hooks[*]", 3, 4_000) for k in range(4))
    (finding,) = diagnose(Told(probe=hooks).run()).findings
    assert finding.count_per_generation == pytest.approx(12)
    assert finding.bytes_per_generation == pytest.approx(48_000)


class InProbes(Told):
    """The same where the arrays of one container lie in probes that one look found in it."""

    def _state(self, count: int, size: int) -> State:
        state, probes = super()._state(count, size), count // 3
        counts, sizes = {**state.counts, "app.Probe": probes}, {**state.bytes, "app.Probe": 56}
        return State(state.metrics, counts, sizes)

    def _holder(self, path: str, number: int, each: int, generation: int) -> Holder:
        held = super()._holder(path, number, each, generation)
        return replace(held, element="app.Probe") if path == "app.bus[*]" else held

    def _with_holders(self, snapshot):
        told = super()._with_holders(snapshot)
        last = snapshot.generation == GENERATIONS
        return replace(told, holders=tuple(h for h in told.holders if last or h.element == ARRAY))


def test_a_container_is_charged_with_what_it_keeps_and_leaves_the_rest_to_others():
    cache, bus = ("app.cache[*]", 2, 20_000), ("app.bus[*]", 1, 100_000)
    told = InProbes(collect=(cache,), observe=(bus,)).run()
    found = {one.held_by: one.bytes_per_generation for one in diagnose(told).findings}
    assert found == {
        "app.cache[*]": pytest.approx(40_000, rel=0.1),
        "app.bus[*]": pytest.approx(100_000, rel=0.1),
    }
