"""More than one leak, more than one phase, more than one container."""

from __future__ import annotations

from typing import Any

from regression_tests.benchmarks.leakbench.program import leaking, pace, planted, truth


class Learner:
    def __init__(self) -> None:
        self.frames: list[Any] = []
        self.cache: list[Any] = []


@planted(
    truth("rollout", type="ndarray", holder=".frames", within=4, size=3 * 16_112),
    truth("train", type="ndarray", holder=".cache", within=4, size=5 * 6_112),
)
def two_leaks_of_one_type(guard: Any, leak: bool) -> None:
    import numpy as np

    learner = Learner()
    for generation in guard.generations(range(1, 81)):
        with guard.phase("rollout"):
            learner.frames += [np.full(2_000, generation, float) for _ in range(3)]
            pace(20)
        with guard.phase("train"):
            learner.cache += [np.full(750, generation, float) for _ in range(5)]
            pace(20)
        if not leak:
            learner.frames.clear()
            learner.cache.clear()


class Step:
    def __init__(self, generation: int) -> None:
        self.generation = generation
        self.observation = bytes(1_200)


class Run:
    def __init__(self) -> None:
        self.trace: list[Step] = []
        self.inbox: list[Step] = []
        self.working: dict[int, list[Step]] = {}
        self.finished: dict[int, list[Step]] = {}
        self.shards: list[list[Step]] = [[]]
        self.primary: list[Step] = []
        self.standby: list[Step] = []


@leaking("play learn", type="Step", holder=".trace", within=4, size=24 * 1_390)
def one_leak_in_two_phases(guard: Any, leak: bool) -> None:
    run = Run()
    for generation in guard.generations(range(1, 91)):
        with guard.phase("play"):
            run.trace.extend(Step(generation) for _ in range(12))
            pace(20)
        with guard.phase("learn"):
            run.trace.extend(Step(generation) for _ in range(12))
            if not leak:
                run.trace.clear()
            pace(20)


@leaking("receive finish", type="Step", holder=".finished", within=6, size=15 * 1_390)
def moves_from_container_to_container(guard: Any, leak: bool) -> None:
    run = Run()
    for generation in guard.generations(range(1, 91)):
        with guard.phase("receive"):
            run.inbox = [Step(generation) for _ in range(15)]
            pace(15)
        with guard.phase("work"):
            run.working[generation] = run.inbox
            run.inbox = []
            pace(15)
        with guard.phase("finish"):
            done = run.working.pop(generation - 3, None)
            if done is not None and leak:
                run.finished[generation] = done
            del done
            pace(10)


@leaking("play", type="Step", holder=".shards", within=4, size=12 * 1_390)
def new_container_every_twentieth(guard: Any, leak: bool) -> None:
    run = Run()
    for generation in guard.generations(range(1, 161)):
        with guard.phase("play"):
            if generation % 20 == 0:
                run.shards.append([])
                if not leak:
                    del run.shards[:-1]
            if leak or generation % 20 < 3:
                run.shards[-1].extend(Step(generation) for _ in range(12))
            pace(15)
        with guard.phase("learn"):
            pace(10)


@leaking("play", type="Step", holder=".primary .standby", within=4, size=12 * 1_390)
def fails_over_to_another_list(guard: Any, leak: bool) -> None:
    run = Run()
    for generation in guard.generations(range(1, 101)):
        with guard.phase("play"):
            target = run.primary if generation <= 50 else run.standby
            target.extend(Step(generation) for _ in range(12))
            if not leak:
                target.clear()
            del target
            pace(20)
        with guard.phase("learn"):
            pace(15)


class Cursor:
    def __init__(self, number: int) -> None:
        self.number = number
        self.rows = bytearray(2_500)


class Ticket:
    def __init__(self, number: int) -> None:
        self.number = number
        self.text = bytes(900)


class Desk:
    def __init__(self) -> None:
        self.cursors: dict[tuple[int, int], Cursor] = {}
        self.tickets: list[Ticket] = []


@planted(
    truth("answer", type="Ticket", holder=".tickets", within=4, size=10 * 1_110),
    truth("query", type="Cursor", holder=".cursors", start=55, within=4, size=8 * 2_850),
)
def two_leaks_with_two_starts(guard: Any, leak: bool) -> None:
    desk = Desk()
    for generation in guard.generations(range(1, 101)):
        with guard.phase("query"):
            for i in range(8):
                desk.cursors[generation, i] = Cursor(i)
            if not leak or generation < 55:
                desk.cursors.clear()
            pace(20)
        with guard.phase("answer"):
            desk.tickets.extend(Ticket(i) for i in range(10))
            if not leak:
                desk.tickets.clear()
            pace(15)
