"""Limits held against runs told as stories."""

from __future__ import annotations

import pytest

from leakguard.analysis import diagnose
from leakguard.analysis.budget import check
from leakguard.analysis.budget_settings import budget_of
from leakguard.analysis.comparison import compare, regressions
from leakguard.errors import UsageError
from leakguard.model.budget import Budget, PhaseBudget
from leakguard.testing import RunStory, State

MB = 10**6
_ENV = "trading.environment.TradingEnvironment"


def told(*generations, watch=None):
    """Return the diagnosis of a run with one phase ``work`` a generation."""
    story = RunStory(watch=watch or {})
    story.baseline(generations[0])
    for state in generations:
        story.generation(work=state)
    return diagnose(story.run())


def memory(rss, in_use=None, **more):
    live = {} if in_use is None else {"heap_in_use": in_use * MB}
    return State({"rss": rss * MB, **live, **more})


def outcomes(report, **limits):
    return [c.outcome for c in check(report, Budget(verdict="never", **limits))]


def test_growth_is_judged_on_live_bytes_when_they_are_known():
    fragmented = told(*(memory(500 + 50 * g, 100) for g in range(6)))
    assert outcomes(fragmented, growth=MB) == ["kept"]
    leaking = told(*(memory(500, 100 + 5 * g) for g in range(6)))
    assert outcomes(leaking, growth=MB) == ["broken"]


def test_growth_is_judged_on_rss_when_nothing_else_is_known():
    (only,) = check(told(*(memory(500 + 50 * g) for g in range(6))), Budget(MB, verdict="never"))
    assert only.outcome == "broken"
    assert only.fact == "+50.0 MB (RSS (actual RAM))"
    assert only.measured == pytest.approx(50 * MB)


def test_warm_up_generations_do_not_count_as_growth():
    warming = told(memory(100), *[memory(400)] * 5)
    assert outcomes(warming, growth=MB, warmup=1) == ["kept"]
    assert outcomes(warming, growth=MB, warmup=0) == ["kept"]  # one jump is no slope either
    ramp = told(memory(100), memory(300), memory(500), *[memory(500)] * 2)
    assert outcomes(ramp, growth=MB, warmup=0) == ["broken"]
    assert outcomes(ramp, growth=MB, warmup=2) == ["kept"]


def test_one_generation_tells_no_growth():
    (only,) = check(told(memory(100), memory(900)), Budget(MB, verdict="never", warmup=1))
    assert only.outcome == "unknown"
    assert only.measured is None
    assert "2 are needed" in only.fact


def test_what_another_phase_frees_is_no_growth_of_a_phase():
    def told_of(kept):
        story = RunStory()
        story.baseline(memory(500, 100))
        for g in range(6):
            in_use = 100 + kept * g
            story.generation(rollout=memory(500, in_use + 50), train=memory(500, in_use + kept))
        return diagnose(story.run())

    budget = Budget(verdict="never", phases={"rollout": PhaseBudget(growth=MB)})
    (kept,) = check(told_of(0), budget)
    assert kept.outcome == "kept"
    assert "other phases free the rest" in kept.fact
    (broken,) = check(told_of(5), budget)
    assert broken.outcome == "broken"
    assert broken.measured == pytest.approx(5 * MB)


def test_peak_inside_of_a_phase_counts():
    spiking = told(*[memory(100, peak=900 * MB)] * 3)
    assert outcomes(spiking, peak=500 * MB) == ["broken"]
    assert outcomes(spiking, phases={"work": PhaseBudget(peak=500 * MB)}) == ["broken"]
    assert outcomes(spiking, phases={"work": PhaseBudget(peak=950 * MB)}) == ["kept"]
    assert outcomes(spiking, phases={"rest": PhaseBudget(peak=950 * MB)}) == ["unknown"]


@pytest.mark.parametrize("name", ["TradingEnvironment", _ENV])
@pytest.mark.parametrize(("counts", "outcome"), [((2, 2, 2), "kept"), ((2, 18, 2), "broken"),
                                                 ((2, 1, 2), "broken")])  # fmt: skip
def test_constant_count_holds_at_every_generation(name, counts, outcome):
    states = [State({"rss": MB}, {_ENV: count}) for count in counts]
    report = told(*states, watch={_ENV: (2, 2)})
    assert outcomes(report, constant={name: (2, 2)}) == [outcome]


def test_type_that_was_never_counted_is_not_zero():
    assert outcomes(told(memory(1), memory(1)), constant={"Env": (0, 0)}) == ["unknown"]


def test_threads_that_pile_up_break_their_limit():
    piling = told(*(memory(100, threads=4 + g) for g in range(5)))
    assert outcomes(piling, resources={"threads": 0.0}) == ["broken"]
    assert outcomes(piling, resources={"threads": 1.0}) == ["kept"]
    assert outcomes(told(*[memory(100, threads=4)] * 5), resources={"threads": 0.0}) == ["kept"]


def test_run_is_no_regression_of_itself():
    report = told(*(memory(500, 100 + 5 * g) for g in range(6)))
    assert {c.outcome for c in regressions(compare(report, report), Budget())} == {"kept"}


def test_a_little_worse_is_no_regression_and_a_lot_is():
    def worse(rate):
        before = told(*(memory(500, 100 + 10 * g) for g in range(6)))
        after = told(*(memory(500, 100 + rate * g) for g in range(6)))
        checks = regressions(compare(before, after), Budget(verdict="never"))
        return [c.outcome for c in checks if c.subject.startswith("growth")]

    assert worse(11) == ["kept"]
    assert worse(20) == ["broken"]


def test_small_numbers_do_not_regress_by_share_alone():
    before = told(*(memory(500, 100) for _ in range(6)))
    after = told(*(memory(500, 100 + 0.5 * g) for g in range(6)))
    outcomes = {c.outcome for c in regressions(compare(before, after), Budget(verdict="never"))}
    assert outcomes == {"kept"}


def test_runs_are_compared_on_the_same_metric():
    log = told(*(memory(500 + 10 * g) for g in range(6)))
    recorded = told(*(memory(500 + 10 * g, 100) for g in range(6)))
    growth = compare(log, recorded).measures[0]
    assert growth.before == growth.after == pytest.approx(10 * MB)


def test_settings_become_a_budget():
    assert budget_of(
        {
            "growth": "1 GB",
            "verdict": "suspect",
            "threads": 0,
            "constant": {"Env": 2, "Agent": [16, 17]},
            "phases": {"train": {"growth": "10 MB"}},
        }
    ) == Budget(
        growth=10**9,
        verdict="suspect",
        resources={"threads": 0.0},
        constant={"Env": (2, 2), "Agent": (16, 17)},
        phases={"train": PhaseBudget(growth=10 * MB)},
    )


@pytest.mark.parametrize("bad", [{"constant": {"Env": True}}, {"tolerance": -1}, {"warmup": 1.5},
                                 {"phases": {"x": 3}}, {"threads": "none"}])  # fmt: skip
def test_setting_that_means_nothing_is_refused(bad):
    with pytest.raises(UsageError, match=next(iter(bad))):
        budget_of(bad)
