"""Limits: under ``ulimit -v`` the program must get what is left, and a look must not need it."""

import resource
import time

from regression_tests.benchmarks.harm.stage import event, watched

MB = 1_000_000


class Sample:
    pass


def size():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


ballast = [[number] for number in range(300_000)]
kept = []
with watched() as guard:
    for number in guard.generations(range(12)):
        if number == 3:
            limit = size() + 60 * MB
            resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
        kept.extend(Sample() for _ in range(500))
        needed = bytearray(30 * MB)
        time.sleep(0.05)
        del needed
        event(number)
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
