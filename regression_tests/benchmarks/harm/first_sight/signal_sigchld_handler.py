"""Signals: a SIGCHLD handler that reaps and counts hears of the program's own children alone."""

import os
import signal
import time

from regression_tests.benchmarks.harm.stage import watched

reaped: list[int] = []
ours: set[int] = set()
strangers: list[int] = []
spool: list[bytes] = []


def child_ended(signum: int, frame: object) -> None:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        (reaped if pid in ours else strangers).append(os.waitstatus_to_exitcode(status))


def main() -> None:
    signal.signal(signal.SIGCHLD, child_ended)
    with watched() as guard:
        for number in guard.generations(range(25)):
            time.sleep(0.04)  # the work of a round
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
            pid = os.fork()
            if pid == 0:
                os._exit(number)
            ours.add(pid)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
            spool.extend(bytes(200) for _ in range(800))
            while len(reaped) <= number:
                time.sleep(0.002)
    time.sleep(0.1)
    print(reaped, strangers, signal.getsignal(signal.SIGCHLD) is child_ended)


main()
