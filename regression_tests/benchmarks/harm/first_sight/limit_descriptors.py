"""Limits: at RLIMIT_NOFILE, with every descriptor in use when a generation ends, the loop goes on; all come back."""

import os
import resource
import time

from regression_tests.benchmarks.harm.stage import watched

held: list[int] = []
lost: list[list[int]] = []


def main() -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (48, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    full = 0
    with watched() as guard:
        for number in guard.generations(range(30)):
            time.sleep(0.04)  # the work of a round
            for descriptor in held:
                os.close(descriptor)
            held.clear()
            with open("/proc/self/stat") as file:
                file.read()
            lost.extend([number, k] for k in range(1500))
            while True:  # a burst of clients takes what is left, and stays into the next round
                try:
                    held.append(os.open("/dev/null", os.O_RDONLY))
                except OSError:
                    full += 1
                    break
    for descriptor in held:
        os.close(descriptor)
    print(full, len(held) > 20, len(lost))


main()
