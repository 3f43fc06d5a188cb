"""Daemons: a subreaper that double-forks daemons adopts its own grandchildren and no other process."""

import ctypes
import os
import time

from regression_tests.benchmarks.harm.stage import watched

ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
records: list[dict[str, int]] = []


def daemon(number: int) -> tuple[int, int]:
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.setsid()
        if os.fork() == 0:
            os.close(ours)
            time.sleep(0.02)
            os.write(theirs, b"%d" % os.getpid())
            os._exit(number % 3)
        os._exit(0)
    os.close(theirs)
    assert os.waitpid(pid, 0)[1] == 0
    with open(ours, "rb") as pipe:
        return pid, int(pipe.read())


def main() -> None:
    codes: list[int] = []
    strangers = 0
    with watched() as guard:
        for number in guard.generations(range(20)):
            _, grandchild = daemon(number)
            while True:
                pid, status = os.wait()
                if pid == grandchild:
                    codes.append(os.waitstatus_to_exitcode(status))
                    break
                strangers += 1
            records.append({f"{number}.{k}": k for k in range(1000)})
    try:
        os.wait()
        strangers += 1
    except ChildProcessError:
        pass
    print(codes, strangers)


main()
