"""Generations that are too short to measure each are passed over, and counted all the same."""

from __future__ import annotations

import itertools
import random

import pytest

import leakguard
from leakguard import LeakGuard
from leakguard.capture.births import birth_record
from leakguard.live.meter import CostMeter
from leakguard.live.numbers import _EARLY_SECONDS, MEASURED_SECONDS, Numbers
from leakguard.testing import FakeClock

ROUNDS = 3_000


@pytest.mark.parametrize("seconds", [0.0005, 0.01, 0.1])
def test_measuring_keeps_to_its_share_of_the_run(seconds):
    clock, own = FakeClock(), FakeClock()
    meter = CostMeter(clock, own)
    numbers = Numbers(0.01, meter, random.Random(3))

    def measure():
        with numbers.charged():
            own.advance(0.001)
        clock.advance(0.001)

    measured = []
    for number in range(round(200 / seconds)):
        if numbers.are_due():
            measured.append(number)
            meter.charged(measure)
            numbers.choose()
        clock.advance(seconds)
    allowed = MEASURED_SECONDS + _EARLY_SECONDS + 0.003 * 200
    assert 0.9 * allowed <= 0.001 * len(measured) <= allowed + 0.002
    if seconds < 0.1:  # of the first seconds, a twentieth; and not all of it at the very beginning
        first = [number for number in measured if number * seconds < 4]
        assert 200 < len(first) < 300
        assert sum(number * seconds < 1 for number in first) < len(first) / 2
    gaps = {later - before for before, later in itertools.pairwise(measured[-30:])}
    assert len(gaps) > 1  # not in step with the program


def test_without_a_limit_everything_is_measured():
    own = FakeClock()
    meter = CostMeter(FakeClock(), own)
    numbers = Numbers(None, meter)

    def measure():
        with numbers.charged():
            own.advance(100)

    meter.charged(measure)
    assert numbers.are_due()


class Order:
    def __init__(self, number):
        self.number, self.lines = number, bytearray(4_000)


@pytest.fixture
def played(tmp_path):
    kept, seen = [], []
    with LeakGuard(out=tmp_path / "run.jsonl", report=None) as guard:
        for number in guard.generations(range(1, ROUNDS + 1)):
            with guard.phase("work"):
                kept.append(Order(number))
            with guard.phase("rest"):
                sum(range(500))
            seen.append(number)
    assert len(kept) == len(seen) == ROUNDS
    return guard, leakguard.load(tmp_path / "run.jsonl")


def test_generations_that_were_passed_over_are_counted(played):
    guard, run = played
    passed = sum(s.passed or 0 for s in run.snapshots)
    assert passed > ROUNDS / 2
    assert len(run.generations) + passed == run.generation_count == ROUNDS
    assert run.generations_until(None) == guard.run.generation_count == ROUNDS
    assert run.generations[-1] == ROUNDS  # the last one is always measured
    assert ROUNDS // 2 + 1 in run.generations  # and the middle one
    numbers = [s.generation for s in run.snapshots if s.moment == "generation"]
    gaps = [s.passed or 0 for s in run.snapshots if s.moment == "generation"]
    assert [b - a - 1 for a, b in itertools.pairwise(numbers)] == gaps[1:]


@pytest.mark.skipif(birth_record._births is None, reason="the compiled part is not here")
def test_generations_that_were_passed_over_have_cohorts_of_their_own(played):
    _, run = played
    last = next(s.births for s in reversed(run.snapshots) if s.births)
    made = max((p for p in last.places if p.cohorts), key=lambda p: p.bytes)
    assert last.generations == ROUNDS
    assert len(made.cohorts) > 16
    *full, _ = made.cohorts
    assert all(cohort.rounds == full[0].rounds for cohort in full)
    each = [cohort.bytes / cohort.rounds for cohort in full]
    assert max(each) < 3 * sorted(each)[len(each) // 2]  # none stands for those passed over, too


def test_leak_of_generations_that_were_passed_over_has_its_rate_phase_and_line(played):
    _, run = played
    findings = leakguard.diagnose(run).findings
    (finding,) = [f for f in findings if f.type and f.type.endswith("Order")]
    assert finding.verdict == "leak"
    assert finding.count_per_generation == pytest.approx(1, rel=0.1)
    assert finding.phase == "work"
    assert finding.started_at is not None and finding.started_at <= 3


def test_first_run_of_a_phase_is_measured_whenever_it_comes():
    with LeakGuard(report=None) as guard:
        for number in guard.generations(range(ROUNDS)):
            with guard.phase("work"):
                pass
            if number == ROUNDS - 77:
                with guard.phase("checkpoint"):
                    pass
    ends = {end.generation: end for end in guard.run.generation_ends()}
    assert ends[ROUNDS - 77].phases.keys() == {"checkpoint"}
    assert guard.run.phases == ("work", "checkpoint")
    assert guard.run.generation_count == ROUNDS


def test_peak_of_a_generation_that_was_passed_over_is_told(tmp_path):
    with LeakGuard(report=None) as guard:
        for number in guard.generations(range(ROUNDS)):
            if number == ROUNDS - 200:
                large = bytearray(b"x" * 200_000_000)
                del large
    ends = guard.run.generation_ends()
    assert ROUNDS - 200 not in [end.generation for end in ends]
    peaks = {end.generation: end.metrics["peak"] for end in ends}
    after = min(number for number in peaks if number > ROUNDS - 200)
    before = max(number for number in peaks if number < ROUNDS - 200)
    assert peaks[after] - peaks[before] > 150_000_000


def test_promise_is_judged_at_the_end_of_its_generation_even_there():
    kept = []
    with LeakGuard(report=None) as guard:
        for number in guard.generations(range(ROUNDS)):
            if number == ROUNDS - 100:
                kept.append(Order(number))
                guard.expect_freed(kept[0], "replaced")
    judged = {s.generation: s.expectations for s in guard.run.snapshots if s.expectations}
    assert list(judged) == [ROUNDS - 100]


def test_phase_that_runs_very_often_is_measured_sometimes_and_counted_always():
    with LeakGuard(report=None, max_overhead=1e-6) as guard:
        for _ in guard.generations(range(3)):
            for _ in range(2_000):
                with guard.phase("step"):
                    pass
    totals = [end.phases["step"] for end in guard.run.generation_ends()]
    assert [total.times for total in totals] == [2_000] * 3


def test_log_has_each_generation(tmp_path):
    with (
        (tmp_path / "training.log").open("w", encoding="utf-8") as log,
        LeakGuard(log=log, report=None) as guard,
    ):
        for _ in guard.generations(range(200)):
            pass
    assert leakguard.load(tmp_path / "training.log").generations == tuple(range(200))
