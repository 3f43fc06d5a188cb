"""Self-measurement: with collect=never the collector runs when the program says so, and counts as it does alone."""

import gc

from regression_tests.benchmarks.harm.stage import watched

HOW = ["api"]
phases: list[tuple[str, int]] = []
nodes: list[list[object]] = []


def note(phase: str, info: dict[str, int]) -> None:
    phases.append((phase, info["generation"]))


def main() -> None:
    gc.collect()
    gc.disable()
    gc.set_threshold(123, 7, 5)
    with watched(collect="never") as guard:
        gc.callbacks.append(note)
        before = [stat["collections"] for stat in gc.get_stats()]
        for number in guard.generations(range(24)):
            for _ in range(2000):
                ring: list[object] = [number]
                ring.append(ring)
            nodes.append(ring)
            if number % 6 == 5:
                gc.collect(1)
        after = [stat["collections"] for stat in gc.get_stats()]
    gc.callbacks.remove(note)
    print(phases, [b - a for a, b in zip(before, after)], gc.isenabled(), gc.get_threshold(), len(gc.garbage))


main()
