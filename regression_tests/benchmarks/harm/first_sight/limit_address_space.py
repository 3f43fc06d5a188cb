"""Limits: under RLIMIT_AS, and a soft RLIMIT_CPU that asks for a checkpoint, the program's own allocations succeed."""

import resource
import signal

from regression_tests.benchmarks.harm.stage import watched

asked: list[int] = []
heap = [[k, str(k)] for k in range(200_000)]
cached: list[list[str]] = []


def size() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def main() -> None:
    signal.signal(signal.SIGXCPU, lambda *_: asked.append(1))
    resource.setrlimit(resource.RLIMIT_CPU, (40, 60))
    failed = 0
    with watched() as guard:
        resource.setrlimit(resource.RLIMIT_AS, (size() + 500_000_000, resource.RLIM_INFINITY))
        for number in guard.generations(range(15)):
            try:
                work = bytearray(250_000_000)
                del work
            except MemoryError:
                failed += 1
            cached.extend([f"{number}", f"{k}"] for k in range(2000))
    print(failed, asked, len(heap), len(cached))


main()
