"""Limits: a service that closes all descriptors and opens its own log finds only its own lines in it."""

import os
import tempfile
import time

from regression_tests.benchmarks.harm.stage import watched

sessions: list[list[str]] = []


def main() -> None:
    folder = tempfile.mkdtemp()
    logs: list[str] = []
    with watched() as guard:
        for number in guard.generations(range(30)):
            time.sleep(0.04)  # the work of a round
            if number == 3:
                os.closerange(3, 200)  # as every book on daemons says
                for k in range(12):  # and the numbers have new owners
                    logs.append(f"{folder}/{k}.log")
                    os.open(logs[-1], os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
            if logs:
                for k in range(12):
                    with open(logs[k], "a") as file:
                        file.write(f"{number}\n")
            sessions.extend([f"{number}", f"{k}"] for k in range(1000))
    texts = set()
    for path in logs:
        with open(path) as file:
            texts.add(file.read())
        os.unlink(path)
    os.rmdir(folder)
    print(len(texts), texts == {"".join(f"{n}\n" for n in range(3, 30))})


main()
