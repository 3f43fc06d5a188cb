"""Hooks: trace and profile functions of a debugger or a coverage tool must stay as they are."""

import sys
import threading
import time

from regression_tests.benchmarks.harm.stage import event, watched


class Sample:
    pass


def traced(frame, what, argument):
    files.add(frame.f_globals.get("__name__", "").partition(".")[0])
    return traced


def profiled(frame, what, argument):
    files.add(frame.f_globals.get("__name__", "").partition(".")[0])


def grown():
    kept.extend([Sample()] * 500)
    time.sleep(0.05)


files, kept = set(), []
with watched() as guard:
    for number in guard.generations(range(12)):
        if number == 1:
            sys.settrace(traced)
            sys.setprofile(profiled)
            threading.setprofile(profiled)
        grown()
        event(sys.gettrace() is traced, sys.getprofile() is profiled)
sys.settrace(None)
sys.setprofile(None)
threading.setprofile(None)
event("__main__" in files)
