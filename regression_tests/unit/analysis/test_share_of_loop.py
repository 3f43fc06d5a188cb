"""How much of what one look found in a container the loop made: births are noisy, counts exact."""

from __future__ import annotations

from dataclasses import replace

import pytest

from leakguard.analysis import diagnose
from leakguard.analysis.case import Case
from leakguard.analysis.entries import as_counted
from leakguard.analysis.growth import Growth
from leakguard.model.series import Series
from regression_tests.unit.analysis.test_births_tell import MB, ROUNDS, birthplace, holder, run


@pytest.mark.parametrize("seen", [1.0, 0.7, 0.6])
def test_few_samples_of_a_container_do_not_make_less_of_it(seen):
    """What was sampled stands for more or for less by chance; nothing is from before the loop."""
    kept = holder("app.kept[*]", birthplace(7, [seen * MB] * ROUNDS))
    whole = replace(kept, entries=ROUNDS, retained_bytes=ROUNDS * MB)
    (finding,) = diagnose(run(whole)).findings
    assert finding.bytes_per_generation == MB


def test_what_has_no_samples_was_there_before_births_were_recorded():
    kept = holder("app.kept[*]", birthplace(7, [0.2 * MB] * ROUNDS))
    whole = replace(kept, entries=ROUNDS, retained_bytes=ROUNDS * MB)
    (finding,) = (f for f in diagnose(run(whole)).findings if f.held_by == "app.kept[*]")
    assert finding.bytes_per_generation == pytest.approx(0.2 * MB)


@pytest.mark.parametrize(
    ("counted", "looks", "rate"),
    [(10.0, 1, 10.0), (40.0, 1, 20.0), (None, 1, 20.0), (10.0, 2, 20.0)],
)
def test_container_of_one_look_gains_no_more_than_was_counted(counted, looks, rate):
    """The rate of one look is what births say; of two looks it was measured."""
    at = tuple(range(16 - looks, 16))
    seen = Series("app.kept[*]", "count", at, tuple(map(float, at)))
    judged = Case(run()).judge(seen, integer=True)
    kept = Growth(
        "container", "app.kept[*]", "container", rate=20.0, bytes_rate=2_000.0, judged=judged
    )
    entries = None if counted is None else Growth("type", "app.Env", "instances", rate=counted)
    found = as_counted(kept, entries)
    assert (found.rate, found.bytes_rate) == (rate, 100 * rate)


def test_container_that_began_late_is_compared_with_what_came_since_then():
    """Over the whole run, fewer texts came in each generation than the container gained late."""
    at, counts = (2, 42, 72, 110), (33_800.0, 34_250.0, 41_750.0, 51_250.0)
    texts = Case(run()).judge(Series("str", "count", at, counts), integer=True)
    entries = Growth("type", "str", "container", rate=13.0, judged=texts)
    once = Case(run()).judge(Series("app.tail[*]", "count", (110,), (17_000.0,)), integer=True)
    kept = Growth(
        "container", "app.tail[*]", "container", rate=242.0, bytes_rate=2e4, since=43, judged=once
    )
    assert as_counted(kept, entries).rate == 242.0
    assert as_counted(replace(kept, since=2), entries).rate == pytest.approx(160, rel=0.01)
