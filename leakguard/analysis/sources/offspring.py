"""Child processes whose own memory grows: workers of a pool, the server of a manager."""

from __future__ import annotations

from leakguard.analysis.case import Case
from leakguard.analysis.facts.measured import ChildGrows
from leakguard.analysis.growth import Evidence, Growth
from leakguard.analysis.tolerance import NOTABLE_BYTES, NOTABLE_COUNTED, notable
from leakguard.model import Holder
from leakguard.model.series import Series


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
    measured = ChildGrows(name, rate, series.values[0], series.values[-1])
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
        evidence=(Evidence("child", measured),),
        confidence=judged.verdict.confidence,
        fix="child",
    )


def _series(case: Case, name: str) -> Series:
    seen = {g: end.children[name] for g, end in case.timeline.ends.items() if name in end.children}
    return Series(name, "bytes", tuple(seen), tuple(map(float, seen.values())))
