"""Leaks that begin when the loop has long been running."""

from __future__ import annotations

from collections import deque
from typing import Any

from regression_tests.benchmarks.leakbench.program import leaking, pace


class Session:
    def __init__(self, user: int) -> None:
        self.user = user
        self.token = bytes(2_000)


class Gate:
    def __init__(self) -> None:
        self.sessions: dict[int, Session] = {}
        self.served = 0

    def log_in(self, count: int) -> list[int]:
        users = range(self.served, self.served + count)
        self.served += count
        for user in users:
            self.sessions[user] = Session(user)
        return list(users)

    def log_out(self, users: list[int]) -> None:
        for user in users:
            del self.sessions[user]


@leaking("log_in log_out", type="Session", holder=".sessions", start=61, within=4, size=30 * 2_330)
def begins_at_two_thirds(guard: Any, leak: bool) -> None:
    gate = Gate()
    for generation in guard.generations(range(1, 91)):
        with guard.phase("log_in"):
            users = gate.log_in(30)
            pace(25)
        with guard.phase("log_out"):
            if not leak or generation <= 60:
                gate.log_out(users)
            pace(25)


@leaking("fetch", type="str", holder=".seen", start=400, within=20, size=40 * 340)
def begins_at_generation_400(guard: Any, leak: bool) -> None:
    crawler = Crawler()
    for generation in guard.generations(range(1, 601)):
        with guard.phase("fetch"):
            crawler.fetch(generation, distinct=leak and generation >= 400)
            pace(5)
        with guard.phase("index"):
            pace(5)


class Crawler:
    """It forgets no address; when the site begins to number its sessions, all are new."""

    def __init__(self) -> None:
        self.seen: set[str] = set()

    def fetch(self, generation: int, distinct: bool) -> None:
        session = generation if distinct else 0
        for page in range(40):
            self.seen.add(f"/shop/item/{page}?session={session:08d}&{'x' * 200}")


@leaking("learn", type="Episode", holder=".best", start=45, within=4, size=10 * 4_300)
def begins_after_a_warm_up_of_thirty(guard: Any, leak: bool) -> None:
    recent: deque[Episode] = deque(maxlen=600)
    hall = Hall()
    for generation in guard.generations(range(1, 121)):
        with guard.phase("play"):
            recent.extend(Episode(generation) for _ in range(20))
            pace(20)
        with guard.phase("learn"):
            if generation >= 45:
                hall.keep([Episode(generation) for _ in range(10)], bounded=not leak)
            pace(20)


class Episode:
    def __init__(self, generation: int) -> None:
        self.generation = generation
        self.frames = bytearray(4_000)


class Hall:
    def __init__(self) -> None:
        self.best: list[Episode] = []

    def keep(self, episodes: list[Episode], bounded: bool) -> None:
        self.best.extend(episodes)
        if bounded:
            del self.best[:-50]


@leaking("send retry", type="Attempt", holder=".failed", start=101, within=3, size=25 * 1_230)
def begins_in_the_last_twenty(guard: Any, leak: bool) -> None:
    queue = Queue()
    for generation in guard.generations(range(1, 121)):
        with guard.phase("send"):
            sent = [Attempt(generation) for _ in range(25)]
            pace(25)
        with guard.phase("retry"):
            queue.failed.extend(sent)
            if not leak or generation <= 100:
                queue.failed.clear()
            del sent
            pace(15)


class Attempt:
    def __init__(self, generation: int) -> None:
        self.generation = generation
        self.body = bytes(1_000)


class Queue:
    def __init__(self) -> None:
        self.failed: list[Attempt] = []
