"""Signals: the bytes of set_wakeup_fd are those of the program's own signals, each once."""

import os
import signal
import socket
import threading
import time

from regression_tests.benchmarks.harm.stage import watched

pieces: list[tuple[int, bytes]] = []


def main() -> None:
    here, there = socket.socketpair()
    there.setblocking(False)
    for number in (signal.SIGUSR1, signal.SIGCHLD, signal.SIGALRM):
        signal.signal(number, lambda *_: None)
    signal.set_wakeup_fd(there.fileno(), warn_on_full_buffer=True)
    got: list[int] = []

    def read() -> None:
        while data := here.recv(100):
            got.extend(data)

    reader = threading.Thread(target=read)
    reader.start()
    with watched() as guard:
        for number in guard.generations(range(30)):
            time.sleep(0.04)  # the work of a round
            signal.raise_signal(signal.SIGUSR1)
            if os.fork() == 0:
                os._exit(0)
            os.wait()
            pieces.extend((number, b"%d" % k) for k in range(1000))
    same = signal.set_wakeup_fd(-1) == there.fileno()
    there.close()
    reader.join()
    print(same, sorted((signal.Signals(n).name, got.count(n)) for n in set(got)))


main()
