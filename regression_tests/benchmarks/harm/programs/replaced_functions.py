"""Hooks: functions that the program has replaced, as test doubles, must not be called by us."""

import builtins
import gc
import os
import threading
import time

from regression_tests.benchmarks.harm.stage import event, watched

BEGUN = 4  # rounds after which a guard has begun, which has more to ask of the system then
REPLACED = {
    time: ("time", "sleep"),
    os: ("listdir", "fork", "getpid"),
    gc: ("collect", "freeze", "disable", "enable", "set_threshold"),
    builtins: ("print", "open"),
}


class Sample:
    pass


def double(module, name):
    real = getattr(module, name)

    def called(*arguments, **named):
        if threading.current_thread() is threading.main_thread():
            calls[f"{module.__name__}.{name}"] = calls.get(f"{module.__name__}.{name}", 0) + 1
        return real(*arguments, **named)

    setattr(module, name, called)
    return module, name, real


calls, kept = {}, []
wait = threading.Event().wait
with watched() as guard:
    doubles = []
    for number in guard.generations(range(16)):
        if number == BEGUN:
            doubles += [double(module, name) for module in REPLACED for name in REPLACED[module]]
        kept.extend(Sample() for _ in range(500))
        wait(0.05)
    for module, name, real in doubles:
        setattr(module, name, real)
event(sorted(calls))
