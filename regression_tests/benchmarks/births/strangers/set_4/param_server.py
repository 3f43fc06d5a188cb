"""Asynchronous training of a linear-softmax model: four worker threads push gradients to a parameter server."""
import queue
import struct
import threading

import numpy as np

FEATURES, CLASSES, SHARD = 600, 40, 512
scratch = threading.local()


class Journal:
    """The wire log, from which a crashed server could be replayed."""

    def __init__(self):
        self.data = bytearray()
        self.flushed = 0

    def write(self, version, sender, delta):
        top = np.argsort(np.abs(delta), axis=None)[-2000:].astype(np.uint32)
        self.data += struct.pack("<IIf", version, sender, float(np.abs(delta).mean()))
        self.data += top.tobytes()
        self.data += delta.ravel()[top].astype(np.float32).tobytes()


class Server:
    def __init__(self):
        self.lock = threading.Lock()
        self.weights = np.zeros((FEATURES, CLASSES), dtype=np.float32)
        self.momentum = np.zeros_like(self.weights)
        self.version = 0
        self.history = {}
        self.acked = {}
        self.journal = Journal()

    def register(self, name):
        self.acked[name] = 0

    def pull(self, name):
        with self.lock:
            self.acked[name] = self.version
            return self.version, self.weights

    def push(self, sender, version, grad):
        with self.lock:
            staleness = 1 + self.version - version
            self.momentum = 0.8 * self.momentum + grad / staleness
            self.journal.write(self.version, sender, grad)

    def commit(self):
        """One version a step; older ones stay for replicas that have not confirmed a newer one."""
        with self.lock:
            self.weights = self.weights - 0.3 * self.momentum
            self.version += 1
            self.history[self.version] = self.weights
            oldest = min(self.acked.values())
            for old in [v for v in self.history if v < oldest]:
                del self.history[old]


def shard_buffers(step, shard):
    """Room for the logits and the gathered rows of a shard, of this thread alone."""
    if not hasattr(scratch, "buffers"):
        scratch.buffers = {}
    key = (step, shard)
    if key not in scratch.buffers:
        scratch.buffers[key] = np.empty((SHARD, CLASSES), dtype=np.float32)
    return scratch.buffers[key]


class Worker(threading.Thread):
    def __init__(self, number, server, data):
        super().__init__(daemon=True, name=f"worker-{number}")
        self.number, self.server, self.data = number, server, data
        self.inbox, self.outbox = queue.Queue(), queue.Queue()
        server.register(self.name)

    def gradient(self, step, shard, weights):
        x, y = self.data
        rows = slice(shard * SHARD, (shard + 1) * SHARD)
        logits = shard_buffers(step, shard)
        moved = np.zeros_like(weights)
        for _ in range(16):    # local steps, sent as one
            np.matmul(x[rows], weights - 0.05 * moved, out=logits)
            logits -= logits.max(axis=1, keepdims=True)
            np.exp(logits, out=logits)
            logits /= logits.sum(axis=1, keepdims=True)
            loss = -np.log(logits[np.arange(SHARD), y[rows]] + 1e-9).mean()
            logits[np.arange(SHARD), y[rows]] -= 1
            moved += x[rows].T @ logits / SHARD
        return moved / 16, float(loss)

    def run(self):
        while True:
            item = self.inbox.get()
            if item is None:
                return
            step, shard = item
            version, weights = self.server.pull(self.name)
            grad, loss = self.gradient(step, shard, weights)
            self.server.push(self.number, version, grad)
            self.outbox.put(loss)


def main():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(SHARD * 8, FEATURES)).astype(np.float32)
    y = (x @ rng.normal(size=(FEATURES, CLASSES))).argmax(axis=1)
    server = Server()
    server.register("standby")
    workers = [Worker(k, server, (x, y)) for k in range(4)]
    for w in workers:
        w.start()
    for step in range(60):
        losses = []
        for w in workers:
            w.inbox.put((step, (step + w.number) % 8))
            w.inbox.put((step, (step + w.number + 4) % 8))
        for w in workers:
            losses += [w.outbox.get(), w.outbox.get()]
        server.commit()
        if step % 20 == 19:
            print(f"step {step + 1} loss {np.mean(losses):.3f}")
    for w in workers:
        w.inbox.put(None)
        w.join()


if __name__ == "__main__":
    main()
