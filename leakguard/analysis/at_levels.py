"""Judges a run at each of its levels, and tells at which of them a row grows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from leakguard.analysis.case import Case
from leakguard.analysis.facts.harmless import Harmless
from leakguard.analysis.forecast import with_forecast
from leakguard.analysis.levels import (
    OuterRounds,
    begun,
    enclosing,
    gains_of_rounds,
    is_evaluation,
    outer_rounds,
    whole_series,
)
from leakguard.analysis.naming import named
from leakguard.analysis.settlement import settle
from leakguard.analysis.sources import growths
from leakguard.analysis.timeline import LIVE_MEMORY
from leakguard.analysis.tolerance import FEWEST_LOOKS, MAJORITY, NEARLY_ALL
from leakguard.analysis.words.evidence import of_rounds
from leakguard.model import Finding, Run
from leakguard.model.finding import SEVERITY
from leakguard.model.level import STEP, Level
from leakguard.model.snapshot import EVALUATIONS

# Verdicts that tell a growth which another level need not prove.
_TOLD = ("leak", "suspect")


def with_levels(
    run: Run, case: Case, found: Sequence[Finding], cleared: Sequence[Harmless]
) -> tuple[list[Finding], tuple[Harmless, ...]]:
    """Return the findings of a run at all of its levels, each with its level, and what is cleared.

    ``found`` and ``cleared`` are those of the generations of ``case``, which may be a selection of
    all that ``run`` has.
    """
    levels = outer_rounds(run)
    if levels and run is not case.run:
        case = Case(run)
    told = list(found)
    for rounds in levels:
        told = _joined(told, _found_at(rounds, case))
    if any(finding not in found for finding in told):
        cleared = [one for one in cleared if one.metric not in LIVE_MEMORY]
    return [_placed(case, levels, finding) for finding in told], tuple(cleared)


def _found_at(rounds: OuterRounds, whole: Case) -> list[Finding]:
    """Return what grows where these rounds change, in the numbers of the whole run.

    The rounds are few, and three values that rise by chance look like growth. So the memory of the
    whole run must show that the growth comes from them: up at each, and level between. Two rounds
    make a leak only where a holder keeps what both have made.
    """
    memory = whole.memory()
    if memory is None:
        return []
    gains = gains_of_rounds(rounds, whole.timeline, memory.series.name)
    if gains is None or not gains.step_up:
        return []
    case = Case(rounds.run, rounds)
    for name in LIVE_MEMORY:
        series = whole_series(rounds, whole.timeline, name)
        if series is not None:
            case.timeline.know(series)
    ledger = settle(case, growths(case))
    findings = (named(case, row) for row in ledger.rows)
    mine = (f for f in findings if f.verdict in _TOLD and _is_of(f, rounds))
    told = [_in_generations(f, rounds, whole) for f in mine]
    few = len(gains.at_rounds) < FEWEST_LOOKS
    return [replace(f, verdict="suspect") if few and f.held_by is None else f for f in told]


def _is_of(finding: Finding, rounds: OuterRounds) -> bool:
    """Return whether a finding may be of these rounds, by its phase.

    Where each epoch ends with an evaluation, both levels find what either keeps.
    """
    return finding.phase is None or is_evaluation(finding.phase) == rounds.is_evaluation


def _in_generations(finding: Finding, rounds: OuterRounds, whole: Case) -> Finding:
    """Return a finding per round as one per generation, with its level."""
    each, began = rounds.parts, finding.started_at
    if rounds.is_evaluation and began is not None:
        began = max(began, 1)  # what comes before the first evaluation is no round
    interval, size = finding.interval, finding.bytes_per_generation
    counted = finding.count_per_generation
    told = replace(
        finding,
        started_at=None if began is None else rounds.first.get(began, began),
        count_per_generation=None if counted is None else counted / each,
        bytes_per_generation=None if size is None else size / each,
        interval=None if interval is None else (interval[0] / each, interval[1] / each),
        reason=of_rounds(finding.reason, rounds.level),
        ruled_out=tuple(of_rounds(line, rounds.level) for line in finding.ruled_out),
        level=Level(rounds.level, enclosing(whole.run), rounds.begun, size),
        forecast=None,
    )
    return with_forecast(whole, told)


def _joined(found: Sequence[Finding], outer: Sequence[Finding]) -> list[Finding]:
    """Return the findings of two levels together; each row is told once, at its clearest.

    A finding with a holder tells more than memory that grows, and a leak more than a suspicion.
    """
    told = list(found)
    for new in outer:
        alike = [old for old in told if _is_same(old, new)]
        if all(_clarity(new) > _clarity(old) for old in alike):
            told = [old for old in told if old not in alike] + [new]
    return told


def _is_same(one: Finding, other: Finding) -> bool:
    """Return whether two findings are of one row, as far as they name it.

    Memory without a holder may be that of any other finding.
    """
    if one.held_by is not None and other.held_by is not None:
        return one.held_by == other.held_by or one.fingerprint == other.fingerprint
    return (one.held_by is None and one.created_at in (None, other.created_at)) or (
        other.held_by is None and other.created_at in (None, one.created_at)
    )


def _clarity(finding: Finding) -> tuple[int, bool]:
    return SEVERITY[finding.verdict], finding.held_by is not None


def _placed(case: Case, levels: Sequence[OuterRounds], finding: Finding) -> Finding:
    """Return a finding with the level at which it grows, if that can be told."""
    if finding.verdict not in _TOLD:
        return finding
    phase = finding.phase
    within = enclosing(case.run)
    if phase is not None and is_evaluation(phase):
        noun = EVALUATIONS[phase.rpartition("/")[2]]
        if within is None and not begun(case.run, noun):
            return finding  # a phase of each generation, whatever its name
        return replace(finding, level=_of_evaluation(case, levels, finding, noun))
    if finding.level is not None or within is None:
        return finding
    return replace(finding, level=_of_steps_or_rounds(case, levels, finding, within))


def _of_evaluation(case: Case, levels: Sequence[OuterRounds], finding: Finding, noun: str) -> Level:
    """Return the level of what an evaluation keeps."""
    times = begun(case.run, noun)
    known = next((rounds for rounds in levels if rounds.level == noun), None)
    size = finding.bytes_per_generation
    each = None if known is None or size is None or times < 2 else size * known.parts
    return Level(noun, enclosing(case.run), times, each)


def _of_steps_or_rounds(
    case: Case, levels: Sequence[OuterRounds], finding: Finding, within: str
) -> Level | None:
    """Return whether the growth goes on within the rounds or comes from round to round.

    None if the rounds are so short that this cannot be told.
    """
    rounds = next((one for one in levels if one.level == within), None)
    times = begun(case.run, within)
    if rounds is None:
        lone = times == 1 and len(case.run.generations) > 1
        return Level(STEP, within, times) if lone else None
    memory = case.memory()
    gains = None
    if memory is not None:
        gains = gains_of_rounds(rounds, case.timeline, memory.series.name)
    if gains is None or gains.share > MAJORITY:
        return None
    if gains.fraction >= NEARLY_ALL:
        size = finding.bytes_per_generation
        return Level(within, within, times, None if size is None else size * rounds.parts)
    return Level(STEP, within, times) if gains.fraction <= (1 + gains.share) / 2 else None
