"""Child processes whose own memory grows: workers of a pool, the server of a manager."""

from __future__ import annotations

from leakguard.analysis.case import Case
from leakguard.analysis.growth import Evidence, Growth
from leakguard.analysis.tolerance import NOTABLE_BYTES, NOTABLE_COUNTED, notable
from leakguard.model import Holder
from leakguard.model.series import Series
from leakguard.model.units import format_bytes, format_change

_FIX = (
    "look for what is kept in that process: run its function under a guard of its own "
    '(LeakGuard(out="runs/")), or start workers anew now and then (maxtasksperchild, '
    "persistent_workers=False); the objects of another process cannot be counted from here"
)


def offspring(case: Case) -> list[Growth]:
    """Return the child processes that gain private memory in every generation."""
    names = dict.fromkeys(name for end in case.timeline.ends.values() for name in end.children)
    found = (_growing(case, name) for name in names)
    return [growing for growing in found if growing is not None]


def _growing(case: Case, name: str) -> Growth | None:
    series = _series(case, name)
    judged = case.judge(series, noise_floor=NOTABLE_COUNTED)
    rate, since = judged.verdict.rate, judged.started_at
    if not judged.grows or not notable(rate, since, series.generations[-1], NOTABLE_BYTES):
        return None
    first, last = (format_bytes(series.values[at]) for at in (0, -1))
    said = (
        f"the memory that only {name} has grows by {format_change(rate)} per generation, from "
        f"{first} to {last}; this process does not gain it"
    )
    return Growth(
        "child",
        name.partition("(")[2],
        "children",
        rate=rate,
        unit="bytes",
        bytes_rate=rate,
        interval=judged.verdict.interval,
        since=since,
        judged=judged,
        holder=Holder(name, element="", entries=0),
        worst="suspect",
        evidence=(Evidence("child", said),),
        confidence=judged.verdict.confidence,
        fix=_FIX,
    )


def _series(case: Case, name: str) -> Series:
    seen = {g: end.children[name] for g, end in case.timeline.ends.items() if name in end.children}
    return Series(name, "bytes", tuple(seen), tuple(map(float, seen.values())))
