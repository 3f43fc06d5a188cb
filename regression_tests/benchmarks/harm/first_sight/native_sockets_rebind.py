"""C objects: a port can be bound again, and a peer reads the end, as soon as the program closes its socket."""

import socket
import threading
import time

from regression_tests.benchmarks.harm.stage import measured, watched

LIMITS = {"late_eofs": (1.0, 0), "in_use": (1.0, 0)}
heap = [[k] for k in range(400_000)]  # a look takes its time
table: list[dict[int, int]] = []


def main() -> None:
    over = threading.Event()
    late, in_use, rounds, oddities = [0], [0], [0], []

    def churn() -> None:
        port = 0
        while not over.is_set():
            server = socket.socket()
            try:
                server.bind(("127.0.0.1", port))
            except OSError:
                in_use[0] += 1
                port = 0
                continue
            port = server.getsockname()[1]
            server.close()
            here, there = socket.socketpair()
            there.settimeout(0.25)
            here.sendall(b"last words")
            here.close()  # nobody else has it: the peer reads an end now
            try:
                got = there.recv(100), there.recv(100)
                if got != (b"last words", b""):
                    oddities.append(got)
            except socket.timeout:
                late[0] += 1
            there.close()
            rounds[0] += 1
            time.sleep(0.0005)

    thread = threading.Thread(target=churn)
    thread.start()
    with watched() as guard:
        for number in guard.generations(range(12)):
            table.extend({number: k} for k in range(3000))
            time.sleep(0.05)
    over.set()
    thread.join()
    measured("late_eofs", late[0])
    measured("in_use", in_use[0])
    print(rounds[0] > 50, oddities)


main()
