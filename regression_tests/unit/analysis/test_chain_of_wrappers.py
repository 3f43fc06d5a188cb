"""A function that wraps the one before it each generation: what lies behind it is what grows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from leakguard import diagnose
from leakguard.model import Holder, Hop, Run
from leakguard.testing import RunStory, State

KB = 1_000
ROUNDS = 40
WORDS = 250  # that each wrapper keeps
CELL = "closure cell before of watch.<locals>.observe"
INNER = Hop(CELL, "function")
ROOT = (Hop("__main__", "dict"), Hop(".on_step", "function"))


def wrappers(depth: int, retained: int) -> Holder:
    path = "__main__.on_step" + f" → {CELL}" * depth + "[*]"
    trace = (*ROOT, *(INNER,) * depth, Hop("[*]", "str"))
    return Holder(path, "str", WORDS, retained_bytes=retained, trace=trace)


def told(first: tuple[Holder, ...], last: tuple[Holder, ...]) -> Run:
    """Tell a run that keeps 250 texts of 20 kB more a generation, with holders at two looks."""
    story = RunStory()

    def state(n: int) -> State:
        size = n * 20 * KB
        numbers = {"heap_in_use": 50_000 * KB + size, "rss": 100_000 * KB + size}
        return State(numbers, {"str": 30_000 + n * WORDS}, {"str": 2_000 * KB + size})

    story.baseline(state(0))
    for n in range(1, ROUNDS + 1):
        story.generation(prepare=state(n))
    run, held = story.run(), {5: first, ROUNDS: last}
    return replace(
        run,
        snapshots=tuple(
            replace(s, holders=held[s.generation])
            if s.moment == "generation" and s.generation in held
            else s
            for s in run.snapshots
        ),
    )


def test_chain_of_wrappers_is_named_with_what_to_do():
    whole = ROUNDS * 20 * KB
    run = told((wrappers(1, 100 * KB),), (wrappers(1, whole), wrappers(2, whole - 20 * KB)))
    (finding,) = diagnose(run).findings
    assert finding.verdict == "leak"
    assert finding.held_by == f"__main__.on_step → {CELL}[*]"
    assert "wrap the original each time" in (finding.fix or "")


@pytest.mark.parametrize("depth", [1, 2])
def test_wrappers_that_keep_what_they_always_kept_are_not_blamed(depth):
    both = (wrappers(1, 120 * KB), wrappers(2, 100 * KB))[:depth]
    (finding,) = diagnose(told(both, both)).findings
    assert finding.held_by is None


def test_one_wrapper_that_comes_to_keep_more_is_no_chain():
    run = told((wrappers(1, 100 * KB),), (wrappers(1, ROUNDS * 20 * KB),))
    (finding,) = diagnose(run).findings
    assert finding.held_by is None
