"""Signals: faulthandler's dump of a hang, re-armed every generation, is never written, and stays enabled."""

import faulthandler
import tempfile
import time

from regression_tests.benchmarks.harm.stage import watched

ring: list[tuple[int, ...]] = []


def main() -> None:
    with tempfile.TemporaryFile("w+") as dumps, tempfile.TemporaryFile("w+") as faults:
        faulthandler.enable(faults)
        with watched() as guard:
            for number in guard.generations(range(30)):
                faulthandler.dump_traceback_later(4, repeat=True, file=dumps)
                time.sleep(0.01)
                ring.extend((number, k, k + 1) for k in range(2000))
        faulthandler.cancel_dump_traceback_later()
        for file in (dumps, faults):
            file.seek(0)
            print(repr(file.read()), faulthandler.is_enabled())
        faulthandler.disable()


main()
