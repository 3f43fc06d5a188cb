"""A loop that a framework runs becomes generations and phases, whatever the framework forgets."""

from __future__ import annotations

import math

import pytest

from leakguard import LeakGuard, UsageError, phase
from leakguard.integrations.division import Division
from leakguard.integrations.framework_loop import FrameworkLoop
from leakguard.testing import FakeClock


def quiet() -> LeakGuard:
    return LeakGuard(report=None)


def test_phase_lasts_until_the_next_and_generation_until_the_end():
    loop = FrameworkLoop(quiet())
    loop.begin()
    for _ in range(3):
        loop.round()
        loop.phase("train")
        loop.phase("evaluate")
    loop.end()
    assert loop.guard.run.generations == (1, 2, 3)
    assert loop.guard.run.phases == ("train", "evaluate")
    assert loop.guard.run.finished


def looks(loop, rounds):
    """Return which of so many generations were looked at, or seen to have gained nothing."""
    loop.begin(rounds)
    for _ in range(rounds):
        loop.round()
    loop.end()
    ends = loop.guard.run.generation_ends()
    return [s.census is not None or s.cost.why == "nothing gained" for s in ends]


def test_second_and_middle_generation_of_a_loop_that_is_announced_as_short_are_looked_at():
    looked = looks(FrameworkLoop(quiet()), 9)
    assert len(looked) == 9
    assert looked[1] and looked[4]


@pytest.mark.parametrize(("steps", "announced"), [(95, 10), (100, 10), (240, None), (None, None)])
def test_steps_of_a_short_loop_are_announced_as_generations(steps, announced, monkeypatch):
    told = []
    monkeypatch.setattr(LeakGuard, "announce", lambda guard, total: told.append(total))
    loop = FrameworkLoop(quiet(), every=10)
    loop.begin(3, steps=steps)
    loop.end()
    assert told == [announced]


def test_so_many_steps_are_a_generation():
    loop = FrameworkLoop(quiet(), every=10)
    loop.begin()
    begun = [step for step in range(0, 40, 4) if loop.step(step)]
    loop.end()
    assert begun == [0, 12, 24, 36]
    assert loop.guard.run.generations == (1, 2, 3, 4)


def test_guard_of_the_user_goes_on_after_the_loop():
    guard = quiet()
    with guard:
        for _ in range(2):
            loop = FrameworkLoop(guard)
            loop.begin()
            loop.round()
            loop.end()
            assert guard.running
    assert not guard.running
    assert guard.run.generations == (1, 2)


def test_loop_that_raises_ends_with_the_users_with():
    guard = quiet()
    with pytest.raises(ZeroDivisionError), guard:
        loop = FrameworkLoop(guard)
        loop.begin()
        loop.round()
        loop.phase("train")
        raise ZeroDivisionError
    assert guard.run.finished


def test_phase_left_open_by_an_exception_does_not_hide_the_next_runs():
    broken = FrameworkLoop(quiet())
    broken.begin()
    broken.generation()
    broken.phase("train")  # what runs now raises, and nobody is told
    loop = FrameworkLoop(quiet())
    loop.begin()
    loop.round()
    loop.phase("train")
    loop.end()
    broken.guard.stop()
    assert loop.guard.run.phases == ("train",)


def test_phase_around_a_guard_that_is_over_does_not_hide_the_next_runs():
    guard = quiet().start()
    left_open = phase("train")
    left_open.__enter__()
    guard.stop()
    with quiet() as guard:
        for _ in guard.generations(2):
            with guard.phase("train"):
                pass
    assert guard.run.phases == ("train",)


@pytest.mark.parametrize("every", [0, -3, 2.5, "10"])
def test_number_of_steps_that_is_none_is_refused_in_one_line(every):
    with pytest.raises(UsageError, match="is not a number of steps, 1 or more"):
        FrameworkLoop(every=every)


def divided(loop, clock, epochs=1, batches=0):
    """Play epochs of 100 steps of 0.1 s, and after each an evaluation of so many batches."""
    for division in (loop._steps, loop._batches.setdefault("evaluate", Division())):
        division.clock = division.wall = clock
    loop.begin(epochs)
    for _ in range(epochs):
        loop.round(100)
        loop.phase("train")
        for _ in range(100):
            loop.step()
            loop.resume("train")
            clock.advance(0.1)
        if batches:
            loop.evaluation("evaluate")
            for _ in range(batches):
                loop.batch("evaluate")
                clock.advance(0.1)
            loop.evaluated()
    loop.end()
    return loop.guard.run


def test_epoch_that_lasts_long_is_divided_and_stays_a_level_above(monkeypatch):
    monkeypatch.setattr("leakguard.live.numbers.MEASURED_SECONDS", math.inf)  # on a slow machine
    run = divided(FrameworkLoop(quiet()), FakeClock(), epochs=2)
    assert len(run.generations) > 20
    told = [end.outer for end in run.generation_ends()]
    assert told[0] == {"epoch": 1}
    assert told[-1] == {"epoch": 2}
    # On a busy machine rounds are passed over, and of those no phase is known.
    assert {phase for end in run.generation_ends() for phase in end.phases} == {"train"}


def test_evaluation_that_lasts_long_is_divided_and_counted_once(monkeypatch):
    monkeypatch.setattr("leakguard.live.numbers.MEASURED_SECONDS", 10.0)
    run = divided(FrameworkLoop(quiet()), FakeClock(), batches=100)
    ends = run.generation_ends()
    assert ends[-1].outer == {"epoch": 1, "evaluation": 1}
    assert sum("evaluate" in end.phases for end in ends) > 10


def test_epoch_is_a_level_above_so_many_steps_too():
    loop = FrameworkLoop(quiet(), every=10)
    loop.begin()
    for epoch in range(2):
        loop.round()
        for step in range(20):
            loop.step(20 * epoch + step)
    loop.end()
    assert [end.outer["epoch"] for end in loop.guard.run.generation_ends()] == [1, 2, 2, 2]


def test_phase_of_an_evaluation_lasts_until_training_resumes():
    loop = FrameworkLoop(quiet())
    loop.begin()
    loop.round()
    loop.phase("train")
    loop.evaluation("validate")
    loop.evaluated()
    kept = bytearray(5_000_000)  # by another callback, at the end of the validation
    loop.resume("train")
    loop.end()
    (end,) = loop.guard.run.generation_ends()
    assert end.phases["validate"].change["heap_in_use"] >= len(kept)
    assert end.phases["train"].times == 2
