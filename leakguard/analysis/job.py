"""Makes one report of a job: which of its processes grow, and how much all of them hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median

from leakguard.analysis.diagnosis import diagnose
from leakguard.analysis.facts.job import JobGrowth, JobMemory, StandsOut
from leakguard.analysis.pod import growing_places, pod_remarks, pod_rows
from leakguard.analysis.tolerance import FAR_MORE, LARGE
from leakguard.analysis.words import job as words
from leakguard.model import Finding, Report, Run
from leakguard.model.finding import SEVERITY, Verdict
from leakguard.model.job import Job, Member, ProcessRow
from leakguard.model.pod import PodRow

# Names that multiprocessing gives the workers of a pool: ``ForkPoolWorker-1``,
# ``SpawnPoolWorker-1``.
_POOLED = "PoolWorker-"


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
    info = replace(
        worst.report.run.info,
        name=words.name(job),
        rank=None,
    )
    beside = tuple(pod_rows(job.pods))
    report = replace(
        worst.report,
        verdict=_verdict(worst, beside),
        run=replace(worst.report.run, info=info, notes=(*job.notes, *worst.report.run.notes)),
        headline=_headline(job, growing, worst, growing_places(beside)),
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
            told = replace(finding, reason=words.of_process(one.row, finding.reason))
            found.setdefault(finding.fingerprint, told)
    return list(found.values())


def _headline(
    job: Job, growing: Sequence[_Process], worst: _Process, places: Sequence[PodRow]
) -> str:
    rows = tuple(one.row for one in growing)
    growth = JobGrowth(job.of, len(job.members), rows, _fastest(rows), tuple(places))
    return words.headline(growth, worst.row, worst.report.headline)


def _fastest(growing: Sequence[ProcessRow]) -> StandsOut | None:
    """Return the process that grows far more than the others; None if there is none."""
    if len(growing) < 2:
        return None
    largest = max(growing, key=lambda row: row.bytes_per_generation)
    rate = largest.bytes_per_generation
    others = median(row.bytes_per_generation for row in growing if row is not largest)
    return None if rate <= FAR_MORE * others or not rate else StandsOut(largest.label, rate, others)


def _remarks(job: Job, judged: Sequence[_Process], growing: Sequence[_Process]) -> list[str]:
    if job.of != "process":  # a log does not measure what its series share
        return []
    ended = [one for one in judged if one.row.state == "lost"]
    pooled = [one for one in ended if _POOLED in (one.member.run.info.role or "")]
    lost = [one for one in ended if one not in pooled]
    memory = JobMemory(
        rows=tuple(one.row for one in judged),
        growing=tuple(one.row for one in growing),
        largest=_holds_most(judged),
        pooled=tuple(one.row for one in pooled),
        lost=tuple((one.row, max(one.member.run.generations, default=0)) for one in lost),
        again=tuple(one.row for one in judged if one.row.restarts),
        outside=sum(one.member.run.info.observer is not None for one in judged),
    )
    return list(words.remarks(memory))


def _holds_most(judged: Sequence[_Process]) -> StandsOut | None:
    """Return a process that holds far more than the others of its kind, growing or not."""
    same = [
        (one.row.private or one.row.rss or 0, one)
        for one in judged
        if one.member.run.info.observer is None and one.row.rank is not None
    ]
    if len(same) < 3:  # of two processes, neither is the exception
        return None
    most, who = max(same, key=lambda pair: pair[0])
    others = median(size for size, one in same if one is not who)
    if most < FAR_MORE * others or most - others < LARGE:
        return None
    return StandsOut(who.row.label, most, others)
