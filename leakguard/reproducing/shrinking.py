"""Leaves out of a test what it does not need, as long as it fails on the finding."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from leakguard.reproducing.draft import Draft
from leakguard.reproducing.trial import Trial

_FEWEST_ROUNDS = 3  # fewer generations than this have no verdict


def shrunk(draft: Draft, trial: Trial) -> Draft:
    """Return the smallest test found that fails on the finding twice.

    The tests that failed are kept, so that one that fails only by chance is given up for the one
    before.
    """
    accepted = [draft]
    for step in (_fewer_rounds, _fewer_turns, _fewer_statements, _tidied):
        accepted += step(accepted[-1], trial)
    while len(accepted) > 1 and trial.played(accepted[-1], again=True).outcome != "fails":
        accepted.pop()
    return accepted[-1]


def _fewer_rounds(draft: Draft, trial: Trial) -> Iterator[Draft]:
    fewer = replace(draft, rounds=_FEWEST_ROUNDS)
    if trial.fails(fewer):
        yield fewer


def _fewer_turns(draft: Draft, trial: Trial) -> Iterator[Draft]:
    while draft.times > 1:
        draft = replace(draft, times=draft.times // 2)
        if not trial.fails(draft):
            return
        yield draft


def _fewer_statements(draft: Draft, trial: Trial) -> Iterator[Draft]:
    """Leave out statements, many at a time at first, then fewer, from the end of the test."""
    step = draft.size
    while step and not trial.is_over:
        end, before = draft.size, draft.size
        while end > 0:
            gone = set(range(max(0, end - step), end))
            less = draft.without(gone).tidy()
            end -= len(gone)
            if less.unknown <= draft.unknown and trial.fails(less):
                draft = less
                end = min(end, draft.size)
                yield draft
        step = min(step, draft.size)
        # A statement may be needed by one that is gone by now: look at single ones once more.
        step = 1 if step == 1 and draft.size < before else step // 2


def _tidied(draft: Draft, trial: Trial) -> Iterator[Draft]:
    less = draft.tidy()
    if less != draft and trial.fails(less):
        yield less
