"""What earlier loops of a process left behind: of a loop that loads it is no leak, else it is one.

Each loop that ``leakguard run`` counts has a run of its own, and the last one is reported. A
training before an evaluation of the same length must not be forgotten because of that.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from leakguard.analysis.diagnosis import diagnose, diagnose_briefly
from leakguard.analysis.words import headline as words
from leakguard.model import Report, Run


def left_behind(run: Run) -> str | None:
    """Return what grew in the run of an earlier loop, in a sentence; None if nothing did."""
    found = diagnose_briefly(run).findings
    if not found or found[0].verdict not in ("leak", "suspect"):
        return None
    return words.left_behind(found[0])


def diagnose_last(run: Run, earlier: Iterable[Run]) -> Report:
    """Return the report of the last loop of a process.

    Among what it could not show is what those of ``earlier`` that are loops of this process left
    behind.
    """
    told = ((one, left_behind(one)) for one in earlier if _are_of_one_process(one, run))
    beside = tuple(words.beside(one, left) for one, left in told if left is not None)
    report = diagnose(run)
    return replace(report, limits=(*beside, *report.limits))


def _are_of_one_process(one: Run, other: Run) -> bool:
    known, same = one.info, other.info
    told = (known.pid, known.host, known.command)
    return known.pid is not None and told == (same.pid, same.host, same.command)
