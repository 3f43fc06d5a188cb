"""Dispatch: containers of the program whose size, length, hash, order and text count calls are not called."""

import time
from collections import Counter
from typing import Any

from regression_tests.benchmarks.harm.stage import watched

calls: Counter[str] = Counter()


def counting(name: str, answer: Any) -> Any:
    def method(self: Any, *_: Any) -> Any:
        calls[name] += 1
        return answer

    return method


NAMES = {
    "__sizeof__": 100, "__len__": 3, "__eq__": False, "__repr__": "?", "__str__": "?", "__bool__": True,
    "__dir__": [], "__contains__": False, "__iter__": None, "__index__": 1, "__reduce_ex__": None,
    "__del__": None, "__copy__": None, "__deepcopy__": None, "__length_hint__": 1, "__format__": "?", "__array__": None,
}  # fmt: skip
Base = type("Base", (), {name: counting(name, answer) for name, answer in NAMES.items()})
Column = type("Column", (Base, list), {"__hash__": counting("__hash__", 1)})
Frame = type("Frame", (Base, dict), {"__hash__": counting("__hash__", 1), "keys": counting("keys", [])})
Key = type("Key", (Base, str), {"__hash__": counting("__hash__", 1), "__lt__": counting("__lt__", False)})
store: list[Any] = []
index: dict[Any, Any] = {}


def main() -> None:
    with watched() as guard:
        for number in guard.generations(range(25)):
            time.sleep(0.04)  # the work of a round
            for k in range(40):
                store.append(Column([number, k, [k]]))
                store.append(Frame(a=[number], b=k))
                if k % 10 == 0:
                    index[Key(f"{number}.{k}")] = [number]  # one hash each, and its comparisons
    print(sorted(calls.items()), len(store))


main()
