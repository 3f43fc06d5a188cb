"""Dispatch: a lazy object whose `__class__`, `__dict__` and attributes count or raise is asked by nobody."""

import time
from typing import Any

from regression_tests.benchmarks.harm.stage import watched

asked: list[str] = []


class Lazy:
    def __init__(self, name: str) -> None:
        object.__setattr__(self, "_name", name)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        asked.append("__class__")
        raise RuntimeError("not connected")

    @property
    def __dict__(self) -> Any:  # type: ignore[override]
        asked.append("__dict__")
        raise RuntimeError("not connected")

    def __getattribute__(self, name: str) -> Any:
        if name == "_name":
            return object.__getattribute__(self, name)
        asked.append(name)
        raise RuntimeError(name)

    def __getattr__(self, name: str) -> Any:
        asked.append("getattr " + name)
        raise RuntimeError(name)


registry: list[Lazy] = []
by_name: dict[str, Lazy] = {}


def main() -> None:
    with watched() as guard:
        for number in guard.generations(range(25)):
            time.sleep(0.04)  # the work of a round
            for k in range(100):
                lazy = Lazy(f"{number}.{k}")
                registry.append(lazy)
                by_name[lazy._name] = lazy
    print(len(by_name), asked)


main()
