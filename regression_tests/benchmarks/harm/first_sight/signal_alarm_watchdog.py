"""Signals: a watchdog by SIGALRM that is fed every generation never bites, and a profile timer stays armed."""

import signal
import time

from regression_tests.benchmarks.harm.stage import watched

bites: list[int] = []
ticks = [0]
heap = [{"id": k, "next": [k]} for k in range(150_000)]
log: list[list[int]] = []


def tick(*_: object) -> None:
    ticks[0] += 1


def main() -> None:
    signal.signal(signal.SIGALRM, lambda *_: bites.append(1))
    signal.signal(signal.SIGPROF, tick)
    signal.setitimer(signal.ITIMER_PROF, 0.01, 0.01)
    armed: set[bool] = set()
    with watched() as guard:
        for number in guard.generations(range(20)):
            signal.setitimer(signal.ITIMER_REAL, 3.0)
            before = time.monotonic()
            total = 0
            while time.monotonic() < before + 0.03:
                total += sum(range(500))
            log.extend([number, k] for k in range(500))
            armed.add(signal.getitimer(signal.ITIMER_PROF)[1] > 0)
    left = signal.setitimer(signal.ITIMER_REAL, 0)[0] > 0
    signal.setitimer(signal.ITIMER_PROF, 0)
    print(bites, ticks[0] > 10, left, armed, len(heap), len(log))


main()
