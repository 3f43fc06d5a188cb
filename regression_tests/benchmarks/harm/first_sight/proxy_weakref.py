"""Dispatch: weak references die when their target does, call back once, and dead proxies are not touched."""

import time
import weakref
from typing import Any

from regression_tests.benchmarks.harm.stage import watched

called: list[int] = []
proxies: list[Any] = []
live: "weakref.WeakValueDictionary[int, Model]" = weakref.WeakValueDictionary()
seen: "weakref.WeakSet[Model]" = weakref.WeakSet()
said: list[tuple[int, int, int]] = []


class Model:
    def __init__(self, number: int) -> None:
        self.number, self.weights = number, [float(k) for k in range(2000)]


def main() -> None:
    model = None
    with watched() as guard:
        for number in guard.generations(range(30)):
            time.sleep(0.04)  # the work of a round
            model = Model(number)  # the one before dies here
            live[number] = model
            seen.add(model)
            proxies.extend(weakref.proxy(model, lambda _, n=number: called.append(n)) for _ in range(100))
            said.append((len(live), len(seen), len(called)))
        for proxy in proxies[::500]:
            try:
                print(proxy.number)
            except ReferenceError:
                pass
    print(said)
    del model
    print(len(live), len(seen), len(called))


main()
