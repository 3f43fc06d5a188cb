"""Fork servers: a pool of a fork server and one of spawn answer as alone, with the script found again by both."""

import multiprocessing
import sys

from regression_tests.benchmarks.harm.stage import watched

answers: list[list[int]] = []


def square(n: int) -> int:
    return n * n


def named(_: int) -> str:
    return sys.modules["__main__"].__name__ + "/" + square.__module__


def main() -> None:
    with multiprocessing.get_context("forkserver").Pool(2) as server, \
            multiprocessing.get_context("spawn").Pool(1) as spawned, watched() as guard:
        for number in guard.generations(range(20)):
            answers.append(server.map(square, range(number, number + 300), 50))
            answers.append(spawned.map(square, range(100)))
        print(sorted(set(server.map(named, range(4)))), spawned.map(named, [1]))
    print(sum(map(sum, answers)), len(multiprocessing.active_children()))


if __name__ == "__main__":
    main()
