"""The wording, numbers and order that every renderer shares; renderers only lay them out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from leakguard.model.finding import SEVERITY, Finding
from leakguard.model.report import Report
from leakguard.model.snapshot import Snapshot
from leakguard.model.units import GB, KB, MB, format_bytes, format_change
from leakguard.render.facts import percent
from leakguard.render.sparkline import sparkline
from leakguard.render.text import clean, short_type

VERDICTS = {
    "leak": "LEAK",
    "suspect": "SUSPECT",
    "inconclusive": "INCONCLUSIVE",
    "stable": "STABLE",
}

MEANINGS = {
    "leak": "memory grows without bound; two independent measurements agree",
    "suspect": "something grows; one measurement says so, a second one is missing",
    "inconclusive": "the run is too short or too noisy to tell",
    "stable": "nothing grows without bound",
}

_LEDGER = {
    "tensors": "Tensors",
    "arrays": "Arrays",
    "python": "Other Python objects",
    "interpreter": "Interpreter, held free",
    "allocator": "Allocator, held free (fragmentation)",
    "shared": "Shared and file-backed",
    "native": "Native, not explained",
    "unexplained": "Not explained",
}


class Row(NamedTuple):
    """A label and its value."""

    label: str
    value: str


class TrendLine(NamedTuple):
    """One line of the trend table; ``skipped`` counts the rows left out before it."""

    label: str
    ram: str
    change: str
    skipped: int = 0


class Share(NamedTuple):
    """One part of a whole: bytes as text, the bytes, and the share of all parts' sizes."""

    label: str
    value: str
    bytes: float
    share: float


class ClearedLine(NamedTuple):
    """What grew and is not a leak."""

    metric: str
    pattern: str
    reason: str


def size(amount: float, like: float | None = None) -> str:
    """Return memory with two decimals, ``8.52 GB``, in the unit that fits ``like`` or itself."""
    for unit, scale in (("GB", GB), ("MB", MB), ("kB", KB)):
        if abs(amount if like is None else like) >= scale:
            return f"{amount / scale:.2f} {unit}"
    return f"{amount:.0f} B"


def change_of_size(amount: float, like: float | None = None) -> str:
    """Return a difference with its sign, ``+4.29 GB``."""
    return ("+" if amount >= 0 else "") + size(amount, like)


def worst(reports: Iterable[Report]) -> Report:
    """Return the report with the gravest verdict, the first one of equals."""
    return max(reports, key=lambda report: SEVERITY[report.verdict])


def verdict_line(report: Report) -> str:
    """Return the verdict and its sentence: ``LEAK: evaluate_population adds 7.2 GB ...``."""
    headline = clean(report.headline) or MEANINGS[report.verdict]
    return f"{VERDICTS[report.verdict]}: {headline}"


def title(report: Report) -> str:
    """Return the name of the run, with its place among the runs of one file."""
    info = report.run.info
    name = clean(info.name or info.command or "this run")
    rank = f", rank {info.rank}" if info.rank is not None else ""
    part, parts = report.run.part
    return f"{name}{rank}" + (f" (run {part} of {parts})" if parts > 1 else "")


def evidence(report: Report, finding: Finding) -> Snapshot | None:
    """Return the snapshot that shows the finding best: the named one, or its phase's latest."""
    for snapshot in report.run.snapshots:
        if finding.serial is not None and snapshot.serial == finding.serial:
            return snapshot
    by_phase = [s for s in report.run.snapshots if finding.phase and s.phase == finding.phase]
    return by_phase[-1] if by_phase else None


def cleared(report: Report) -> tuple[ClearedLine, ...]:
    """Return what grew and is no leak, with the reason."""
    return tuple(
        ClearedLine(clean(item.metric), item.pattern, clean(item.reason)) for item in report.cleared
    )


def ledger(report: Report) -> tuple[Share, ...]:
    """Return the parts of the growth of RSS; the shares are of the sum of all sizes."""
    return _shares((_LEDGER.get(k, clean(k)), float(v)) for k, v in report.ledger.items())


def ledger_total(report: Report) -> str:
    """Return the growth of RSS that the parts of the ledger sum to."""
    return format_change(sum(report.ledger.values()))


def phase_growth(report: Report) -> tuple[Share, ...]:
    """Return the bytes that each phase adds per generation, in the order of the report."""
    return _shares((clean(k), float(v)) for k, v in report.phase_growth.items())


def phase_total(report: Report) -> str:
    """Return what a whole generation adds: the sum over its phases."""
    return format_change(sum(report.phase_growth.values()))


