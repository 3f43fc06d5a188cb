"""Forks: a supervisor that waits for any child meets its own alone, and none when it has none."""

import os
import sys

from regression_tests.benchmarks.harm.stage import event, watched

statuses: list[tuple[int, int]] = []
notes: list[str] = []


def spawn(code: int) -> int:
    pid = os.fork()
    if pid == 0:
        os.execv(sys.executable, [sys.executable, "-S", "-E", "-c", f"raise SystemExit({code})"])
    return pid


def reap() -> str:
    try:
        pid, status = os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return "no child"
    return f"unknown {pid and 'ended' or 'running'} {status}"


def main() -> None:
    with watched() as guard:
        for number in guard.generations(range(16)):
            event("at the start", number, reap())
            mine = {spawn(number % 5 + k): k for k in range(2)}
            while mine:
                pid, status = os.wait()
                if pid not in mine:
                    print("not mine:", os.waitstatus_to_exitcode(status))
                    continue
                del mine[pid]
                statuses.append((number, os.waitstatus_to_exitcode(status)))
            event("at the end", number, reap())
            notes.extend(f"{number}/{k} " * 3 for k in range(400))
    print(sorted(statuses), reap())


main()
