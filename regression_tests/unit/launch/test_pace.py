"""Which steps are counted, and how many make a generation: by a clock that is told."""

from __future__ import annotations

import itertools
import threading
import time

import pytest

from leakguard.launch.main_wait import Wait
from leakguard.launch.pace import (
    FEWEST_OF_A_SIZE,
    FULL_SECONDS,
    SAME_SIZE,
    Pace,
)
from leakguard.launch.steps import Rank, StepSource
from leakguard.testing import FakeClock


class Begun:
    """Counts generations and the ends that were asked for."""

    def __init__(self):
        self.words, self.numbers, self.taken, self.ended = [], [], [], 0

    def __call__(self, what, number, taken):
        self.words.append(what)
        self.numbers.append(number)
        self.taken.append(taken)
        return self.end

    def end(self):
        self.ended += 1


@pytest.fixture
def begun():
    return Begun()


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def pace(begun, clock):
    return Pace(begun, clock=clock)


def steps(pace, clock, source, number, seconds):
    for _ in range(number):
        pace.step(source)
        clock.advance(seconds)


def test_fast_optimizer_steps_are_grouped_to_a_third_of_a_second_in_the_end(pace, clock, begun):
    optimizer = pace.add(StepSource(Rank.OPTIMIZER, "optimizer step", begins=False))
    steps(pace, clock, optimizer, 30_000, 0.01)
    assert set(begun.words) == {"2 optimizer steps"}
    assert begun.taken[:FEWEST_OF_A_SIZE] == [1] * FEWEST_OF_A_SIZE
    assert begun.taken[5 * FEWEST_OF_A_SIZE :][:100] == [16] * 100  # 0.32 s each
    assert begun.numbers == list(itertools.accumulate(begun.taken))


def test_a_second_of_training_has_enough_generations_to_judge(pace, clock, begun):
    optimizer = pace.add(StepSource(Rank.OPTIMIZER, "optimizer step", begins=False))
    steps(pace, clock, optimizer, 3000, 0.0003)
    assert 24 <= len(begun.words) <= 60


@pytest.mark.parametrize("rank", [Rank.OPTIMIZER, Rank.RESET, Rank.LOOP])
@pytest.mark.parametrize("slower", [2, 10, 50])
def test_loaded_machine_gives_no_fewer_generations(rank, slower):
    def generations(seconds):
        begun, clock = Begun(), FakeClock()
        pace = Pace(begun, clock=clock)
        steps(pace, clock, pace.add(StepSource(rank, "step")), 3000, seconds)
        return begun.numbers[-1], len(begun.numbers)

    (_, quiet), (_, loaded) = generations(0.0003), generations(0.0003 * slower)
    assert loaded >= quiet >= 24


def test_steps_that_slow_down_in_the_middle_make_no_larger_generations(pace, clock, begun):
    optimizer = pace.add(StepSource(Rank.OPTIMIZER, "optimizer step", begins=False))
    steps(pace, clock, optimizer, 3000, 0.001)
    size = begun.taken[-1]
    steps(pace, clock, optimizer, 3000, FULL_SECONDS)
    assert max(begun.taken) <= 2 * size


def test_slow_epochs_are_a_generation_each_and_the_last_is_whole(pace, clock, begun):
    epoch = pace.add(StepSource(Rank.FRAMEWORK, "epoch", " of Lightning"))
    optimizer = pace.add(StepSource(Rank.OPTIMIZER, "optimizer step", begins=False))
    for _ in range(10):
        pace.step(epoch)
        steps(pace, clock, optimizer, 100, 0.02)
    pace.finish()
    steps_before = begun.words.index("1 epoch of Lightning")  # of the first epoch
    assert begun.words[steps_before:] == ["1 epoch of Lightning"] * 9
    assert begun.numbers[steps_before:] == list(range(1, 10))
    assert begun.ended == 1  # the others end when the next one begins


def test_epochs_of_an_hour_give_way_to_optimizer_steps(pace, clock, begun):
    epoch = pace.add(StepSource(Rank.FRAMEWORK, "epoch"))
    optimizer = pace.add(StepSource(Rank.OPTIMIZER, "optimizer step", begins=False))
    for _ in range(2):
        pace.step(epoch)
        steps(pace, clock, optimizer, 3600, 1.0)
    assert set(begun.words) == {"1 optimizer step"}
    assert len(begun.words) < 12 * SAME_SIZE


def test_environment_resets_give_way_to_the_optimizer_a_replay_buffer_delays(pace, clock, begun):
    optimizer = pace.add(StepSource(Rank.OPTIMIZER, "optimizer step", begins=False))
    reset = pace.add(StepSource(Rank.RESET, "environment reset"))
    steps(pace, clock, reset, 100, 0.1)
    for _ in range(100):
        steps(pace, clock, reset, 1, 0.0)
        steps(pace, clock, optimizer, 1, 0.1)
    assert pace.chosen is optimizer
    from_here = begun.words.index("1 optimizer step")
    assert set(begun.words[from_here:]) == {"1 optimizer step"}
    assert begun.numbers[from_here] == 1 and begun.numbers[-1] >= 40


