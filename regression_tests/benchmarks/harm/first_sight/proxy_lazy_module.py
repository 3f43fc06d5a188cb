"""Dispatch: lazy modules stay unloaded, and a module whose `__getattr__` counts is not asked."""

import importlib.util
import sys
import time
import types
from typing import Any

from regression_tests.benchmarks.harm.stage import watched

NAMES = ["colorsys", "cgitb", "nntplib", "sunau", "mailcap"]
asked: list[str] = []
rows: list[list[str]] = []


class Api(types.ModuleType):
    def __getattr__(self, name: str) -> Any:
        asked.append(name)
        raise ImportError(f"{name} wants the network")

    def __dir__(self) -> Any:
        asked.append("dir")
        return ["a"]


def lazy(name: str) -> types.ModuleType:
    spec = importlib.util.find_spec(name)
    assert spec is not None and spec.loader is not None
    spec.loader = importlib.util.LazyLoader(spec.loader)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def main() -> None:
    modules = [lazy(name) for name in NAMES if name not in sys.modules]
    sys.modules["remote_api"] = Api("remote_api")
    with watched() as guard:
        for number in guard.generations(range(40)):
            time.sleep(0.04)  # the work of a round
            rows.extend([f"{number}", f"{k}"] for k in range(1000))
    unloaded = [object.__getattribute__(module, "__class__").__name__ for module in modules]
    print(unloaded, asked)
    print(modules[0].rgb_to_hsv(1, 0, 0), type(modules[0]).__name__)


main()
