"""The face of the guard takes what a person would write, or says in one line what it wants."""

from __future__ import annotations

import asyncio
import contextlib
import enum
import functools
import gc
import math
import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leakguard import LeakGuard, UsageError, expect_freed, phase
from leakguard.live.active import active_guard, open_phases


class Env:
    """A watched class."""


class Pair(Env):
    """A class of which two are alive in the tests that count."""


class Hostile:
    """Raises where it is asked for a text, a number, a length or its items."""

    def __str__(self) -> str:
        raise RuntimeError("nothing")

    __bool__ = __len__ = __iter__ = __index__ = __float__ = __fspath__ = __call__ = __str__

    def __repr__(self) -> str:
        return "Hostile()"


class Stage(enum.Enum):
    TRAIN = "train"


ANYTHING = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=30),
    st.binary(max_size=10),
    st.lists(st.integers(), max_size=3),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=3),
    st.sampled_from(
        [Env, Env(), Hostile(), Stage.TRAIN, Path("a/b"), print, len, lambda: 3, math.nan, 1j,
         "\udce9", "a\0b", "x" * 1_000, "1%", "50 MB", "SIGUSR1", signal.SIGUSR1, range(3),
         object(), (1, 2), {Env: 2}, {Env: 2.5}, [Env], iter(()), int,
         functools.partial(int, 3)]
    ),
)  # fmt: skip
PATIENT = settings(  # 50 examples each; 20,000 with the profile "many"
    max_examples=settings().max_examples // 2,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=True,
)
NAMES = ["watch", "out", "log", "log_every", "large_object", "max_overhead", "on_signal", "collect",
         "trace", "name", "ignore", "report", "on_leak", "sinks", "max_file_size", "prove",
         "generation_means", "clock"]  # fmt: skip


@pytest.fixture(scope="module")
def guard():
    with LeakGuard(report=None) as running:
        yield running


class Renewed:
    """A running guard that is a new one after some uses: a thousand gauges are asked every time."""

    uses_of_each = 200

    def __init__(self) -> None:
        self._uses, self._guard = 0, LeakGuard(report=None)

    def __call__(self) -> LeakGuard:
        if self._uses % self.uses_of_each == 0:
            self._guard.stop()
            self._guard = LeakGuard(report=None).start()
        self._uses += 1
        return self._guard

    def stop(self) -> None:
        self._guard.stop()


@pytest.fixture(scope="module")
def renewed():
    guards = Renewed()
    yield guards
    guards.stop()


@contextlib.contextmanager
def working_in(folder: Path):
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def accepted(call) -> bool:
    """Make a call; a refusal must be one line and of the package's own."""
    try:
        call()
    except UsageError as refusal:
        assert "\n" not in str(refusal)
        assert len(str(refusal)) < 500
        return False
    return True


@PATIENT
@given(arguments=st.dictionaries(st.sampled_from(NAMES), ANYTHING, min_size=1, max_size=3))
def test_any_arguments_are_taken_or_refused_in_one_line(arguments):
    accepted(lambda: LeakGuard(**arguments))


