"""Signals: a thread that waits for blocked signals by sigwait gets all of them, and nobody else any."""

import os
import signal
import threading
import time

from regression_tests.benchmarks.harm.stage import watched

WAITED = {signal.SIGUSR2, signal.SIGHUP, signal.SIGCHLD}
got: list[str] = []
commands: list[dict[str, str]] = []


def listen(arrived: threading.Semaphore) -> None:
    while True:
        name = signal.Signals(signal.sigwait(WAITED)).name
        got.append(name)
        if name == "SIGHUP":
            return
        arrived.release()


def main() -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, WAITED)
    arrived = threading.Semaphore(0)
    listener = threading.Thread(target=listen, args=(arrived,))
    listener.start()
    masks: set[tuple[int, ...]] = set()
    with watched() as guard:
        for number in guard.generations(range(40)):
            time.sleep(0.04)  # the work of a round
            os.kill(os.getpid(), signal.SIGUSR2)
            arrived.acquire()
            commands.append({f"c{number}.{k}": "x" * 20 for k in range(200)})
            masks.add(tuple(sorted(signal.pthread_sigmask(signal.SIG_BLOCK, []))))
    os.kill(os.getpid(), signal.SIGHUP)
    listener.join()
    print({name: got.count(name) for name in sorted(set(got))}, masks, signal.sigpending())


main()
