"""Process pools: workers of an executor, forked in the midst of the loop, compute and end; none is left."""

import concurrent.futures
import multiprocessing
import os

from regression_tests.benchmarks.harm.stage import watched

results: dict[int, list[int]] = {}


def primes(limit: int) -> list[int]:
    return [n for n in range(2, limit) if all(n % d for d in range(2, int(n**0.5) + 1))]


def main() -> None:
    context = multiprocessing.get_context("fork")
    parents: set[bool] = set()
    with watched() as guard:
        for number in guard.generations(range(12)):
            with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
                for k, found in enumerate(pool.map(primes, [3000 + number, 3000])):
                    results[2 * number + k] = found
                parents.add(pool.submit(os.getppid).result() == os.getpid())
    try:
        left = os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        left = (0, 0)
    print(sum(map(len, results.values())), parents, left)


if __name__ == "__main__":
    main()