@settings(PATIENT, max_examples=PATIENT.max_examples // 2)
@given(arguments=st.dictionaries(st.sampled_from(NAMES), ANYTHING, min_size=1, max_size=3))
def test_guard_of_any_arguments_never_ends_a_loop(tmp_path_factory, arguments):
    rounds = []

    def loop() -> None:
        with LeakGuard(**{"report": None, **arguments}) as guard:
            for number in guard.generations(2):
                with guard.phase("work"):
                    rounds.append(number)

    with working_in(tmp_path_factory.mktemp("any")):
        began = accepted(loop)
    assert rounds == ([0, 1] if began else [])
    assert active_guard() is None and open_phases() == () and gc.isenabled()


@PATIENT
@given(name=ANYTHING)
def test_any_name_of_a_phase_is_recorded_or_passed_over(guard, name):
    made = guard.phase(name)
    if isinstance(made, phase):
        with made:
            pass
    assert open_phases() == ()


@settings(PATIENT, max_examples=10)  # each is a look at who holds what
@given(label=ANYTHING, baseline=ANYTHING)
def test_any_label_is_taken(guard, label, baseline):
    before = guard.run.snapshots[-1].serial
    guard.snapshot(label, baseline=baseline)
    guard.inspect(label)
    assert guard.run.snapshots[-1].serial >= before + 2  # a label that comes again ends a round


@PATIENT
@given(name=ANYTHING, value=ANYTHING, capacity=ANYTHING)
def test_any_gauge_of_a_running_guard_is_taken_or_a_note(renewed, name, value, capacity):
    guard = renewed()
    guard.gauge(name, value, capacity)
    guard.gauge("answer", lambda: value)
    with guard.phase("after"):
        pass


@PATIENT
@given(target=ANYTHING, why=ANYTHING)
def test_anything_may_be_expected_to_be_freed(guard, target, why):
    guard.expect_freed(target, why)
    expect_freed(target, why)
    with guard.generation():
        pass


@settings(PATIENT, max_examples=PATIENT.max_examples // 2)  # each has a look at its end
@given(rounds=ANYTHING)
def test_rounds_are_looped_over_or_refused_before_the_loop(renewed, rounds):
    guard = renewed()

    def loop() -> None:
        for number, _ in enumerate(guard.generations(rounds)):
            if number == 2:
                break

    if isinstance(rounds, Hostile):
        return  # to loop over it runs its own code, whose errors are its own
    if isinstance(rounds, int) and rounds > 3:
        rounds = 3
    accepted(loop)


# What is called in the loop, each with so many arguments of any kind.
CALLS = {
    "phase": lambda guard, name, _, __: _entered(guard.phase(name)),
    "gauge": lambda guard, name, value, capacity: guard.gauge(name, value, capacity),
    "expect_freed": lambda guard, target, why, _: guard.expect_freed(target, why),
    "generation": lambda guard, number, _, __: guard.generation(number),
    "snapshot": lambda guard, label, baseline, _: guard.snapshot(label, baseline=baseline),
}


def _entered(made: object) -> None:
    if isinstance(made, phase):
        with made:
            pass


@settings(PATIENT, max_examples=max(2, PATIENT.max_examples // 20))
@given(
    calls=st.lists(
        st.tuples(st.sampled_from(sorted(CALLS)), ANYTHING, ANYTHING, ANYTHING),
        min_size=30, max_size=60,
    )
)  # fmt: skip
def test_any_calls_in_any_order_never_end_a_loop(calls):
    around = active_guard()
    with LeakGuard(report=None) as guard:
        for name, *arguments in calls:
            CALLS[name](guard, *arguments)
    assert guard.run.finished
    assert active_guard() is around and open_phases() == () and gc.isenabled()


# -- what a person would write --------------------------------------------------------------------


def phases_of(guard: LeakGuard) -> list[str]:
    return [s.phase for s in guard.run.snapshots if s.phase]


def test_bare_phase_takes_the_functions_name():
    @phase
    def train(x: int) -> int:
        return x + 1

    class Trainer:
        @phase
        def step(self) -> int:
            return 2

        @staticmethod
        @phase
        def plan() -> int:
            return 3

        @phase
        @classmethod
        def make(cls) -> str:
            return cls.__name__

    with LeakGuard(report=None) as guard:
        assert (train(1), Trainer().step(), Trainer.plan(), Trainer.make()) == (2, 2, 3, "Trainer")
    assert phases_of(guard) == ["train", "step", "plan", "make"]
    assert train.__name__ == "train"


def test_bare_phase_of_a_guard_takes_the_functions_name():
    guard = LeakGuard(report=None)

    @guard.phase
    async def evaluate() -> int:
        return 4

    with guard:
        assert asyncio.run(evaluate()) == 4
    assert phases_of(guard) == ["evaluate"]


def test_phase_is_named_by_anything_that_has_a_text():
    with LeakGuard(report=None) as guard:
        for name in (3, Stage.TRAIN, Path("a/b"), Env, ""):
            with guard.phase(name):
                pass
    assert phases_of(guard) == ["3", f"{Stage.TRAIN}", "a/b", "Env", "(no name)"]


@pytest.mark.parametrize(
    "watch", [Pair, [Pair], (Pair,), {Pair}, {Pair: 2}, {Pair: (1, 2)}, {Pair: None}]
)
def test_classes_may_be_watched_in_many_ways(watch):
    alive = len([Pair(), Pair()])
    kept = [Pair() for _ in range(alive)]
    with LeakGuard(watch, report=None) as guard:
        guard.snapshot("now")
    assert guard.run.snapshots[-1].watched[f"{__name__}.Pair"].count == alive
    kept.clear()


@pytest.mark.parametrize("watch", [{Env: 2.5}, {Env: "two"}, {Env: (1, 2, 3)}, "Env", 7, [3]])
def test_watch_that_means_nothing_is_refused_in_one_line(watch):
    assert not accepted(lambda: LeakGuard(watch))


def test_counts_may_be_numpys():
    numpy = pytest.importorskip("numpy")
    guard = LeakGuard({Env: numpy.int64(2)}, log_every=numpy.int32(3), report=None)
    with guard:
        numbers = list(guard.generations(numpy.arange(4, 7)))
    assert numbers == [4, 5, 6]
    assert guard.run.generations == (4, 5, 6)


@pytest.mark.parametrize(
    ("given_", "share"), [("1%", 0.01), ("0.5 %", 0.005), ("0.02", 0.02), (0.01, 0.01), (1, 1.0)]
)
def test_share_may_be_a_text(given_, share):
    with LeakGuard(max_overhead=given_, report=None) as guard:
        assert guard.run.info.max_overhead == pytest.approx(share)


@pytest.mark.parametrize("given_", ["SIGUSR1", "usr1", signal.SIGUSR1, int(signal.SIGUSR1)])
def test_signal_may_be_a_name(tmp_path, given_):
    before = signal.getsignal(signal.SIGUSR1)
    with LeakGuard(out=tmp_path / "run.jsonl", on_signal=given_, report=None):
        assert signal.getsignal(signal.SIGUSR1) is not before
    assert signal.getsignal(signal.SIGUSR1) is before


def test_member_of_an_enumeration_is_no_loop_although_its_class_is_one():
    with LeakGuard(report=None) as guard, pytest.raises(UsageError, match="not Stage"):
        guard.generations(Stage.TRAIN)


def test_number_stands_for_so_many_generations():
    with LeakGuard(report=None) as guard:
        assert list(guard.generations(3)) == [0, 1, 2]
    assert guard.run.generations == (0, 1, 2)


def test_generations_without_end_go_on_until_the_loop_is_left():
    with LeakGuard(report=None) as guard:
        for number in guard.generations():
            if number == 4:
                break
    assert guard.run.generations == (0, 1, 2, 3, 4)


def test_capacity_may_be_a_size():
    guard = LeakGuard(report=None)
    guard.gauge("buffer", lambda: 10, capacity="50 MB")
    with guard:
        guard.snapshot("now")
    assert guard.run.snapshots[-1].gauges["buffer"].capacity == 50_000_000


def test_gauge_that_is_no_function_is_refused_before_the_run_and_a_note_in_it():
    guard = LeakGuard(report=None)
    assert not accepted(lambda: guard.gauge("buffer", 5))
    with guard:
        guard.gauge("buffer", 5)
        guard.snapshot("now")
    assert "takes a function" in guard.run.snapshots[-1].unavailable["gauge buffer"]


def test_generation_is_a_with_block():
    with LeakGuard(report=None) as guard:
        for _ in range(3):
            with guard.generation(), guard.phase("work"):
                pass
    assert guard.run.generations == (1, 2, 3)
    assert phases_of(guard) == ["work"] * 3


def test_generation_that_is_called_lasts_until_the_next_call():
    with LeakGuard(report=None) as guard:
        for number in (5, 6, 7):
            guard.generation(number)
            with guard.phase("work"):
                pass
    ends = guard.run.generation_ends()
    assert [s.generation for s in ends] == [5, 6, 7]
    assert all(s.phases["work"].times == 1 for s in ends)
    assert ends[-1].census is not None or ends[-1].cost.why == "nothing gained"


def test_baseline_whose_truth_cannot_be_told_is_none():
    with LeakGuard(report=None) as guard:
        guard.snapshot("before", baseline=Hostile())
        guard.snapshot("after", baseline=1)
    assert [s.label for s in guard.run.snapshots][1:3] == ["before", "after (baseline)"]


@pytest.mark.parametrize("number", ["seven", True, 2.5, Env, 10**30])
def test_number_of_a_generation_that_a_file_cannot_hold_is_counted(number):
    with LeakGuard(report=None) as guard:
        for _ in range(2):
            with guard.generation(number):
                pass
        assert list(guard.generations([10**30, 7])) == [10**30, 7]
    assert guard.run.generations == (1, 2, 7)


def test_loop_inside_a_generation_is_a_part_of_it():
    with LeakGuard(report=None) as guard:
        for _ in guard.generations(2):
            assert list(guard.generations("abc")) == ["a", "b", "c"]
    assert guard.run.generations == (0, 1)


def test_async_loop_is_followed():
    async def numbers():
        for number in range(3):
            yield number
            await asyncio.sleep(0)

    async def train(rounds) -> list[int]:
        return [number async for number in guard.generations(rounds)]

    guard = LeakGuard(report=None)
    with guard:
        assert asyncio.run(train(numbers())) == [0, 1, 2]
    assert guard.run.generations == (0, 1, 2)
    with guard:
        assert asyncio.run(train(range(2))) == [0, 1]
    assert guard.run.generations == (0, 1)


def test_async_loop_that_is_left_ends_no_generation_of_the_next():
    """The event loop closes a loop that is left only when the next one has begun."""

    async def train(numbers: range, last: int) -> None:
        async for number in guard.generations(numbers):
            for name in ("play", "learn"):
                with guard.phase(name):
                    await asyncio.sleep(0)
            if number == last:
                break

    async def train_twice() -> None:
        await train(range(5), last=1)
        await train(range(2, 4), last=9)

    guard = LeakGuard(report=None)
    with guard:
        asyncio.run(train_twice())
    ends = guard.run.generation_ends()
    assert [(end.generation, *end.phases) for end in ends] == [
        (number, "play", "learn") for number in range(4)
    ]


def test_error_in_the_body_is_the_users_own_and_ends_its_generation():
    guard = LeakGuard(report=None)
    with pytest.raises(KeyError), guard:
        for number in guard.generations(5):
            if number == 2:
                raise KeyError("mine")
    assert guard.run.finished
    last = guard.run.snapshots[-1]
    assert last.census is not None or last.cost.why == "nothing gained"
