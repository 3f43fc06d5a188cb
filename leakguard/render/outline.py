"""The wording, numbers and order that all renderers share; renderers only lay them out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from leakguard.model.census import LargeObject
from leakguard.model.finding import SEVERITY, Cleared, Finding, Ignored
from leakguard.model.metric import METRICS
from leakguard.model.report import Report, TrendRow
from leakguard.model.run import Run
from leakguard.model.snapshot import Snapshot
from leakguard.model.units import format_bytes, format_change, format_size, format_size_change
from leakguard.render import facts
from leakguard.render.facts import percent
from leakguard.render.forecast import forecast_sentence
from leakguard.render.ledger import ledger_section
from leakguard.render.processes import processes_section
from leakguard.render.run_facts import name, notes, run_facts
from leakguard.render.section import Section
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
    "suspect": "something grows; one measurement shows it, a second one is missing",
    "inconclusive": "the run is too short or too noisy to decide",
    "stable": "nothing grows without bound",
}

# Beginnings of a headline that repeat the word of the verdict.
_SAID_ALREADY = ("No leak: ", "Cannot tell: ")

# Growth that is cleared is mentioned if it is at least this share of the growth of live memory.
# Chosen: a hundredth.
_WORTH_SAYING = 0.01

Row = tuple[str, ...]


def worst(reports: Iterable[Report]) -> Report:
    """Return the report with the worst verdict; among equals, the first."""
    return max(reports, key=lambda report: SEVERITY[report.verdict])


def title(report: Report) -> str:
    """Return the name of the run, with its position among the runs of one file."""
    return name(report.run)


def verdict_line(report: Report) -> str:
    """Return the verdict and its sentence: ``LEAK: evaluate_population adds 7.2 GB ...``."""
    return f"{VERDICTS[report.verdict]}: {headline(report)}"


def headline(report: Report) -> str:
    """Return the sentence of the verdict, or the meaning of the verdict if there is none.

    The word of the verdict precedes the sentence, so the sentence does not repeat it.
    """
    sentence = clean(report.headline)
    for said in _SAID_ALREADY:
        sentence = sentence.removeprefix(said)
    return sentence or MEANINGS[report.verdict]


def death(report: Report) -> str | None:
    """Return how the run died, as a sentence; None if it did not."""
    if report.death is None:
        return None
    sentence = clean(report.death.sentence)
    return f"{sentence[:1].upper()}{sentence[1:]}"


def explained(report: Report) -> str | None:
    """Return how much of the growth the findings explain; None without a leak or suspect."""
    balance = report.balance
    if balance is None or not any(f.verdict in ("leak", "suspect") for f in report.findings):
        return None
    told, whole = (format_size(n, balance.growth) for n in (balance.findings, balance.growth))
    of = f"{told.partition(' ')[0]} of {whole} per generation"
    if balance.healthy < _WORTH_SAYING * balance.growth:
        return f"Explained: {of}"
    return f"Explained: {of}; {format_bytes(balance.healthy)} more fills up or is no leak"


def evidence(report: Report, finding: Finding) -> Snapshot | None:
    """Return the snapshot that shows the finding best: its own, or the latest of its phase."""
    for snapshot in report.run.snapshots:
        if finding.serial is not None and snapshot.serial == finding.serial:
            return snapshot
    by_phase = [s for s in report.run.snapshots if finding.phase and s.phase == finding.phase]
    return by_phase[-1] if by_phase else None


def sections(report: Report, trend_rows: int | None = None) -> Iterator[Section]:
    """Yield the sections after the findings, in reading order, without empty ones.

    ``trend_rows`` shortens the trend of a long run to its first and last rows.
    """
    unseen = limits(report)
    for section in (
        processes_section(report),
        _cleared(report),
        _ignored(report),
        _trend(report, trend_rows),
        _parts("phases", "Growth by phase", " per generation", "Phase", _phase_growth(report)),
        ledger_section(report),
        _count_section(report),
        Section("limits", "What this run could not show", sentences=unseen),
        Section("notes", "Notes", sentences=tuple(n for n in notes(report.run) if n not in unseen)),
        Section("run", "This run", ("Fact", "Value"), run_facts(report.run), texts=frozenset({1})),
    ):
        if section.rows or section.sentences:
            yield section


def overview(reports: Sequence[Report]) -> Section:
    """Return the table that precedes several reports: one line per run."""
    rows = tuple(
        (
            title(report),
            VERDICTS[report.verdict],
            facts.title(report.findings[0]) if report.findings else "",
        )
        for report in reports
    )
    columns = ("Run", "Verdict", "What grows")
    return Section("runs", f"{len(reports):,} runs", columns, rows, texts=frozenset({1, 2}))


def by_bug(reports: Iterable[Report]) -> list[list[Report]]:
    """Group the reports with findings by the first one: the same holder and type in any run.

    The bug of most runs comes first. In each group, the report with the fastest growth is first.
    """
    groups: dict[str, list[Report]] = {}
    for report in reports:
        if report.findings:
            groups.setdefault(report.findings[0].fingerprint, []).append(report)
    for group in groups.values():
        group.sort(key=lambda report: -(report.findings[0].bytes_per_generation or 0.0))
    return sorted(groups.values(), key=len, reverse=True)


def bugs(reports: Sequence[Report], groups: Iterable[Sequence[Report]]) -> Section:
    """Return the table that precedes many reports: one line per bug, a group of ``by_bug``."""
    rows = [
        (f"{len(group):,}", VERDICTS[group[0].verdict], facts.title(group[0].findings[0]),
         title(group[0]))
        for group in groups
    ]  # fmt: skip
    calm = [report for report in reports if not report.findings]
    if calm:
        verdicts = dict.fromkeys(VERDICTS[report.verdict] for report in calm)
        rows.append((f"{len(calm):,}", ", ".join(verdicts), "", ""))
    columns = ("Runs", "Verdict", "What grows", "Worst run")
    heading = f"{len(reports):,} runs, by what grows first"
    return Section("runs", heading, columns, tuple(rows), texts=frozenset({1, 2, 3}))


def subject(item: Cleared) -> str:
    """Return the title of a metric that grew, or the name of anything else that grew."""
    metric = METRICS.get(item.metric)
    return metric.title if metric else clean(item.metric)


def limits(report: Report) -> tuple[str, ...]:
    """Return what this run could not have shown."""
    seen = tuple(clean(limit) for limit in report.limits)
    if report.coverage is None:
        return seen
    share = percent(min(1.0, report.coverage))
    return (*seen, f"counted objects account for {share} of memory in use")


def trend_sparkline(report: Report, width: int = 40) -> str:
    """Return ``4.23 GB ▁▃▅▇ 9.45 GB``; empty if the run has fewer than two rows."""
    sizes = [row.rss for row in report.trend]
    if len(sizes) < 2:
        return ""
    return f"{format_size(sizes[0])} {sparkline(sizes, width)} {format_size(sizes[-1])}"


def _cleared(report: Report) -> Section:
    rows = tuple((subject(c), c.pattern, _why(c)) for c in report.cleared)
    columns = ("What", "Pattern", "Why it is no leak")
    return Section("cleared", "Grew, and is not a leak", columns, rows, texts=frozenset({1, 2}))


def _ignored(report: Report) -> Section:
    rows = tuple(
        (item.finding.verdict, _asked(item), facts.title(item.finding)) for item in report.ignored
    )
    columns = ("Verdict", "Pattern", "Finding")
    return Section("ignored", "Ignored on request", columns, rows, texts=frozenset({1, 2}))


def _asked(item: Ignored) -> str:
    """Return the pattern that excludes a finding, with the reason if one was given."""
    return clean(item.pattern if item.reason is None else f"{item.pattern} ({item.reason})")


def _why(item: Cleared) -> str:
    """Return the reason without the name it may begin with: the name is in another column."""
    return clean(item.reason).removeprefix(clean(item.metric)).lstrip(" :,")


def _trend(report: Report, most: int | None) -> Section:
    largest = max((row.rss for row in report.trend), default=0)
    skipped = len(report.trend) - most if most is not None else 0
    head = most // 3 if most is not None and skipped > 0 else 0
    rows = [_trend_row(row, largest) for row in report.trend[:head]]
    if skipped > 0:
        rows.append((f"… {skipped:,} more rows", "", ""))
    rows += [_trend_row(row, largest) for row in report.trend[head + max(skipped, 0) :]]
    remarks = [_growth_sentence(report), _forecast_sentence(report)] if rows else []
    return Section(
        "trend",
        "RSS over the run",
        ("Label", "RAM", "Change"),
        tuple(rows),
        sentences=tuple(filter(None, remarks)),
        spark=trend_sparkline(report),
    )


def _trend_row(row: TrendRow, largest: int) -> Row:
    change = "baseline" if row.change is None else format_size_change(row.change, largest)
    return clean(row.label), format_size(row.rss, largest), change


def _growth_sentence(report: Report) -> str | None:
    growth = report.growth
    if growth is None or growth.rss_before is None or growth.rss_after is None:
        return None
    before, after = growth.rss_before, growth.rss_after
    share = f", {(after - before) / before:+.1%}" if before else ""
    return (
        f"{format_size(before)} at {clean(growth.baseline)}, "
        f"{format_size(after)} at {clean(growth.current)}: "
        f"{format_size_change(after - before)}{share}"
    )


def _forecast_sentence(report: Report) -> str | None:
    if report.forecast is None:
        return None
    return f"All growth together: {forecast_sentence(report.forecast)}."


def _phase_growth(report: Report) -> Mapping[str, float]:
    """Return the growth of each phase; empty for a stable run whose memory shrinks."""
    shrinks = sum(report.phase_growth.values()) <= 0
    return {} if report.verdict == "stable" and shrinks else report.phase_growth


def _parts(key: str, title: str, per: str, head: str, parts: Mapping[str, float]) -> Section:
    whole, total = sum(map(abs, parts.values())), sum(parts.values())
    name = f"{title}: {format_change(total)}{per}"
    sizes = [(clean(label), format_change(part)) for label, part in parts.items()]
    # More than half of what some parts add others take away: shares of that would say nothing.
    if whole > 3 * abs(total):
        return Section(key, f"{name} (one frees what another makes)", (head, "Bytes"), tuple(sizes))
    shares = tuple(abs(part) / whole if whole else 0.0 for part in parts.values())
    rows = tuple((*size, percent(share)) for size, share in zip(sizes, shares, strict=True))
    return Section(key, name, (head, "Bytes", "Share"), rows, shares)


def _count_section(report: Report) -> Section:
    changes = () if report.growth is None else report.growth.counts
    rows = tuple(
        (short_type(c.type), f"{c.before:,}", f"{c.after:,}", f"{c.after - c.before:+,}")
        for c in changes
    )
    return Section("objects", "Objects", ("Type", "Baseline", "Now", "Change"), rows)


def large_objects(run: Run) -> Section:
    """Return the large objects of the latest census that lists any."""
    seen = (s for s in reversed(run.snapshots) if s.census is not None and s.census.large)
    latest = next(seen, None)
    if latest is None or latest.census is None:
        return Section("large", "Large objects")
    rows = tuple(map(_large_row, latest.census.large))
    columns = ("Object", "Bytes", "Retains", "Held by")
    title = f"Large objects at {clean(latest.label)}"
    return Section("large", title, columns, rows, texts=frozenset({3}))


def _large_row(item: LargeObject) -> Row:
    shape = f" {item.shape}" if item.shape is not None else ""
    words = f"{item.type}{shape} {item.dtype or ''} {item.device or ''}"
    retained = "unknown" if item.retained_bytes is None else format_bytes(item.retained_bytes)
    held = "unknown" if item.held_by is None else clean(item.held_by)
    return " ".join(clean(words).split()), format_bytes(item.bytes), retained, held
