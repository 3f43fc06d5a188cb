"""Audits: a program that audits itself must see no fork, start or connection of ours."""

import sys
import time

from regression_tests.benchmarks.harm.stage import event, watched

LOUD = ("os.fork", "os.exec", "os.posix_spawn", "os.system", "subprocess", "socket.connect")


class Sample:
    pass


def audited(what, arguments):
    if what.startswith(LOUD):
        event(what)


sys.addaudithook(audited)
ballast = [[number] for number in range(300_000)]
kept = []
with watched() as guard:
    for _ in guard.generations(range(12)):
        kept.extend(Sample() for _ in range(500))
        time.sleep(0.06)
