"""Counts visits in sorted segments that are merged level by level, log-structured."""

# /// truth
# about = """a memory of writes flushed every eight generations into segments, four of which are
# merged into one of the next level, up to a last level whose keys are limited by the key space"""
# ///
import bisect
import heapq
import itertools
import os
import random
import sys

from leakguard import LeakGuard

assert sys.argv[1] == "clean"
GENERATIONS = 512
FLUSH_EVERY = 8
FAN = 4
PAGES = 6_000


class Segment:
    """Keys in order with their counts, looked up by bisection."""

    def __init__(self, pairs: list[tuple[int, int]]) -> None:
        self.keys = [key for key, _ in pairs]
        self.counts = [count for _, count in pairs]

    def get(self, key: int) -> int:
        place = bisect.bisect_left(self.keys, key)
        if place < len(self.keys) and self.keys[place] == key:
            return self.counts[place]
        return 0

    def pairs(self) -> zip:
        return zip(self.keys, self.counts, strict=True)


def merge(segments: list[Segment]) -> Segment:
    merged: list[tuple[int, int]] = []
    ordered = heapq.merge(*(segment.pairs() for segment in segments))
    for key, group in itertools.groupby(ordered, key=lambda pair: pair[0]):
        merged.append((key, sum(count for _, count in group)))
    return Segment(merged)


class VisitStore:
    def __init__(self) -> None:
        self.recent: list[tuple[int, str]] = []
        self.levels: list[list[Segment]] = [[], [], []]

    def visit(self, page: int, visitor: str) -> None:
        self.recent.append((page, visitor))

    def flush(self) -> None:
        unique = sorted(set(self.recent))
        self.recent = []
        counts = [
            (page, sum(1 for _ in group))
            for page, group in itertools.groupby(unique, key=lambda pair: pair[0])
        ]
        self.levels[0].append(Segment(counts))
        for depth in range(len(self.levels) - 1):
            if len(self.levels[depth]) == FAN:
                self.levels[depth + 1].append(merge(self.levels[depth]))
                self.levels[depth] = []
        if len(self.levels[-1]) == 2:
            self.levels[-1] = [merge(self.levels[-1])]

    def visits(self, page: int) -> int:
        return sum(segment.get(page) for level in self.levels for segment in level)


def main() -> None:
    draw = random.Random(67)
    store = VisitStore()
    guard = LeakGuard(out=os.environ["RUN_FILE"])
    with guard:
        for generation in guard.generations(range(1, GENERATIONS + 1)):
            with guard.phase("write"):
                for _ in range(3_000):
                    page = min(int(draw.paretovariate(0.6)), PAGES)
                    store.visit(page, f"visitor-{draw.randrange(5_000)}")
            with guard.phase("read"):
                top = sorted(range(1, 700), key=store.visits)[-10:]
                assert len(top) == 10
            if generation % FLUSH_EVERY == 0:
                with guard.phase("flush"):
                    store.flush()


if __name__ == "__main__":
    main()
