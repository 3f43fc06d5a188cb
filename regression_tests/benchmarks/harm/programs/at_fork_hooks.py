"""Children: hooks of ``os.register_at_fork`` must be called for the program's own forks alone."""

import os
import time

from regression_tests.benchmarks.harm.stage import event, watched


class Sample:
    pass


os.register_at_fork(
    before=lambda: event("before"),
    after_in_parent=lambda: event("after in the parent"),
    after_in_child=lambda: os.write(2, b"after in a child\n"),
)
ballast = [[number] for number in range(300_000)]
kept = []
with watched() as guard:
    for number in guard.generations(range(15)):
        kept.extend(Sample() for _ in range(500))
        time.sleep(0.05)
        if number % 5 == 4:
            if (pid := os.fork()) == 0:
                os._exit(0)
            event(number, os.waitpid(pid, 0)[1])
