"""Fakes for tests of code that uses leakguard: a clock, a probe, and runs written as stories."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from leakguard.capture.probe import Probe
from leakguard.model import Census, Gauge, Run, RunInfo, Snapshot, TypeCount, Watched
from leakguard.model.snapshot import Moment

__all__ = ["FakeClock", "RunStory", "State", "fake_probe"]


@dataclass(slots=True)
class FakeClock:
    """A clock that moves only when ``advance`` is called; call it for the seconds."""

    seconds: float = 0.0

    def __call__(self) -> float:
        return self.seconds

    def advance(self, seconds: float) -> None:
        """Advance the clock."""
        self.seconds += seconds


def fake_probe(name: str, *values: float) -> Probe:
    """Return a probe that reads ``values`` of metric ``name`` in turn, then repeats the last."""
    pending = list(values)

    def read() -> Mapping[str, int | float]:
        return {name: pending.pop(0) if len(pending) > 1 else pending[0]}

    return read


@dataclass(frozen=True, slots=True)
class State:
    """The state of a process at one moment of a story; ``counts`` are live objects by type."""

    metrics: Mapping[str, int | float] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    bytes: Mapping[str, int] = field(default_factory=dict)
    gauges: Mapping[str, Gauge] = field(default_factory=dict)


@dataclass(slots=True)
class RunStory:
    """Builds a run generation by generation.

    Example::

        story = RunStory(watch={"Env": (2, 2)})
        story.baseline(State({"rss": 4_230_000_000}, {"Env": 2}))
        story.generation(evaluate=State({"rss": 8_520_000_000}, {"Env": 18}))
        run = story.run()
    """

    watch: Mapping[str, tuple[int, int] | None] = field(default_factory=dict)
    info: RunInfo = field(default_factory=RunInfo)
    _snapshots: list[Snapshot] = field(default_factory=list)
    _number: int = 0

    def baseline(self, state: State) -> None:
        """Add the snapshot before the loop."""
        self._add("Run started (baseline)", "baseline", None, None, state)

    def generation(self, **phases: State) -> None:
        """Add a generation with the state at the end of each phase; the last is also its end."""
        self._number += 1
        number, state = self._number, State()
        for name, state in phases.items():
            self._add(f"Gen {number}: After {name}", "phase", name, number, state)
        self._add(f"Gen {number}: End of generation", "generation", None, number, state)

    def run(self) -> Run:
        """Return the run so far."""
        return Run(self.info, tuple(self._snapshots), finished=True)

    def _add(
        self, label: str, moment: Moment, phase: str | None, number: int | None, state: State
    ) -> None:
        snapshot = Snapshot(len(self._snapshots), label, moment, phase, number)
        watched = {
            name: Watched(state.counts[name], expected)
            for name, expected in self.watch.items()
            if name in state.counts
        }
        types = {name: TypeCount(n, state.bytes.get(name)) for name, n in state.counts.items()}
        self._snapshots.append(
            replace(
                snapshot,
                metrics=state.metrics,
                gauges=state.gauges,
                watched=watched,
                census=Census(types, bytes=sum(state.bytes.values())) if types else None,
            )
        )
