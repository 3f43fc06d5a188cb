"""Self-measurement: an audit hook that forbids what an attacker would do stops nothing, and hears the program's own."""

import os
import sys
import time
from collections import Counter
from typing import Any

from regression_tests.benchmarks.harm.stage import watched

FORBIDDEN = {"gc.get_objects", "gc.get_referrers", "gc.get_referents", "os.fork", "os.system", "ctypes.dlopen"}
refused: Counter[str] = Counter()
own: list[str] = []
keep: list[tuple[int, int]] = []
armed = [False]


def hook(name: str, arguments: tuple[Any, ...]) -> None:
    if not armed[0]:
        return
    if name == "open" and str(arguments[0]).startswith("/dev/n"):
        own.append(name)
    if name in FORBIDDEN:
        refused[name] += 1
        raise PermissionError(name)


def main() -> None:
    sys.addaudithook(hook)
    with watched() as guard:
        for number in guard.generations(range(25)):
            time.sleep(0.04)  # the work of a round
            armed[0] = True
            with open("/dev/null", "w") as null:
                null.write("x")
            keep.extend((number, k) for k in range(2000))
            try:
                os.system("true")
            except PermissionError:
                own.append("refused")
    armed[0] = False
    print(Counter(own), len(keep))


main()
