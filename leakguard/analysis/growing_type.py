"""Types whose live count grows, and which of them belong to one defect."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass

from leakguard.analysis.case import Case, Judged
from leakguard.analysis.contribution import Contribution, type_contribution
from leakguard.analysis.series import judge_series
from leakguard.analysis.timeline import bytes_reader, count_reader
from leakguard.model import Watched
from leakguard.model.series import Series

# Handles that torch makes when a tensor's storage is asked for; the storage itself is counted.
_HANDLES = frozenset({"torch.storage.UntypedStorage"})

_FRAMEWORKS = frozenset({"numpy", "torch", "gymnasium", "pandas", "scipy", "tqdm", "matplotlib"})


@dataclass(frozen=True, slots=True)
class GrowingType:
    """A type that gains live objects every generation."""

    name: str
    judged: Judged
    contribution: Contribution
    watched: Watched | None
    bytes_rate: float | None

    @property
    def phase(self) -> str | None:
        """The phase that adds them."""
        return self.contribution.main_phase()

    @property
    def breaks_expectation(self) -> bool:
        """True when the user said how many there should be and there are more."""
        return self.watched is not None and self.watched.too_many

    @property
    def is_users(self) -> bool:
        """True for classes of the watched program."""
        return is_users(self.name)


def is_users(type_name: str) -> bool:
    """Return true for a class of the watched program: not builtin, standard or a framework's."""
    root, dot, _ = type_name.partition(".")
    standard = sys.stdlib_module_names - {"__main__"}
    return bool(dot) and root not in standard and root not in _FRAMEWORKS


def growing_types(case: Case) -> list[GrowingType]:
    """Return the types that grow, each with its phase and bytes."""
    names = (name for name in case.timeline.changing_types() if name not in _HANDLES)
    found = (_growing(case, name) for name in names)
    return [growing for growing in found if growing is not None]


def by_phase(types: Iterable[GrowingType]) -> dict[str | None, list[GrowingType]]:
    """Group types by the phase that adds them, in each group the most telling type first.

    Watched types that break their expectation come first, then the program's own classes, then
    the rest; larger growth in bytes goes before smaller.
    """
    groups: dict[str | None, list[GrowingType]] = {}
    for growing in types:
        groups.setdefault(growing.phase, []).append(growing)
    for group in groups.values():
        group.sort(key=_rank)
    return groups


def _rank(growing: GrowingType) -> tuple[bool, bool, bool, float, float]:
    return (
        not growing.breaks_expectation,
        not growing.watched,
        not growing.is_users,
        -(growing.bytes_rate or 0.0),
        -growing.judged.verdict.rate,
    )


def _growing(case: Case, name: str) -> GrowingType | None:
    series = case.timeline.best_series(name, count_reader(name))
    if len(series) < 2 or series.values[-1] <= series.values[0]:
        return None
    watched = _last_watched(case, name)
    # What the user vouches for is no warm-up: there the baseline counts as a round.
    vouched = watched is not None and watched.expected is not None
    values = (series.baseline, *series.values) if vouched and series.baseline is not None else None
    verdict = judge_series(values or series.values, integer=True)
    if verdict.growing != "yes":
        return None
    judged = Judged(series, verdict, with_baseline=values is not None)
    contribution = type_contribution(case.run, name, count_reader(name), judged.started_at)
    return GrowingType(name, judged, contribution, watched, _bytes_rate(case, series))


def _last_watched(case: Case, name: str) -> Watched | None:
    seen = (s.watched.get(name) for s in reversed(case.run.snapshots))
    return next((watched for watched in seen if watched is not None), None)


def _bytes_rate(case: Case, counts: Series) -> float | None:
    series = case.timeline.series(counts.name, bytes_reader(counts.name), counts.phase, "bytes")
    if len(series) < 2:
        return None
    rounds = series.generations[-1] - series.generations[0]
    return (series.values[-1] - series.values[0]) / max(rounds, 1)
