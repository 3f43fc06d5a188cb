"""Deep structures: kept exceptions, nested 60 deep with their frames, keep locals, causes and lines as they were."""

import time
import traceback

from regression_tests.benchmarks.harm.stage import watched

failures: list[BaseException] = []


def fail(depth: int, secret: list[int]) -> None:
    mine = list(secret)
    try:
        if depth == 0:
            raise KeyError(mine[0])
        fail(depth - 1, [*mine, depth])
    except Exception as error:
        mine.append(-depth)
        raise ValueError(depth) from error


def main() -> None:
    with watched() as guard:
        for number in guard.generations(range(30)):
            time.sleep(0.04)  # the work of a round
            try:
                fail(60, [number])
            except ValueError as error:
                failures.append(error)
    depths, frames = [], set()
    for error in failures:
        depth, cause = 0, error.__cause__
        while cause is not None:
            depth, cause = depth + 1, cause.__cause__
        depths.append(depth)
        last = error.__traceback__
        while last is not None and last.tb_next is not None:
            last = last.tb_next
        assert last is not None
        frames.add((last.tb_lineno, last.tb_frame.f_locals["mine"][1:] == [-60], last.tb_frame.f_lineno))
    print(set(depths), sorted(frames))
    text = "".join(traceback.format_exception(failures[-1]))
    print(text.count("direct cause"), text.count("in fail"))


main()
