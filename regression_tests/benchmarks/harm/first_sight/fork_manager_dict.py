"""Managers: proxies of a multiprocessing manager keep their counts of references, and the server ends."""

import multiprocessing
from typing import Any

from regression_tests.benchmarks.harm.stage import watched

kept: list[Any] = []


def fill(shared: Any, number: int) -> None:
    shared[number] = number * number


def main() -> None:
    context = multiprocessing.get_context("fork")
    with context.Manager() as manager:
        shared, lock = manager.dict(), manager.Lock()
        with watched() as guard:
            for number in guard.generations(range(15)):
                child = context.Process(target=fill, args=(shared, number))
                child.start()
                child.join()
                with lock:
                    shared["last"] = number
                extra = manager.list(range(50))  # its referent lives for as long as the proxy does
                if number % 2:
                    kept.append(extra)
                del extra
                print(number, child.exitcode, len(shared), manager._number_of_objects())
        print(sum(len(proxy) for proxy in kept))
        kept.clear()
        print(manager._number_of_objects())


if __name__ == "__main__":
    main()
