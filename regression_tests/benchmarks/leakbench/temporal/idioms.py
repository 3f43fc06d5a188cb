"""What Python programs do: caches, exceptions, locals, chains, labels."""

from __future__ import annotations

import functools
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from regression_tests.benchmarks.leakbench.program import leaking, pace


class Answer:
    def __init__(self, question: str) -> None:
        self.question = question
        self.text = bytes(700)


def _answer(question: str) -> Answer:
    return Answer(question)


@leaking("ask", type="Answer", within=4, size=20 * 1_150)
def cache_without_a_bound(guard: Any, leak: bool) -> None:
    answer = functools.lru_cache(maxsize=None if leak else 100)(_answer)
    for generation in guard.generations(range(1, 91)):
        with guard.phase("ask"):
            for i in range(20):
                answer(f"question {i} of day {generation}")
            pace(25)
        with guard.phase("rest"):
            pace(15)


def _parse(text: str) -> int:
    window = bytearray(30_000)
    return int(text) + len(window)


class Journal:
    def __init__(self) -> None:
        self.errors: list[Exception] = []
        self.series: dict[tuple[str, str], int] = {}
        self.state: State | None = None


@leaking("parse", type="ValueError frame traceback bytearray", holder=".errors", start=5, within=5,
         size=3 * 31_000 / 5)  # fmt: skip
def errors_every_fifth_generation(guard: Any, leak: bool) -> None:
    journal = Journal()
    for generation in guard.generations(range(1, 111)):
        with guard.phase("parse"):
            for text in ("1", "x", "y", "z") if generation % 5 == 0 else ("1",):
                try:
                    _parse(text)
                except ValueError as error:
                    journal.errors.append(error if leak else error.with_traceback(None))
                    del journal.errors[: 0 if leak else -3]
            pace(15)
        with guard.phase("load"):
            pace(15)


class Result:
    def __init__(self, generation: int) -> None:
        self.generation = generation
        self.scores = [float(generation + i) for i in range(40)]


@leaking("score", type="Result float list", holder="results", within=4, size=6 * 1_800)
def list_in_a_local_variable(guard: Any, leak: bool) -> None:
    results: list[Result] = []
    for generation in guard.generations(range(1, 101)):
        with guard.phase("play"):
            pace(20)
        with guard.phase("score"):
            results.extend(Result(generation) for _ in range(6))
            if not leak:
                del results[:-6]
            pace(15)


class State:
    def __init__(self, previous: State | None) -> None:
        self.previous = previous
        self.board = bytes(800)


@leaking("move", type="State", holder=".state previous", start=21, within=4, size=5 * 900)
def chain_of_states(guard: Any, leak: bool) -> None:
    journal = Journal()
    for generation in guard.generations(range(1, 101)):
        with guard.phase("move"):
            linked = leak and generation > 20
            for _ in range(5):
                journal.state = State(journal.state if linked else None)
            pace(20)
        with guard.phase("think"):
            pace(15)


@leaking("count", type="str tuple", holder=".series", within=4, size=15 * 230)
def label_for_every_request(guard: Any, leak: bool) -> None:
    journal = Journal()
    for generation in guard.generations(range(1, 121)):
        with guard.phase("serve"):
            pace(20)
        with guard.phase("count"):
            for i in range(15):
                request = f"/item/{generation * 15 + i if leak else i}?from=newsletter"
                journal.series["GET", request] = journal.series.get(("GET", request), 0) + 1
            pace(10)


_own = threading.local()


def _remember(number: int, leak: bool) -> None:
    seen = _own.__dict__.setdefault("seen", [])
    seen.append(Answer(f"answer {number}"))
    if not leak:
        del seen[:-5]


@leaking("fetch", type="Answer", within=6, size=10 * 950)
def values_of_a_worker_thread(guard: Any, leak: bool) -> None:
    with ThreadPoolExecutor(2) as pool:
        for generation in guard.generations(range(1, 101)):
            with guard.phase("fetch"):
                for i in range(10):
                    pool.submit(_remember, generation * 10 + i, leak).result()
                pace(15)
            with guard.phase("merge"):
                pace(15)
