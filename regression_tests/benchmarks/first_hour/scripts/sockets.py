"""Parameter server over sockets: a worker reconnects each round; the server side list is never pruned."""
import pickle
import socket
import struct
import sys
import threading
import numpy as np
from leakguard import LeakGuard

CLEAN = "clean" in sys.argv


class Session:
    def __init__(self, sock):
        self.sock = sock
        self.buffer = bytearray()

    def recv(self):
        while len(self.buffer) < 4 or len(self.buffer) < 4 + struct.unpack(">I", self.buffer[:4])[0]:
            data = self.sock.recv(65536)
            if not data:
                return None
            self.buffer += data
        return pickle.loads(bytes(self.buffer[4:]))


class ParameterServer:
    def __init__(self):
        self.sessions = []
        self.weights = np.zeros(20_000)

    def accept(self, sock):
        session = Session(sock)
        self.sessions.append(session)
        return session

    def serve_one(self, session):
        grad = session.recv()
        self.weights -= 0.01 * grad
        if CLEAN:
            session.sock.close()
            self.sessions.remove(session)


def worker(sock, seed):
    grad = np.random.default_rng(seed).normal(size=20_000)
    body = pickle.dumps(grad)
    sock.sendall(struct.pack(">I", len(body)) + body)
    sock.close()


server = ParameterServer()
guard = LeakGuard(out=f"s15.{'clean' if CLEAN else 'leaky'}.jsonl", report=None)
with guard:
    for rnd in guard.generations(range(50)):
        for w in range(4):
            a, b = socket.socketpair()
            t = threading.Thread(target=worker, args=(b, rnd * 4 + w))
            t.start()
            with guard.phase("push"):
                server.serve_one(server.accept(a))
            t.join()
print(np.abs(server.weights).max())
