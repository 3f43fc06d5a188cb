"""Limits: a program that has used up its descriptors must get every one that becomes free."""

import os
import resource
import time

from regression_tests.benchmarks.harm.stage import event, watched

MOST = 64


class Sample:
    pass


kept = []
with watched() as guard:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (MOST, hard))
    for _ in guard.generations(range(12)):
        kept.extend(Sample() for _ in range(500))
        taken = []
        try:
            while True:
                taken.append(os.open("/dev/null", os.O_RDONLY))
        except OSError as error:
            is_full = error.strerror
        time.sleep(0.05)
        for descriptor in taken:
            os.close(descriptor)
        event(is_full, len(taken) > MOST // 2)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
