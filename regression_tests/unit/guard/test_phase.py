"""Phases: blocks, functions, coroutines, generators, threads, and no guard at all."""

from __future__ import annotations

import asyncio
import threading

import pytest

from leakguard import LeakGuard, phase
from leakguard.live.active import open_phases


@pytest.fixture
def guard():
    with LeakGuard(max_overhead=None) as active:
        yield active


def phases_of(guard: LeakGuard) -> list[str]:
    return [s.phase for s in guard.run.snapshots if s.phase]


def test_without_a_guard_a_decorated_function_just_runs():
    @phase("work")
    def double(x: int) -> int:
        return 2 * x

    assert double(21) == 42


def test_block_is_recorded_at_its_end(guard):
    with phase("work"):
        assert phases_of(guard) == []
    assert phases_of(guard) == ["work"]


def test_nested_phases_carry_the_outer_name(guard):
    with phase("evaluate"), phase("rollout"):
        assert open_phases() == ("evaluate", "rollout")
    assert phases_of(guard) == ["evaluate/rollout", "evaluate"]
    assert open_phases() == ()


def test_recursive_function_is_one_phase(guard):
    @phase("descend")
    def descend(depth: int) -> None:
        if depth:
            descend(depth - 1)

    descend(5)
    assert phases_of(guard) == ["descend"]


def test_method_keeps_its_self_and_result(guard):
    class Trainer:
        rate = 3

        @phase("train")
        def train(self, steps: int) -> int:
            return self.rate * steps

    assert Trainer().train(4) == 12
    assert phases_of(guard) == ["train"]


def test_coroutines_in_one_loop_do_not_nest_in_each_other(guard):
    @phase("fetch")
    async def fetch() -> int:
        await asyncio.sleep(0)
        return 1

    @phase("store")
    async def store() -> int:
        await asyncio.sleep(0)
        return 2

    async def main() -> list[int]:
        return await asyncio.gather(fetch(), store())

    assert asyncio.run(main()) == [1, 2]
    assert sorted(phases_of(guard)) == ["fetch", "store"]


def test_generator_is_in_its_phase_only_while_its_own_body_runs(guard):
    seen_inside = []

    @phase("produce")
    def produce():
        seen_inside.append(open_phases())
        got = yield 1
        seen_inside.append(got)
        return "done"

    def consume():
        result = yield from produce()
        assert result == "done"

    consumer = consume()
    assert next(consumer) == 1
    assert open_phases() == ()
    with pytest.raises(StopIteration):
        consumer.send("hello")
    assert seen_inside == [("produce",), "hello"]


def test_generator_sees_the_exception_thrown_into_it(guard):
    caught = []

    @phase("produce")
    def produce():
        try:
            yield 1
        except KeyError as error:
            caught.append(error.args)
            yield 2

    running = produce()
    next(running)
    assert running.throw(KeyError("k")) == 2
    assert caught == [("k",)]


def test_async_generator_takes_part_in_asend_and_close(guard):
    closed = []

    @phase("stream")
    async def stream():
        try:
            got = yield 1
            yield got
        finally:
            closed.append(True)

    async def main():
        running = stream()
        first = await running.asend(None)
        second = await running.asend("x")
        await running.aclose()
        return first, second

    assert asyncio.run(main()) == (1, "x")
    assert closed == [True]


def test_phases_of_threads_are_independent(guard):
    barrier = threading.Barrier(2)

    def work(name: str) -> None:
        with phase(name):
            barrier.wait()
            assert open_phases() == (name,)
            barrier.wait()

    threads = [threading.Thread(target=work, args=(name,)) for name in ("left", "right")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(phases_of(guard)) == ["left", "right"]


def test_exception_passes_through_and_is_named_in_the_snapshot(guard):
    with pytest.raises(ZeroDivisionError), phase("divide"):
        1 / 0
    (snapshot,) = [s for s in guard.run.snapshots if s.phase]
    assert snapshot.extra == {"Ended by": ("ZeroDivisionError",)}


def test_phase_object_can_be_entered_again(guard):
    step = phase("step")
    for _ in range(2):
        with step:
            pass
    assert phases_of(guard) == ["step", "step"]
