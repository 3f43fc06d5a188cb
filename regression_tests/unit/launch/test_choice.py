"""Which kind of step is counted, whatever a program imports: by a clock that is told."""

from __future__ import annotations

import pytest

from leakguard.launch.choice import AS_LONG, Choice
from leakguard.launch.pace import Pace
from leakguard.launch.steps import Rank, StepSource
from leakguard.testing import FakeClock


@pytest.fixture
def clock():
    return FakeClock()


class Counted(Pace):
    """Notes, for each run, what is counted in it, once for each generation that is taken."""

    def __init__(self, clock):
        self.runs = [[]]
        super().__init__(self._note, anew=lambda: self.runs.append([]), clock=clock)

    def _note(self, what, number, taken):
        self.runs[-1] += [what.partition(" ")[2].rstrip("s")] * taken
        return lambda: None


@pytest.fixture
def pace(clock):
    return Counted(clock)


@pytest.fixture
def optimizer(pace):
    """As every program has one that imports torch."""
    return pace.add(StepSource(Rank.OPTIMIZER, "optimizer step", begins=False))


def loop(pace, line=1):
    return pace.add(StepSource(Rank.LOOP, f"round of {line}"))


def steps(pace, clock, seconds, number, *sources):
    for _ in range(number):
        for source in sources:
            pace.step(source)
        clock.advance(seconds)


@pytest.mark.parametrize(("seconds", "number"), [(0.02, 150), (0.3, 12), (2.0, 12)])
def test_loop_is_counted_beside_an_optimizer_that_never_steps(
    pace, clock, optimizer, seconds, number
):
    steps(pace, clock, seconds, number, loop(pace))
    (run,) = pace.runs
    assert len(run) >= 0.7 * number


def test_loop_is_counted_after_one_step_of_an_optimizer(pace, clock, optimizer):
    pace.step(optimizer)
    steps(pace, clock, 0.02, 150, loop(pace))
    (run,) = pace.runs
    assert set(run) == {"round of 1"} and len(run) >= 90


def test_loop_is_counted_where_an_optimizer_has_stepped_for_a_moment(pace, clock, optimizer):
    steps(pace, clock, 0.02, 40, optimizer)
    steps(pace, clock, 0.02, 300, loop(pace))
    assert set(pace.runs[-1]) == {"round of 1"} and len(pace.runs[-1]) >= 200


def test_optimizer_that_steps_in_the_loop_is_counted_and_not_the_loop(pace, clock, optimizer):
    steps(pace, clock, 0.02, 300, loop(pace), optimizer)
    assert {what for run in pace.runs for what in run} == {"optimizer step"}


@pytest.mark.parametrize("steady", [True, False])
def test_optimizer_that_steps_late_takes_over_once_it_has_lasted_half_as_long(
    pace, clock, optimizer, steady
):
    rounds = loop(pace)
    steps(pace, clock, 0.1, 100, rounds)
    steps(pace, clock, 0.1, 100 if steady else 20, rounds, optimizer)
    steps(pace, clock, 0.1, 0 if steady else 80, rounds)
    assert set(pace.runs[0]) == {"round of 1"}
    assert len(pace.runs) == 1 + steady
    if steady:
        assert set(pace.runs[1]) == {"optimizer step"}
        assert len(pace.runs[1]) == pytest.approx(100 * (1 - AS_LONG), abs=8)


def test_steps_of_one_long_epoch_are_counted(pace, clock, optimizer):
    pace.step(pace.add(StepSource(Rank.FRAMEWORK, "epoch")))
    steps(pace, clock, 0.02, 400, optimizer)
    assert set(pace.runs[-1]) == {"optimizer step"} and len(pace.runs[-1]) >= 100


def test_epochs_that_take_over_begin_a_run_of_their_own(pace, clock, optimizer):
    epoch = pace.add(StepSource(Rank.FRAMEWORK, "epoch"))
    for _ in range(20):
        pace.step(epoch)
        steps(pace, clock, 0.02, 150, optimizer)
    assert [set(run) for run in pace.runs] == [{"optimizer step"}, {"epoch"}]
    assert len(pace.runs[1]) == 19


@pytest.mark.parametrize(("number", "counted"), [(60, "optimizer step"), (200, "round of 2")])
def test_loop_after_a_training_is_counted_if_it_lasts_half_as_long(
    pace, clock, optimizer, number, counted
):
    training = loop(pace)
    steps(pace, clock, 0.1, 200, training, optimizer)
    pace.ended(training, whole=True)
    steps(pace, clock, 0.1, number, loop(pace, 2))
    assert pace.runs[-1][-1] == counted


def test_short_loop_after_a_short_training_does_not_replace_it(pace, clock):
    """``for loader in loaders: loader.join()`` after a training in another thread."""
    training = pace.add(StepSource(Rank.THREAD_LOOP, "training", thread=7))
    steps(pace, clock, 0.01, 60, training)
    pace.ended(training, whole=True)
    steps(pace, clock, 0.05, 4, loop(pace))
    assert [set(run) for run in pace.runs] == [{"training"}]


def test_loop_after_what_a_framework_ran_is_counted_though_nobody_tells_of_its_end(pace, clock):
    steps(pace, clock, 0.5, 20, pace.add(StepSource(Rank.FRAMEWORK, "epoch")))
    steps(pace, clock, 0.05, 400, loop(pace, 2))
    assert pace.runs[-1][-1] == "round of 2"


def test_loop_inside_of_an_epoch_is_no_loop_that_comes_after_it(pace, clock):
    epoch = pace.add(StepSource(Rank.FRAMEWORK, "epoch"))
    for _ in range(10):
        pace.step(epoch)
        clock.advance(1.0)
        inner = loop(pace)
        steps(pace, clock, 0.01, 400, inner)
        pace.ended(inner, whole=True)
    assert pace.runs[-1][-1] == "epoch" and pace.runs[-1].count("epoch") >= 8


def test_validation_between_trainings_does_not_take_turns_with_them(pace, clock, optimizer):
    """In a function whose loop ends in each epoch."""
    batches = pace.add(StepSource(Rank.BATCH, "batch"))
    for _ in range(30):
        training = loop(pace)
        steps(pace, clock, 0.05, 60, training, batches, optimizer)
        pace.ended(training, whole=True)
        steps(pace, clock, 0.05, 20, batches)
    assert pace.chosen is optimizer
    assert len(pace.runs) <= 3 and len(pace.runs[-1]) >= 400


def test_nothing_is_better_than_what_comes_too_rarely_to_be_judged(pace, clock, optimizer):
    epoch = pace.add(StepSource(Rank.FRAMEWORK, "epoch"))
    for _ in range(3):
        pace.step(epoch)
        steps(pace, clock, 1.0, 60, optimizer)
    assert {what for run in pace.runs for what in run} == {"optimizer step"}


def test_steps_beside_what_is_counted_are_told_of_ever_more_rarely(clock):
    choice = Choice(clock, lambda: None)
    counted, beside = StepSource(Rank.OPTIMIZER, "step"), StepSource(Rank.LOOP, "round")
    choice.sources += [counted, beside]
    choice.chosen = counted
    passed = told = 0
    while passed < 100_000:
        counted.saw(clock())
        number = choice.told(beside, 1 << 16)
        clock.advance(number * 1e-4)
        passed, told = passed + number, told + 1
    assert told < 200