def test_environment_resets_are_counted_where_no_optimizer_comes(pace, clock, begun):
    pace.add(StepSource(Rank.OPTIMIZER, "optimizer step", begins=False))
    reset = pace.add(StepSource(Rank.RESET, "environment reset"))
    steps(pace, clock, reset, 1000, 0.1)
    assert set(begun.words) == {"1 environment reset"}
    assert begun.taken[2 * FEWEST_OF_A_SIZE :][:100] == [4] * 100  # 0.4 s each


def test_loop_that_was_a_preparation_gives_way(pace, clock, begun):
    first = pace.add(StepSource(Rank.LOOP, "round", " of the loop at a.py:1"))
    steps(pace, clock, first, 3, 1.0)
    pace.ended(first, whole=True)
    second = pace.add(StepSource(Rank.LOOP, "round", " of the loop at a.py:9"))
    steps(pace, clock, second, 30, 1.0)
    assert begun.words == ["1 round of the loop at a.py:1"] * 2 + (
        ["1 round of the loop at a.py:9"] * 29
    )


@pytest.mark.parametrize(("rounds", "counted"), [(9, 0), (60, 50)])
def test_loop_that_lasts_half_as_long_as_the_one_before_is_counted(begun, clock, rounds, counted):
    anew = []
    pace = Pace(begun, anew=lambda: anew.append(len(begun.words)), clock=clock)
    before = pace.add(StepSource(Rank.LOOP, "round", " of the loop at a.py:1"))
    steps(pace, clock, before, 20, 1.0)
    pace.ended(before, whole=True)
    clock.advance(5.0)
    after = pace.add(StepSource(Rank.LOOP, "round", " of the loop at a.py:9"))
    steps(pace, clock, after, rounds, 1.0)
    numbers = [words.rpartition(":")[2] for words in begun.words]
    assert numbers == ["1"] * 19 + ["9"] * counted
    assert begun.numbers == [*range(1, 20), *range(1, counted + 1)]
    assert anew == ([19] if counted else [])


def test_optimizer_is_counted_after_a_loop_without_one(pace, clock, begun):
    before = pace.add(StepSource(Rank.LOOP, "round", " of the loop at a.py:1"))
    steps(pace, clock, before, 20, 1.0)
    pace.ended(before, whole=True)
    optimizer = pace.add(StepSource(Rank.OPTIMIZER, "optimizer step", begins=False))
    steps(pace, clock, optimizer, 30, 1.0)
    assert begun.words[19:] == ["1 optimizer step"] * 20


def test_steps_that_come_while_a_generation_begins_are_not_counted(clock):
    """As those of other threads do, or of what a collection of garbage calls."""
    begun = []

    def begin(what, number, taken):
        begun.append(number)
        assert [pace.step(loop, 9) for loop in (first, second)] == [1, 1]
        return lambda: None

    pace = Pace(begin, clock=clock)
    first, second = (pace.add(StepSource(Rank.LOOP, "round", f" {n}")) for n in "ab")
    steps(pace, clock, first, 5, 1.0)
    assert begun == [1, 2, 3, 4]


def test_round_counts_while_another_thread_tells_of_its_own_loop(begun):
    telling, told = threading.Event(), threading.Event()

    def main_wait():
        telling.set()
        told.wait(0.05)  # the other thread still tells when the main thread's round begins
        return

    pace = Pace(begun, main_wait=main_wait)
    loop = pace.add(StepSource(Rank.LOOP, "round"))
    pace.every = 1
    while pace.chosen is not loop:
        pace.step(loop)
        time.sleep(0.05)
    counted = len(begun.words)
    beside = pace.add(StepSource(Rank.THREAD_LOOP, "round", " beside", thread=1))
    for number in range(1, 4):
        telling.clear()
        other = threading.Thread(target=pace.step, args=(beside,))
        other.start()
        assert telling.wait(10)
        pace.step(loop)
        other.join()
        beside.unseen = 0
        assert len(begun.words) == counted + number


def test_named_calls_count_from_the_first_on(pace, clock, begun):
    named = pace.add(StepSource(Rank.NAMED, "call", " of evolve"))
    steps(pace, clock, named, 8, 0.1)
    assert len(begun.words) == 8


def test_nothing_else_counts_where_a_function_was_named(pace, clock, begun):
    named = pace.add(StepSource(Rank.NAMED, "call", " of evolve"))
    optimizer = pace.add(StepSource(Rank.OPTIMIZER, "optimizer step", begins=False))
    steps(pace, clock, optimizer, 100, 0.1)
    steps(pace, clock, named, 3, 0.1)
    assert begun.words == ["1 call of evolve"] * 3


