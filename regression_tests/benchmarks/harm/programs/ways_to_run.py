"""Start: whatever ``python`` runs must run, with the same name, arguments and path entry."""

import os
import sys
import time

from regression_tests.benchmarks.harm.stage import event, watched

FORMS = ["file", "folder", "zip", "module", "text", "input"]
ARGUMENTS = ["--epochs"]


class Sample:
    pass


def shortened(path):
    return None if path is None else os.path.basename(path)


event(__name__, shortened(globals().get("__file__")), globals().get("__package__"))
event(type(globals().get("__loader__")).__name__, sys.argv[1:], shortened(sys.argv[0]))
event(shortened(sys.path[0]), sorted(set(sys.modules["__main__"].__dict__) - {"__cached__"})[:9])
kept = []
with watched() as guard:
    for _ in guard.generations(range(12)):
        kept.extend(Sample() for _ in range(500))
        time.sleep(0.05)
print("ran", sys.argv[1:])
