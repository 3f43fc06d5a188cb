"""References: counts of what everybody shares and of what the program keeps stay as they were."""

import sys
import time

from regression_tests.benchmarks.harm.stage import event, watched


class Sample:
    pass


class Shared:
    pass


shared, buffer = Shared(), bytearray(1000)
view = memoryview(buffer)
holders = [shared] * 100
before = sys.getrefcount(shared), sys.getrefcount(holders), sys.getrefcount(buffer)
kept = []
with watched() as guard:
    for _ in guard.generations(range(12)):
        kept.extend(Sample() for _ in range(500))
        time.sleep(0.05)
        after = sys.getrefcount(shared), sys.getrefcount(holders), sys.getrefcount(buffer)
        event([b - a for a, b in zip(before, after, strict=True)])
        try:
            buffer.extend(b"more")
        except BufferError as error:
            event(error)
view.release()
buffer.extend(b"more")
event(len(buffer))
