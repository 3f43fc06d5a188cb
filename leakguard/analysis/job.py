"""Makes one report of a job: which of its processes grow, and how much all of them hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median

from leakguard.analysis.diagnosis import diagnose
from leakguard.analysis.pod import growing_places, pod_remarks, pod_rows
from leakguard.model import Finding, Report, Run
from leakguard.model.finding import SEVERITY, Verdict
from leakguard.model.job import Job, Member, ProcessRow
from leakguard.model.pod import PodRow
from leakguard.model.units import MB, format_bytes, format_change

# If all processes grow, name the process that grows more than this many times as fast as the median
# of the others. Chosen.
_OUTLIER = 3.0
# A process is named for the memory that it holds if this is at least _HOLDS times the median of the
# others, and at least _HOLDS_BYTES more. Chosen: workers that load the same data differ by less.
_HOLDS, _HOLDS_BYTES = 2.0, 100 * MB
# Names that multiprocessing gives the workers of a pool: ``ForkPoolWorker-1``,
# ``SpawnPoolWorker-1``.
_POOLED = "PoolWorker-"
# The most processes that one sentence names. Chosen.
_NAMED_AT_MOST = 4


@dataclass(frozen=True, slots=True)
class _Process:
    """One process with its report and its row in the table."""

    member: Member
    report: Report
    row: ProcessRow

    @property
    def grows(self) -> bool:
        """True if the process has a leak or a suspect."""
        return SEVERITY[self.report.verdict] >= SEVERITY["suspect"]


def diagnose_job(job: Job) -> tuple[Report, list[Report]]:
    """Return the report of the job and those of its processes.

    The report of the job is that of its worst process, with the findings of the others and a row
    for each process.
    """
    judged = [_judged(member) for member in job.members]
    worst = max(judged, key=_gravity)
    growing = [one for one in judged if one.grows]
    count = len(judged)
    info = replace(
        worst.report.run.info,
        name=f"{job.name}, {'a job of ' if job.of == 'process' else ''}{_counted(job, count)}",
        rank=None,
    )
    beside = tuple(pod_rows(job.pods))
    report = replace(
        worst.report,
        verdict=_verdict(worst, beside),
        run=replace(worst.report.run, info=info, notes=(*job.notes, *worst.report.run.notes)),
        headline=_headline(job, judged, growing, worst, growing_places(beside)),
        findings=tuple(_findings(growing)),
        forecast=None,  # the growth of one process does not predict the memory of all processes
        processes=tuple(one.row for one in judged),
        beside=beside,
        remarks=(*_remarks(job, judged, growing), *pod_remarks(beside)),
    )
    return report, [one.report for one in judged]


def _verdict(worst: _Process, beside: Sequence[PodRow]) -> Verdict:
    """Return the verdict of the job; a place beside the processes that grows is one witness."""
    own = worst.report.verdict
    return "suspect" if growing_places(beside) and SEVERITY[own] < SEVERITY["suspect"] else own


def _judged(member: Member) -> _Process:
    """Diagnose a process; what its own record does not show, one from outside may."""
    report = _report_of(member.run, member.label)
    for seen in member.outside if SEVERITY[report.verdict] < SEVERITY["suspect"] else ():
        other = _report_of(seen, member.label)
        report = other if SEVERITY[other.verdict] >= SEVERITY["suspect"] else report
    return _Process(member, report, _process_row(member, report))


def _report_of(run: Run, label: str) -> Report:
    return diagnose(replace(run, info=replace(run.info, name=label)))


def _process_row(member: Member, report: Report) -> ProcessRow:
    run, first = member.run, next(iter(report.findings), None)
    rate = sum(f.bytes_per_generation or 0.0 for f in report.findings)
    return ProcessRow(
        label=member.label,
        rank=run.info.rank,
        pid=run.info.pid,
        host=run.info.host,
        state=member.state,
        restarts=member.restarts,
        verdict=report.verdict,
        generations=run.generation_count,
        rss=_last(member, "rss"),
        pss=_last(member, "pss"),
        private=_last(member, "private"),
        bytes_per_generation=rate,
        what="" if first is None else _what(first),
    )


def _last(member: Member, metric: str) -> int | None:
    known = (s.metrics[metric] for s in reversed(member.run.snapshots) if metric in s.metrics)
    return next((int(value) for value in known), None)


def _what(finding: Finding) -> str:
    return finding.type.rpartition(".")[2] if finding.type else finding.kind.replace("-", " ")


def _gravity(one: _Process) -> tuple[int, float]:
    """Order by verdict, then by growth. A short process watched from outside comes last."""
    outside = one.member.run.info.observer is not None
    mute = outside and one.report.verdict == "inconclusive"
    return -1 if mute else SEVERITY[one.report.verdict], one.row.bytes_per_generation


def _findings(growing: Sequence[_Process]) -> list[Finding]:
    """Return each finding once, from the worst process that has it."""
    found: dict[str, Finding] = {}
    for one in sorted(growing, key=_gravity, reverse=True):
        for finding in one.report.findings:
            told = replace(finding, reason=f"{one.row.label}: {finding.reason}")
            found.setdefault(finding.fingerprint, told)
    return list(found.values())


# -- sentences ---------------------------------------------------------------------------------


def _headline(
    job: Job,
    judged: Sequence[_Process],
    growing: Sequence[_Process],
    worst: _Process,
    places: Sequence[PodRow],
) -> str:
    if places and not growing:
        names = " and ".join(row.place for row in places)
        rate = format_change(sum(row.bytes_per_minute for row in places))
        return f"{names} grows by {rate} a minute, beside the processes, none of which grows."
    if not growing:
        if worst.report.verdict == "inconclusive" and len(judged) > 1:
            return f"Cannot tell: {worst.row.label}: {_sentence(worst)}"
        if worst.report.verdict == "inconclusive":
            return worst.report.headline
        return f"No leak: none of {_counted(job, len(judged))} grows without bound."
    return f"{_who_grows(job, judged, growing)}: {_sentence(worst)}"


def _sentence(one: _Process) -> str:
    return one.report.headline.removeprefix("Cannot tell: ")


def _who_grows(job: Job, judged: Sequence[_Process], growing: Sequence[_Process]) -> str:
    rest = len(judged) - len(growing)
    names = _labels(growing)
    grow = "grows" if len(growing) == 1 else "grow"
    if len(judged) == 1:
        return f"{names} {grow}"
    if rest == 1:
        return f"{names} {grow}, the other one does not"
    if rest:
        return f"{names} {grow}, the other {rest} do not"
    return f"all {_counted(job, len(judged))} grow{_outlier(growing)}"


def _outlier(growing: Sequence[_Process]) -> str:
    """Name the process that grows far more than the others; empty if there is none."""
    largest = max(growing, key=lambda one: one.row.bytes_per_generation)
    rate = largest.row.bytes_per_generation
    others = median(one.row.bytes_per_generation for one in growing if one is not largest)
    if rate <= _OUTLIER * others or not rate:
        return ""
    return (
        f", {largest.row.label} by {format_change(rate)} per generation, "
        f"the others by {format_change(others)}"
    )


def _labels(processes: Sequence[_Process]) -> str:
    names = [one.row.label for one in processes]
    if len(names) > _NAMED_AT_MOST:
        shown = _NAMED_AT_MOST - 1
        return f"{', '.join(names[:shown])} and {len(names) - shown} more"
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]


def _remarks(job: Job, judged: Sequence[_Process], growing: Sequence[_Process]) -> list[str]:
    if job.of != "process":  # a log does not measure what its series share
        return []
    said = [_together(judged), _joint_growth(growing), _holds_most(judged)]
    ended = [one for one in judged if one.row.state == "lost"]
    pooled = [one for one in ended if _POOLED in (one.member.run.info.role or "")]
    lost = [one for one in ended if one not in pooled]
    if pooled:
        said.append(
            f"{_labels(pooled)} ended without notice, as a Pool terminates its workers at the end "
            "of its `with` block"
        )
    if lost:
        last = [f"generation {max(one.member.run.generations, default=0)}" for one in lost]
        after = last[0] if len(set(last)) == 1 else "the last generation it wrote"
        said.append(f"{_labels(lost)} ended without notice after {after}: killed, or crashed")
    again = [one for one in judged if one.row.restarts]
    if again:
        times = sum(one.row.restarts for one in again)
        said.append(
            f"{_labels(again)} started again, {times} time{'s' if times > 1 else ''} in all; "
            "the last run counts"
        )
    outside = [one for one in judged if one.member.run.info.observer is not None]
    if outside:
        said.append(
            f"{_counted(job, len(outside))} without a guard, observed from outside: their "
            "memory is known, their objects are not"
        )
    return [sentence for sentence in said if sentence]


def _together(judged: Sequence[_Process]) -> str | None:
    """Report the memory of all living processes, with shared pages counted once."""
    rows = [one.row for one in judged]
    rss = sum(row.rss or 0 for row in rows)
    if len(rows) < 2 or not rss:
        return None
    hosts = len({row.host for row in rows})
    where = f" on {hosts} machines" if hosts > 1 else ""
    if any(row.pss is None for row in rows):
        return f"together {format_bytes(rss)} of RSS{where}, shared pages counted in each process"
    pss = sum(row.pss or 0 for row in rows)
    return (
        f"together {format_bytes(pss)}{where} with shared pages counted once "
        f"({format_bytes(rss)} of RSS)"
    )


def _joint_growth(growing: Sequence[_Process]) -> str | None:
    rate = sum(one.row.bytes_per_generation for one in growing)
    return f"together {format_change(rate)} per generation" if len(growing) > 1 and rate else None


def _holds_most(judged: Sequence[_Process]) -> str | None:
    """Name a process that holds far more than the others of its kind, growing or not."""
    same = [
        (one.row.private or one.row.rss or 0, one)
        for one in judged
        if one.member.run.info.observer is None and one.row.rank is not None
    ]
    if len(same) < 3:  # of two processes, neither is the exception
        return None
    most, who = max(same, key=lambda pair: pair[0])
    others = median(size for size, one in same if one is not who)
    if most < _HOLDS * others or most - others < _HOLDS_BYTES:
        return None
    return f"{who.row.label} holds {format_bytes(most)}, the others {format_bytes(others)}"


def _counted(job: Job, count: int) -> str:
    plural = {"process": "processes", "series": "series"}.get(job.of, f"{job.of}s")
    return f"1 {job.of}" if count == 1 else f"{count} {plural}"