def trend(report: Report, most: int | None = None) -> tuple[TrendLine, ...]:
    """Return the trend as text, of a long run the first and the last rows."""
    largest = max((row.rss for row in report.trend), default=0)
    rows = [
        TrendLine(clean(row.label), size(row.rss, largest), _change(row.change, largest))
        for row in report.trend
    ]
    if most is None or len(rows) <= most:
        return tuple(rows)
    head = most // 3
    tail = rows[len(rows) - (most - head) :]
    resumed = tail[0]._replace(skipped=len(rows) - most)
    return (*rows[:head], resumed, *tail[1:])


def trend_sparkline(report: Report, width: int = 40) -> str:
    """Return ``4.23 GB ▁▃▅▇ 9.45 GB``, or nothing when the run has fewer than two rows."""
    sizes = [row.rss for row in report.trend]
    if len(sizes) < 2:
        return ""
    return f"{size(sizes[0])} {sparkline(sizes, width)} {size(sizes[-1])}"


def counts(report: Report) -> tuple[tuple[str, str, str, str], ...]:
    """Return the object counts that the growth compares: type, before, after, change."""
    if report.growth is None:
        return ()
    return tuple(
        (short_type(c.type), f"{c.before:,}", f"{c.after:,}", f"{c.after - c.before:+,}")
        for c in report.growth.counts
    )


def growth_line(report: Report) -> str | None:
    """Return RSS at the baseline and now, in one sentence; None when either is unknown."""
    growth = report.growth
    if growth is None or growth.rss_before is None or growth.rss_after is None:
        return None
    change = growth.rss_after - growth.rss_before
    share = f", {change / growth.rss_before:+.1%}" if growth.rss_before else ""
    return (
        f"{size(growth.rss_before)} at {clean(growth.baseline)}, "
        f"{size(growth.rss_after)} at {clean(growth.current)} ({change_of_size(change)}{share})"
    )


def limits(report: Report) -> tuple[str, ...]:
    """Return what this run could not have seen."""
    seen = tuple(clean(limit) for limit in report.limits)
    if report.coverage is None:
        return seen
    return (*seen, f"{percent(report.coverage)} of the memory in use was accounted for by objects")


def notes(report: Report) -> tuple[str, ...]:
    """Return what the reader skipped and which probes were unavailable, each once."""
    reasons = {
        f"{clean(probe)}: {clean(reason)}": None
        for snapshot in report.run.snapshots
        for probe, reason in snapshot.unavailable.items()
    }
    return (*(clean(note) for note in report.run.notes), *reasons)


def run_facts(report: Report) -> tuple[Row, ...]:
    """Return what is known of the run: what was read, where it ran, how long, at what cost."""
    info = report.run.info
    rows = (
        ("Run", title(report)),
        ("Command", info.command),
        ("Started", info.started),
        ("Read from", {"guard": "a live guard", "jsonl": "a recorded run", "log": "a text log"}.get(
            info.source, info.source)),
        ("Snapshots", _extent(report)),
        ("Python", info.python),
        ("Platform", info.platform),
        ("Packages", ", ".join(f"{k} {v}" for k, v in info.packages.items())),
        ("Memory limit", format_bytes(info.memory_limit) if info.memory_limit else None),
        ("Cost of watching", watching_cost(report)),
    )  # fmt: skip
    return tuple(Row(label, clean(value)) for label, value in rows if value)


def watching_cost(report: Report) -> str | None:
    """Return the seconds that the snapshots took, and their share of the run where it is known."""
    spent = sum(s.cost.seconds for s in report.run.snapshots)
    if not spent:
        return None
    known = [s.seconds for s in report.run.snapshots if s.seconds is not None]
    lasted = known[-1] if known else 0.0
    share = f", {spent / lasted * 100:.2g} % of the run" if lasted else ""
    return f"{spent:.3g} s{share}"


def _extent(report: Report) -> str:
    generations = len(report.run.generations)
    text = f"{len(report.run.snapshots):,}"
    if generations:
        text += f" in {generations:,} generation{'' if generations == 1 else 's'}"
    ended = report.run.finished or report.run.info.source == "log"
    return text if ended else f"{text}, not finished"


def _change(change: int | None, largest: int) -> str:
    return "baseline" if change is None else change_of_size(change, largest)


def _shares(parts: Iterable[tuple[str, float]]) -> tuple[Share, ...]:
    known: Sequence[tuple[str, float]] = tuple(parts)
    whole = sum(abs(size) for _, size in known)
    return tuple(
        Share(label, format_change(size), size, abs(size) / whole if whole else 0.0)
        for label, size in known
    )
