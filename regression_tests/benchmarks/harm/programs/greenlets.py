"""Hooks: a trace of greenlets stays the program's, and standard error hears no other tool."""

import ctypes
import time

import greenlet

from regression_tests.benchmarks.harm.stage import event, watched

NEEDS = ["greenlet", "memray"]
OPTIONS = ["--generation", "grown"]
malloc = ctypes.CDLL(None).malloc
malloc.argtypes, malloc.restype = [ctypes.c_size_t], ctypes.c_void_p
switches = []


def grown():
    for _ in range(40):
        ctypes.memset(malloc(50_000), 1, 50_000)
        worker.switch()
    time.sleep(0.05)


def worked():
    while True:
        greenlet.getcurrent().parent.switch()


worker = greenlet.greenlet(worked)
greenlet.settrace(lambda *told: switches.append(told[0]))
with watched() as guard:
    for number in guard.generations(range(20)):
        grown()
        event(number, len(switches), greenlet.gettrace().__module__)