def test_size_that_the_user_sets_stays(begun, clock):
    pace = Pace(begun, every=10, clock=clock)
    named = pace.add(StepSource(Rank.NAMED, "call"))
    steps(pace, clock, named, 50_000, 0.0001)
    assert set(begun.words) == {"10 calls"}
    assert len(begun.words) == 5000


def test_long_run_has_thousands_of_generations_and_no_more(pace, clock, begun):
    optimizer = pace.add(StepSource(Rank.OPTIMIZER, "optimizer step", begins=False))
    steps(pace, clock, optimizer, 86_400 * 5, 0.2)
    assert 3 * SAME_SIZE < len(begun.words) < 12 * SAME_SIZE


def test_steps_that_began_slowly_are_grouped_anew(pace, clock, begun):
    rollout = pace.add(StepSource(Rank.FRAMEWORK, "rollout"))
    steps(pace, clock, rollout, 2, 1.0)
    steps(pace, clock, rollout, 10_000, 0.001)
    assert begun.taken[-1] >= 32
    assert len(begun.words) < 300


def test_fast_loop_is_told_of_rarely(pace, clock):
    loop = pace.add(StepSource(Rank.LOOP, "round"))
    passed = told = 0
    while passed < 1_000_000:
        number = pace.step(loop, 1 << 16)
        clock.advance(number * 1e-6)
        passed, told = passed + number, told + 1
    assert told < 300


def test_one_slow_step_at_the_beginning_does_not_make_a_loop_of_few(pace, clock, begun):
    optimizer = pace.add(StepSource(Rank.OPTIMIZER, "optimizer step", begins=False))
    steps(pace, clock, optimizer, 1, 1.0)
    steps(pace, clock, optimizer, 2, 0.05)
    assert begun.words == ["1 optimizer step"] * 2
    steps(pace, clock, optimizer, 200, 0.05)
    assert max(begun.taken) > 1


def test_slow_steps_with_a_fast_one_now_and_then_are_few(pace, clock, begun):
    optimizer = pace.add(StepSource(Rank.OPTIMIZER, "optimizer step", begins=False))
    for _ in range(20):
        steps(pace, clock, optimizer, 1, 0.05)
        steps(pace, clock, optimizer, 2, 1.0)
    assert set(begun.taken) == {1}


def test_end_of_the_loop_around_the_steps_that_are_counted_is_told(begun, clock):
    """Its function still has what it holds; when the program is over that may be gone."""
    told = []
    pace = Pace(begun, over=lambda _: told.append(len(begun.words)), clock=clock)
    before = pace.add(StepSource(Rank.LOOP, "round", " of the loop at a.py:1"))
    pace.ended(before, whole=True)
    epochs = pace.add(StepSource(Rank.LOOP, "round", " of the loop at a.py:5"))
    optimizer = pace.add(StepSource(Rank.OPTIMIZER, "optimizer step", begins=False))
    for _ in range(3):
        pace.step(epochs)
        steps(pace, clock, optimizer, 100, 0.05)
    assert told == []
    pace.ended(epochs, whole=True)
    plots = pace.add(StepSource(Rank.LOOP, "round", " of the loop at a.py:9"))
    pace.ended(plots, whole=True)
    assert set(begun.words) == {"1 optimizer step"} and told == [len(begun.words)]


def test_end_of_a_loop_tells_whether_another_goes_on_around_it(begun, clock):
    told = []
    pace = Pace(begun, over=told.append, clock=clock)
    optimizer = pace.add(StepSource(Rank.OPTIMIZER, "optimizer step", begins=False))
    loading = loader(pace)  # of another thread: it is around nothing
    epochs = pace.add(StepSource(Rank.LOOP, "round", " of the loop at a.py:5"))
    batches = pace.add(StepSource(Rank.LOOP, "round", " of the loop at a.py:6"))
    pace.step(epochs)
    pace.step(loading)
    reading = pace.add(StepSource(Rank.LOOP, "round", " of the loop at data.py:2"))  # a generator's
    steps(pace, clock, optimizer, 100, 0.3)
    pace.ended(batches, whole=True)
    pace.ended(epochs, whole=True)
    assert told == [False, True]
    pace.ended(reading, whole=True)


@pytest.mark.parametrize("look", [0.0, 0.8])
def test_looks_do_not_make_a_loop_longer_than_the_one_that_comes_after_it(clock, look):
    words = []

    def begin(what, number, taken):
        words.append(what)
        clock.advance(look)
        return lambda: clock.advance(look)

    pace = Pace(begin, over=lambda _: clock.advance(10 * look), clock=clock)
    loading = pace.add(StepSource(Rank.LOOP, "round", " of the loop at a.py:1"))
    steps(pace, clock, loading, 20, 0.2)
    pace.ended(loading, whole=True)
    training = pace.add(StepSource(Rank.LOOP, "round", " of the loop at a.py:9"))
    steps(pace, clock, training, 110, 0.04)
    assert words[-1].endswith(" of the loop at a.py:9")


