"""What the report of a job says: which of its processes grow, and how much all of them hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from leakguard.analysis.facts.job import JobGrowth, JobMemory
from leakguard.analysis.words import LISTED
from leakguard.analysis.words.headline import CANNOT_TELL
from leakguard.model.job import Job, ProcessRow
from leakguard.model.pod import PodRow
from leakguard.model.units import format_bytes, format_change

_PLURALS = {"process": "processes", "series": "series"}


def name(job: Job) -> str:
    """Return the name of a job in its report."""
    of = "a job of " if job.of == "process" else ""
    return f"{job.name}, {of}{counted(job.of, len(job.members))}"


def counted(of: str, count: int) -> str:
    """Return a number of processes, or of what else a member of a job is."""
    return f"1 {of}" if count == 1 else f"{count} {_PLURALS.get(of, f'{of}s')}"


def of_process(row: ProcessRow, reason: str) -> str:
    """Return the reason of a finding with the process that has it."""
    return f"{row.label}: {reason}"


def headline(job: JobGrowth, worst: ProcessRow, said: str) -> str:
    """Return what grows; ``said`` is the headline of the worst process."""
    of_worst = said.removeprefix(CANNOT_TELL)
    if job.growing:
        return f"{_who_grows(job)}: {of_worst}"
    if job.places:
        names = " and ".join(row.place for row in job.places)
        rate = format_change(sum(row.bytes_per_minute for row in job.places))
        return f"{names} grows by {rate} a minute, beside the processes, none of which grows."
    if worst.verdict == "inconclusive":
        return said if job.count == 1 else f"{CANNOT_TELL}{worst.label}: {of_worst}"
    return f"No leak: none of {counted(job.of, job.count)} grows without bound."


def remarks(job: JobMemory) -> Iterator[str]:
    """Yield what else is worth telling of the processes of a job."""
    yield from _together(job.rows)
    rate = sum(row.bytes_per_generation for row in job.growing)
    if len(job.growing) > 1 and rate:
        yield f"together {format_change(rate)} per generation"
    if job.largest is not None:
        most, others = map(format_bytes, (job.largest.bytes, job.largest.others))
        yield f"{job.largest.label} holds {most}, the others {others}"
    if job.pooled:
        yield (
            f"{_labels(job.pooled)} ended without notice, as a Pool terminates its workers at the "
            "end of its `with` block"
        )
    if job.lost:
        last = {f"generation {at}" for _, at in job.lost}
        after = next(iter(last)) if len(last) == 1 else "the last generation it wrote"
        lost = _labels([row for row, _ in job.lost])
        yield f"{lost} ended without notice after {after}: killed, or crashed"
    if job.again:
        times = sum(row.restarts for row in job.again)
        yield (
            f"{_labels(job.again)} started again, {times} time{'s' if times > 1 else ''} in all; "
            "the last run counts"
        )
    if job.outside:
        yield (
            f"{counted('process', job.outside)} without a guard, observed from outside: their "
            "memory is known, their objects are not"
        )


def pod_remarks(held: int, growing: Sequence[PodRow]) -> Iterator[str]:
    """Yield what files in RAM hold beside the processes, and the places of them that grow."""
    if held:
        yield f"beside the processes, files in RAM hold {format_bytes(held)}"
    for row in growing:
        yield (
            f"{row.place} grows by {format_change(row.bytes_per_minute)} a minute: a file there "
            "holds memory until it is removed, whether a process uses it or not"
        )


def _who_grows(job: JobGrowth) -> str:
    rest = job.count - len(job.growing)
    who = f"{_labels(job.growing)} {'grows' if len(job.growing) == 1 else 'grow'}"
    if job.count == 1:
        return who
    if rest:
        return f"{who}, the other {'one does' if rest == 1 else f'{rest} do'} not"
    return f"all {counted(job.of, job.count)} grow{_fastest(job)}"


def _fastest(job: JobGrowth) -> str:
    if job.fastest is None:
        return ""
    most, others = map(format_change, (job.fastest.bytes, job.fastest.others))
    return f", {job.fastest.label} by {most} per generation, the others by {others}"


def _labels(rows: Sequence[ProcessRow]) -> str:
    names = [row.label for row in rows]
    if len(names) > LISTED:
        shown = LISTED - 1
        return f"{', '.join(names[:shown])} and {len(names) - shown} more"
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]


def _together(rows: Sequence[ProcessRow]) -> Iterator[str]:
    """Yield the memory of all living processes, with shared pages counted once."""
    rss = sum(row.rss or 0 for row in rows)
    if len(rows) < 2 or not rss:
        return
    hosts = len({row.host for row in rows})
    where = f" on {hosts} machines" if hosts > 1 else ""
    if any(row.pss is None for row in rows):
        yield f"together {format_bytes(rss)} of RSS{where}, shared pages counted in each process"
        return
    pss = sum(row.pss or 0 for row in rows)
    yield (
        f"together {format_bytes(pss)}{where} with shared pages counted once "
        f"({format_bytes(rss)} of RSS)"
    )
