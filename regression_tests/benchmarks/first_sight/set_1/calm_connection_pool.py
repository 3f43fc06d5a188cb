"""A proxy whose pool of connections grows with the busiest moment so far."""
# /// truth
# about = "a pool of sockets that grows with peak demand, ever more rarely, up to its bound"
# ///
import os
import random
import socket
import sys
import zlib

from leakguard import LeakGuard, phase

assert sys.argv[1] == "clean"
GENERATIONS = 180


class Connection:
    def __init__(self):
        self.near, self.far = socket.socketpair()
        self.buffer = bytearray(16_000)

    def ask(self, message):
        self.near.sendall(message)
        size = self.far.recv_into(self.buffer)
        self.far.sendall(zlib.compress(self.buffer[:size], 9))
        return self.near.recv(16_000)

    def close(self):
        self.near.close()
        self.far.close()


class Pool:
    def __init__(self, bound=48):
        self.bound = bound
        self.idle = []
        self.made = 0

    def take(self):
        if self.idle:
            return self.idle.pop()
        if self.made == self.bound:
            return None
        self.made += 1
        return Connection()


class Proxy:
    def __init__(self):
        self.pool = Pool()
        self.chance = random.Random(29)
        self.message = bytes(self.chance.randrange(64) for _ in range(6000))

    @phase("accept")
    def accept(self):
        wanted = max(2, int(self.chance.gauss(22, 8)))
        return [connection for _ in range(wanted) if (connection := self.pool.take())]

    @phase("serve")
    def serve(self, connections):
        for turn in range(300):
            connections[turn % len(connections)].ask(self.message)

    @phase("release")
    def release(self, connections):
        while connections:
            self.pool.idle.append(connections.pop())


proxy = Proxy()
guard = LeakGuard(out=os.environ["RUN_FILE"])
with guard:
    for second in guard.generations(range(1, GENERATIONS + 1)):
        connections = proxy.accept()
        proxy.serve(connections)
        proxy.release(connections)
for connection in proxy.pool.idle:
    connection.close()
