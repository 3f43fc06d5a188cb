"""Rules that are weighed: a change is made where it is meant, and tried where it could matter."""

from __future__ import annotations

import math
import multiprocessing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import leakguard
from leakguard.analysis import tolerance
from regression_tests.corpus.keys import Key
from regression_tests.corpus.weighing import doubt
from regression_tests.corpus.weighing.doubt import Doubt
from regression_tests.corpus.weighing.loading import diagnose_with
from regression_tests.corpus.weighing.page import page
from regression_tests.corpus.weighing.rules import (
    ENTRY,
    NOTHING,
    Change,
    changes,
    scaled,
)
from regression_tests.corpus.weighing.scales import Weight, weigh, weighed_runs
from regression_tests.corpus.weighing.watching import Watcher

RUN = Path(__file__).parents[3] / "reports" / "env-per-episode" / "run.jsonl"
TOLERANCE = "leakguard.analysis.tolerance"
HALVED = (TOLERANCE, "MAJORITY", "halved")


def in_a_fork(function: Callable[..., Any], *given: Any) -> Any:
    """Call a function in a process of its own: it imports the judgement anew."""
    with multiprocessing.get_context("fork").Pool(1) as pool:
        return pool.apply(function, given)


def said(change: Change | None) -> tuple[str, ...]:
    """Return what is said of the run with a change, which the fork makes."""
    module = "no module" if change is None else change.module
    diagnose = diagnose_with(lambda module, tree: change and change.made_in(tree), module)
    report = diagnose(leakguard.load(RUN))
    found = (f"{f.kind} {f.type} {f.held_by}" for f in report.findings)
    return (report.verdict, *found, *(one.metric for one in report.cleared))


def touched() -> frozenset[Any]:
    """Return what the report about the run could depend on, which the fork finds out."""
    return Watcher().depends_on(leakguard.load(RUN))


def bytes_floor() -> float:
    """Return a number of the judgement, changed."""
    change = Change(TOLERANCE, "BYTES_FLOOR", "halved", 8.0)
    diagnose_with(lambda module, tree: change.made_in(tree), TOLERANCE)
    from leakguard.analysis import tolerance as changed

    return changed.BYTES_FLOOR


@pytest.fixture(autouse=True)
def nothing_noted() -> Iterator[None]:
    doubt.noted.clear()
    yield
    doubt.noted.clear()


def test_each_kind_of_rule_is_found_in_the_code() -> None:
    found = {(change.name, change.how) for change in changes()}
    assert ("tolerance.MAJORITY", "halved") in found
    assert ("growth.Growth.is_weak", "never") in found
    assert ("sources.SOURCES[0]", ENTRY) in found
    assert ("settlement.STEPS[4]", ENTRY) in found
    assert ("claims.types.CLAIMS[0]", ENTRY) in found
    assert ("holders.SIGNS[0]", ENTRY) in found


def test_a_count_stays_a_whole_number_of_one_at_least() -> None:
    assert (scaled(1, 0.5), scaled(1, 2.0), scaled(0.5, 0.5)) == (1, 2, 0.25)


def test_a_number_is_changed_in_the_fork_alone() -> None:
    assert in_a_fork(bytes_floor) == 8.0
    assert tolerance.BYTES_FLOOR != 8.0


def test_what_is_left_out_is_missing() -> None:
    assert in_a_fork(said, None)[0] == "leak"
    first = Change("leakguard.analysis.sources", "SOURCES[0]", ENTRY)
    objects = Change("leakguard.analysis.settlement", "STEPS[2]", ENTRY)
    now = in_a_fork(said, None)
    assert now not in {in_a_fork(said, first), in_a_fork(said, objects)}


def test_a_sign_that_says_yes_always_is_heard() -> None:
    always = Change("leakguard.analysis.settlement", "_is_gauged", "always", True)
    assert in_a_fork(said, always) != in_a_fork(said, None)


def test_a_comparison_that_would_come_out_otherwise_is_noted() -> None:
    share = Doubt(0.5, {HALVED: 0.25})
    assert share > 0.3
    assert doubt.noted == {HALVED}


def test_a_comparison_that_comes_out_the_same_is_not() -> None:
    share = Doubt(0.5, {HALVED: 0.25})
    assert share > 0.1 and share < 1
    assert doubt.noted == set()


def test_arithmetic_carries_the_doubt_along() -> None:
    limit = 2 * Doubt(0.5, {HALVED: 0.25}) + 1
    assert doubt.noted == set()
    assert limit == 2.0
    assert doubt.noted == {HALVED}


def test_a_formula_carries_it_too_and_one_that_fails_for_the_other_value_is_noted() -> None:
    root = doubt.Math().sqrt(Doubt(4.0, {HALVED: 1.0}))
    assert (root.value, dict(root.others)) == (2.0, {HALVED: 1.0})
    assert doubt.Math().log(Doubt(4.0, {HALVED: -1.0})) == math.log(4.0)
    assert doubt.noted == {HALVED}


def test_what_leaves_the_operators_is_noted() -> None:
    assert list(range(Doubt(3, {HALVED: 2}))) == [0, 1, 2]
    assert doubt.noted == {HALVED}


def test_what_a_run_does_not_depend_on_changes_nothing_in_it() -> None:
    known, now = in_a_fork(touched), in_a_fork(said, None)
    idle = [
        change
        for change in changes()
        if change.how != ENTRY and (change.module, change.rule, change.how) not in known
    ]
    assert idle
    assert {in_a_fork(said, change) for change in idle[::40]} == {now}


def test_a_rule_that_decides_is_told_with_what_it_is_worth() -> None:
    run = (Key("set/env-leak", "environment.py"), leakguard.load(RUN))
    wanted = [change for change in changes() if change.rule == "_is_gauged"]
    weights = list(weigh({"set/env-leak": run}, wanted))
    changed = {weight.change.how: weight.changed for weight in weights}
    assert changed == {"never": (), "always": ("set/env-leak",)}


def test_a_finder_that_finds_nothing_is_tried_and_runs_that_take_long_are_left_out() -> None:
    run = (Key("set/env-leak", "environment.py"), leakguard.load(RUN))
    wanted = [c for c in changes() if c.how == NOTHING and c.name == "naming._count_rate"]
    (weight,) = weigh({"set/env-leak": run}, wanted)
    assert weight.changed == ("set/env-leak",)
    assert weighed_runs() == 1
    with pytest.raises(ValueError, match="no run is judged"):
        list(weigh({"set/env-leak": run}, wanted, seconds=0.0))


def test_the_page_has_what_decides_most_first_and_what_decides_nothing_last() -> None:
    idle = Weight(Change(TOLERANCE, "IDLE", "halved", 1.0), 5, 5, (), 0, 0)
    some = Weight(Change(TOLERANCE, "SOME", "halved", 1.0), 5, 5, ("a",), -1, 0)
    most = Weight(Change(TOLERANCE, "MOST", "halved", 1.0), 50, 24, ("a", "b"), 0, 2)
    text = page([idle, some, most], 50, 3)
    assert text.index("MOST") < text.index("SOME") < text.index("IDLE")
    assert "| `tolerance.MOST` | halved: 1 | 50 | 24 | 2 | +0 | +2 |" in text
    assert "- `tolerance.IDLE`: halved (5)" in text
