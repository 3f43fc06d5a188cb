"""Signals: threads whose calls are interrupted by pthread_kill, and a SIGINT that the program counts, all arrive."""

import os
import signal
import threading
import time

from regression_tests.benchmarks.harm.stage import watched

hits: dict[str, int] = {"USR1": 0, "INT": 0}
lines: list[str] = []


def hit(signum: int, _: object) -> None:
    hits["INT" if signum == signal.SIGINT else "USR1"] += 1


def main() -> None:
    signal.signal(signal.SIGUSR1, hit)
    signal.signal(signal.SIGINT, hit)
    signal.siginterrupt(signal.SIGUSR1, True)
    out, into = os.pipe()
    read = bytearray()

    def block() -> None:
        while chunk := os.read(out, 1):  # interrupted, it goes on
            read.extend(chunk)

    thread = threading.Thread(target=block)
    thread.start()
    with watched() as guard:
        for number in guard.generations(range(50)):
            time.sleep(0.04)  # the work of a round
            assert thread.ident is not None
            was = dict(hits)
            signal.pthread_kill(thread.ident, signal.SIGUSR1)
            while hits["USR1"] == was["USR1"]:
                time.sleep(0.001)
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
            while hits["INT"] == was["INT"]:
                time.sleep(0.001)
            os.write(into, b"%d" % (number % 10))
            lines.extend(f"{number} {k}" for k in range(700))
    os.close(into)
    thread.join()
    print(hits, read.decode())


main()
