"""Self-measurement: a service that watches its own descriptors, threads and children sees them flat all along."""

import os
import threading
import time

from regression_tests.benchmarks.harm.stage import watched

orders: list[dict[str, int]] = []


def children() -> int:
    found = 0
    for task in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{task}/children") as file:
                found += len(file.read().split())
        except OSError:
            pass
    return found


def state() -> tuple[int, int, int, int]:
    return (
        len(os.listdir("/proc/self/fd")), threading.active_count(), len(os.listdir("/proc/self/task")), children(),
    )  # fmt: skip


def main() -> None:
    seen = []
    with watched() as guard:
        for number in guard.generations(range(40)):
            seen.append(state())
            orders.extend({f"o{number}": k} for k in range(1000))
            time.sleep(0.004)
            seen.append(state())
    drift = [max(column) - min(column) for column in zip(*seen)]
    print("drift of descriptors, threads, tasks, children:", drift)


main()