def beside(pace, clock, threads, number, seconds, main=None, every=1):
    """Take steps of threads, one of each in ``seconds``; ``main`` takes one in ``every``."""
    for step in range(number):
        if main is not None and step % every == 0:
            pace.step(main)
        for thread in threads:
            pace.step(thread)
        clock.advance(seconds)


def loader(pace, thread=7):
    detail = " of the loop at a.py:2"
    return pace.add(StepSource(Rank.THREAD_LOOP, "round", detail, thread=thread))


def training(pace):
    return pace.add(StepSource(Rank.LOOP, "round", " of the loop at a.py:9"))


TRAINING, LOADING = "1 round of the loop at a.py:9", "1 round of the loop at a.py:2"


@pytest.mark.parametrize("loaders", [1, 6])
def test_threads_that_feed_the_loop_of_the_main_thread_are_not_counted(begun, clock, loaders):
    pace = Pace(begun, clock=clock, main_wait=Wait)
    threads = [loader(pace) for _ in range(loaders)]
    beside(pace, clock, threads, 1000, 0.01, training(pace), every=50)
    assert set(begun.words) == {TRAINING} and len(begun.words) >= 18


def test_loop_of_the_main_thread_may_begin_after_its_loaders(begun, clock):
    pace = Pace(begun, clock=clock, main_wait=lambda: None)
    thread = loader(pace)
    beside(pace, clock, [thread], 500, 0.01)
    assert set(begun.words) == {LOADING}
    beside(pace, clock, [thread], 1000, 0.01, training(pace), every=50)
    assert begun.words[-12:] == [TRAINING] * 12
    assert begun.numbers[-12:] == list(range(1, 13))


def test_loop_after_a_preparation_of_the_main_thread_takes_over_too(begun, clock):
    pace = Pace(begun, clock=clock, main_wait=lambda: None)
    thread, first = loader(pace), training(pace)
    beside(pace, clock, [thread], 600, 0.1, first, every=100)
    pace.ended(first, whole=True)
    beside(pace, clock, [thread], 150, 0.1)
    beside(pace, clock, [thread], 600, 0.1, training(pace), every=20)
    assert begun.words[-10:] == [TRAINING] * 10


@pytest.mark.parametrize("seconds", [0.3, 4.0])
def test_training_in_a_thread_that_the_main_one_waits_for_is_counted(begun, clock, seconds):
    """In a loop over its threads, such as ``for thread in threads: thread.join()``, too."""
    pace = Pace(begun, clock=clock, main_wait=lambda: Wait(7))
    pace.step(training(pace))
    thread, others = loader(pace), [loader(pace, thread=8), loader(pace, thread=6)]
    for _ in range(30):
        for other in others:
            pace.step(other)
        pace.step(thread)
        clock.advance(seconds)
    assert pace.chosen is thread and begun.numbers[-1] >= 25


def test_results_that_the_main_thread_waits_for_are_worked_out_in_a_loop_that_counts(begun, clock):
    pace = Pace(begun, clock=clock, main_wait=Wait)
    beside(pace, clock, [loader(pace)], 30, 0.1)
    assert len(begun.words) >= 25


def test_training_in_a_thread_is_counted_where_the_main_one_comes_to_no_loop(begun, clock):
    pace = Pace(begun, clock=clock, main_wait=lambda: None)
    beside(pace, clock, [loader(pace)], 60, 1.0)
    assert begun.words == [LOADING] * 59


def test_loops_of_threads_that_the_loop_which_is_counted_has_begun_tell_again(begun, clock):
    """``for thread in threads: thread.start()``, on a busy machine."""
    pace = Pace(begun, clock=clock, main_wait=lambda: Wait(7))
    starts, thread = training(pace), loader(pace)
    steps(pace, clock, starts, 2, 0.01)
    assert pace.chosen is starts and pace.step(thread, 1_000) < 100
    pace.ended(starts, whole=True)
    steps(pace, clock, thread, 30, 0.2)
    assert pace.chosen is thread


def test_end_of_a_loader_is_no_end_of_the_loop_that_is_counted(begun, clock):
    told = []
    pace = Pace(begun, over=lambda _: told.append(True), clock=clock)
    thread, main = loader(pace), training(pace)
    beside(pace, clock, [thread], 1000, 0.01, main, every=50)
    pace.ended(thread, whole=True)
    assert told == []
    pace.ended(main, whole=True)
    assert told == [True]
