"""Shared memory: segments are unlinked by their owner, once, and the resource tracker has no complaint."""

import os
import time
from multiprocessing import resource_tracker, shared_memory

from regression_tests.benchmarks.harm.stage import watched

kept: list[shared_memory.SharedMemory] = []
views: list[memoryview] = []


def main() -> None:
    names: list[str] = []
    with watched() as guard:
        for number in guard.generations(range(25)):
            time.sleep(0.04)  # the work of a round
            segment = shared_memory.SharedMemory(create=True, size=200_000)
            segment.buf[:4] = number.to_bytes(4, "little")
            again = shared_memory.SharedMemory(segment.name)
            assert again.buf[0] == number
            again.close()
            if number % 5 == 0:
                kept.append(segment)
                views.append(segment.buf[:4])
                names.append(segment.name)
            else:
                segment.close()
                segment.unlink()
    there = [os.path.exists(f"/dev/shm/{name}") for name in names]
    print(there, [bytes(view) for view in views])
    views.clear()
    for segment in kept:
        segment.close()
        segment.unlink()
    print(any(os.path.exists(f"/dev/shm/{name}") for name in names), resource_tracker._resource_tracker._pid is not None)


if __name__ == "__main__":
    main()
