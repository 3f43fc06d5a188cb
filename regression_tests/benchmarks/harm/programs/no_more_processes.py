"""Limits: where no more processes can be had the loop must go on, and its own come first."""

import ctypes
import os
import resource
import time

from regression_tests.benchmarks.harm.stage import event, watched


class Sample:
    pass


def be_limited():
    """Give up what exempts root: the user, and CAP_SYS_ADMIN and CAP_SYS_RESOURCE."""
    libc = ctypes.CDLL(None)
    header, held = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    os.setresuid(65534, 0, 0)
    libc.capget(header, held)
    held[0] &= ~(1 << 21 | 1 << 24)
    held[1] &= ~(1 << 21 | 1 << 24)
    libc.capset(header, held)


def is_refused():
    try:
        pid = os.fork()
    except BlockingIOError:
        return True
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return False


ballast = [[number] for number in range(300_000)]
kept = []
if os.getuid() == 0:
    be_limited()
with watched() as guard:
    for number in guard.generations(range(12)):
        if number == 3:
            resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
        kept.extend(Sample() for _ in range(500))
        time.sleep(0.05)
        event(number, is_refused())
