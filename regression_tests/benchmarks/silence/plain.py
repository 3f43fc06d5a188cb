"""Leaks without torch: children, callbacks, tasks, caches, errors, records, files, several."""

from __future__ import annotations

import asyncio
import functools
import multiprocessing
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from regression_tests.benchmarks.silence.program import Program, work

Steps = Iterator[Callable[[int], object]]


class Bus:
    """Calls listeners when something happens."""

    def __init__(self) -> None:
        self.listeners: list[Callable[[int], None]] = []


class Panel:
    """A part of a screen that listens while it is shown."""

    def __init__(self, bus: Bus) -> None:
        self.bus, self.pixels = bus, bytearray(40_000)
        bus.listeners.append(self.draw)

    def draw(self, number: int) -> None:
        """Draw once."""
        self.pixels[0] = number % 256

    def close(self) -> None:
        """Listen no more."""
        self.bus.listeners.remove(self.draw)


class Board:
    """A board whose worth is asked for again and again."""

    def __init__(self, seed: int) -> None:
        self.cells = [seed * i % 97 for i in range(2_000)]

    @functools.cache  # noqa: B019 - the leak
    def cached_worth(self, depth: int) -> int:
        """Return the worth, remembered for each board for ever."""
        return sum(self.cells[::depth])

    def worth(self, depth: int) -> int:
        """Return the worth."""
        return sum(self.cells[::depth])


class Recorder:
    """Keeps what each round used."""

    settings: list[dict[str, object]] = []  # noqa: RUF012 - shared by all, which is the leak
    failures: list[Exception] = []  # noqa: RUF012


BUS = Bus()
SOCKETS: list[object] = []
WAITING: set[asyncio.Task[None]] = set()
TEXTS: dict[str, str] = {}
SEEN: list[bytearray] = []
BY_ROUND: dict[int, list[float]] = {}
_worker_keeps: list[bytes] = []


def _answer(job: tuple[int, bool]) -> int:
    number, keeps = job
    if keeps:
        _worker_keeps.append(b"%8d" % number * 60_000)
    return number


def pool_worker_keeps_answers(leaks: bool) -> Steps:
    """A worker of a pool keeps each answer in a module of its own process."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        yield lambda number: pool.map(_answer, [(number, leaks)])


def listeners_of_closed_panels(leaks: bool) -> Steps:
    """Panels go on listening when they are gone."""

    def step(number: int) -> None:
        panel = Panel(BUS)
        if not leaks:
            panel.close()

    yield step


def tasks_that_wait_for_ever(leaks: bool) -> Steps:
    """Each round begins a task that waits for an answer which never comes."""
    loop = asyncio.new_event_loop()

    async def wait(reply: asyncio.Future[bytes], buffer: bytearray) -> None:
        await reply
        del buffer

    async def one_round() -> None:
        reply = asyncio.get_running_loop().create_future()
        task = asyncio.create_task(wait(reply, bytearray(60_000)))
        WAITING.add(task)
        task.add_done_callback(WAITING.discard)
        await asyncio.sleep(0)
        if not leaks:
            reply.set_result(b"")
            await task

    yield lambda number: loop.run_until_complete(one_round())
    for task in WAITING:
        task.cancel()
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()


def boards_in_a_cached_method(leaks: bool) -> Steps:
    """A cache on a method keeps every board."""

    def step(number: int) -> None:
        for seed in range(3):
            board = Board(number * 3 + seed)
            board.cached_worth(2) if leaks else board.worth(2)

    yield step


def errors_with_their_frames(leaks: bool) -> Steps:
    """Errors are kept for a summary, with all that was in their frames."""

    def parse(number: int) -> None:
        rows = [float(number)] * 4_000
        raise ValueError(f"row {len(rows)} of {number}")

    def step(number: int) -> None:
        try:
            parse(number)
        except ValueError as error:
            Recorder.failures.append(error if leaks else error.with_traceback(None))

    yield step


def settings_of_each_round(leaks: bool) -> Steps:
    """A copy of all settings is noted for each round, three kilobytes that nobody reads."""

    def step(number: int) -> None:
        if not leaks:
            Recorder.settings.clear()
        Recorder.settings.append({f"option {i}": number + i + 0.5 for i in range(40)})

    yield step


def files_that_stay_open(leaks: bool) -> Steps:
    """A log file is opened for each round."""
    with tempfile.TemporaryDirectory() as folder:

        def step(number: int) -> None:
            file = (Path(folder) / f"{number}.log").open("w")
            file.write("begun\n")
            SOCKETS.append(file)
            if not leaks:
                SOCKETS.pop()
                file.close()

        yield step


def three_at_once(leaks: bool) -> Steps:
    """A cache of texts, a list of buffers and a table of rounds grow at once."""

    def step(number: int) -> None:
        key = number if leaks else 0
        TEXTS[f"text {key}"] = "abcdefgh" * 9_000 + str(number)
        BY_ROUND[key] = [float(number + i) for i in range(3_000)]
        if not leaks:
            SEEN.clear()
        SEEN.append(bytearray(150_000))

    yield step


def _with_work(make: Callable[[bool], Steps]) -> Callable[[bool], Steps]:
    @functools.wraps(make)
    def made(leaks: bool) -> Steps:
        for step in make(leaks):
            yield lambda number, step=step: (work(), step(number))

    return made


PROGRAMS = tuple(
    Program(_with_work(make), held_by, fix, rounds=rounds)
    for make, held_by, fix, rounds in (
        (pool_worker_keeps_answers, ("process ",), "maxtasksperchild", 40),
        (listeners_of_closed_panels, ("listeners",), "regist", 30),
        (tasks_that_wait_for_ever, ("WAITING",), "cancel", 30),
        (boards_in_a_cached_method, ("lru_cache of Board.cached_worth",), "lru_cache", 30),
        (errors_with_their_frames, ("failures",), "with_traceback", 30),
        (settings_of_each_round, ("settings",), "", 150),
        (files_that_stay_open, ("SOCKETS",), "close", 30),
        (three_at_once, ("TEXTS", "SEEN", "BY_ROUND"), "", 20),
    )
)
