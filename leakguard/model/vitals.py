"""The few numbers of one generation that dashboards show, under the same names for each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from leakguard.model.metric import METRICS
from leakguard.model.snapshot import Snapshot

_MEMORY = {"rss": "rss", "live": "live_memory", "peak": "peak"}


@dataclass(frozen=True, slots=True)
class Vitals:
    """The values of one generation for a dashboard.

    Attributes:
        generation: the generation that ended.
        values: bytes under ``memory/rss``, ``memory/live`` and ``memory/peak``; bytes that a phase
            added to RSS under ``phases/<phase>``; counts of watched classes under
            ``objects/<class>``; the user's own numbers under ``gauges/<name>``. Unknown values are
            left out.
    """

    generation: int
    values: Mapping[str, float]


def vitals_of(snapshot: Snapshot) -> Vitals | None:
    """Return the vitals of a generation's end; None for any other moment."""
    if snapshot.moment != "generation" or snapshot.generation is None:
        return None
    values = {
        **_memory(snapshot.metrics, _MEMORY, "memory/"),
        **_added(snapshot),
        **{f"objects/{name}": float(seen.count) for name, seen in snapshot.watched.items()},
        **{f"gauges/{name}": float(gauge.value) for name, gauge in snapshot.gauges.items()},
    }
    return Vitals(snapshot.generation, values)


def _added(snapshot: Snapshot) -> dict[str, float]:
    added: dict[str, float] = {}
    for phase, total in snapshot.phases.items():
        added |= _memory(total.change, {phase: "rss"}, "phases/")
    return added


def _memory(
    metrics: Mapping[str, int | float], names: Mapping[str, str], prefix: str
) -> dict[str, float]:
    read = {name: METRICS[metric].read(metrics) for name, metric in names.items()}
    return {prefix + name: float(value) for name, value in read.items() if value is not None}
