"""Self-measurement: a program that profiles and traces its own lines counts each call and line as alone."""

import sys
import threading
import time
from collections import Counter
from types import FrameType
from typing import Any

from regression_tests.benchmarks.harm.stage import watched

calls: Counter[str] = Counter()
lines: Counter[int] = Counter()
items: list[list[int]] = []


def profile(frame: FrameType, event: str, _: Any) -> None:
    if frame.f_code.co_filename == __file__:
        calls[f"{event} {frame.f_code.co_name}"] += 1


def trace(frame: FrameType, event: str, _: Any) -> Any:
    if frame.f_code.co_filename != __file__:
        return None
    if event == "line":
        lines[frame.f_lineno] += 1
    return trace


def step(number: int) -> None:
    for k in range(50):
        items.append([number, k])


def main() -> None:
    print(sys.gettrace(), sys.getprofile(), threading.gettrace(), threading.getprofile())
    with watched() as guard:
        sys.setprofile(profile)
        sys.settrace(trace)
        for number in guard.generations(range(40)):
            time.sleep(0.04)  # the work of a round
            step(number)
            thread = threading.Thread(target=step, args=(number,))
            thread.start()
            thread.join()
        same = sys.gettrace() is trace, sys.getprofile() is profile
        sys.settrace(None)
        sys.setprofile(None)
    print(same, sorted(calls.items()), sorted(lines.items()))


main()
