"""C objects: epoll forgets a closed descriptor at once, a memfd can be sealed, and a lease can be taken."""

import fcntl
import mmap
import os
import select
import tempfile
import threading
import time

from regression_tests.benchmarks.harm.stage import measured, watched

LIMITS = {"ghosts": (1.0, 0), "unsealed": (1.0, 0), "no_lease": (1.0, 0)}
heap = [{k} for k in range(200_000)]
grows: list[set[int]] = []


def main() -> None:
    over = threading.Event()
    counts = {"ghosts": 0, "unsealed": 0, "no_lease": 0}
    rounds = [0]

    def work(folder: str) -> None:
        poll = select.epoll()
        while not over.is_set():
            out, into = os.pipe()
            poll.register(out, select.EPOLLIN)
            os.write(into, b"x")
            assert poll.poll(1)
            os.close(out)
            counts["ghosts"] += bool(poll.poll(0))  # closed: nothing is left to hear of
            os.close(into)
            memory = os.memfd_create("weights", os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC)
            os.truncate(memory, 1 << 16)
            with mmap.mmap(memory, 1 << 16) as area:
                area[:5] = b"hello"
            try:
                fcntl.fcntl(memory, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SHRINK)
            except OSError:
                counts["unsealed"] += 1
            os.close(memory)
            with open(f"{folder}/data", "w"):
                pass
            with open(f"{folder}/data") as file:
                try:
                    fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK)
                    fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_UNLCK)
                except OSError:
                    counts["no_lease"] += 1
            rounds[0] += 1
            time.sleep(0.0005)

    with tempfile.TemporaryDirectory() as folder:
        thread = threading.Thread(target=work, args=(folder,))
        thread.start()
        with watched() as guard:
            for number in guard.generations(range(12)):
                grows.extend({number, k} for k in range(3000))
                time.sleep(0.08)
        over.set()
        thread.join()
    for name, count in counts.items():
        measured(name, count)
    print(rounds[0] > 20)


main()
