"""Dispatch: metaclasses with side effects on isinstance, attributes, subclasses and calls are not triggered."""

import time
from collections import Counter
from typing import Any

from regression_tests.benchmarks.harm.stage import watched

effects: Counter[str] = Counter()


class Registry(type):
    def __call__(cls, *arguments: Any) -> Any:
        effects["call"] += 1
        return super().__call__(*arguments)

    def __instancecheck__(cls, other: Any) -> bool:
        effects["isinstance"] += 1
        return True

    def __subclasscheck__(cls, other: Any) -> bool:
        effects["issubclass"] += 1
        return True

    def __getattribute__(cls, name: str) -> Any:
        effects[f"attribute {name}"] += 1
        return super().__getattribute__(name)

    def __repr__(cls) -> str:
        effects["repr"] += 1
        return "<a class>"

    def __eq__(cls, other: object) -> bool:
        effects["eq"] += 1
        return cls is other

    def __hash__(cls) -> int:
        effects["hash"] += 1
        return 7

    def mro(cls) -> list[type]:
        effects["mro"] += 1
        return super().mro()

    @property
    def __module__(cls) -> str:  # type: ignore[override]
        effects["module"] += 1
        return "elsewhere"


class Plugin(metaclass=Registry):
    def __init__(self, number: int) -> None:
        self.number, self.state = number, [number]


plugins: list[Plugin] = []


def main() -> None:
    before = dict(effects)
    with watched() as guard:
        for number in guard.generations(range(25)):
            time.sleep(0.04)  # the work of a round
            plugins.extend(Plugin(k) for k in range(200))
            made = type(Registry)("Meta", (Registry,), {})  # a metaclass a round
            made("Made", (), {})
    now = dict(effects)
    print(sorted((name, now[name] - before.get(name, 0)) for name in now))


main()
