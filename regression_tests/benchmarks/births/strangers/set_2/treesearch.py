"""Monte Carlo tree search for a subtraction game; one long match, a game record per move."""
import random
import signal
import sys
import time
import weakref

from leakguard import LeakGuard

LEAKS = sys.argv[1] == "leak"
rng = random.Random(13)
TABLE = {}


class Node:
    def __init__(self, heap, parent=None):
        self.heap = heap
        self.parent = parent
        self.children = {}
        self.visits = 0
        self.value = 0.0
        if parent is not None:
            self.prior = [rng.random() for _ in range(9)]


def rollout(heap, ply):
    key = (heap, ply, rng.randrange(10_000))
    if key in TABLE:
        return TABLE[key]
    result = sum(rng.random() for _ in range(12)) / 12
    TABLE[key] = (result, f"{heap}:{ply}")
    if not LEAKS and len(TABLE) > 300:
        TABLE.pop(next(iter(TABLE)))
    return TABLE[key]


class GameRecord:
    def __init__(self, ply):
        self.ply = ply
        self.frames = [bytes([ply % 256]) * 700 for _ in range(60)]
        if LEAKS:
            weakref.finalize(self, self.flush)

    def flush(self):
        return self.ply, len(self.frames)


class Budget:
    def __init__(self, ply):
        self.samples = [time.perf_counter() + i for i in range(1500)]
        self.stopped = False
        previous = signal.getsignal(signal.SIGUSR1) if LEAKS else None

        def stop(number, frame):
            self.stopped = True
            if callable(previous):
                previous(number, frame)

        signal.signal(signal.SIGUSR1, stop)


class Player:
    def __init__(self):
        self.root = Node(10_000)

    def search(self, ply, simulations=160):
        for _ in range(simulations):
            node = self.root
            while len(node.children) == 9:
                node = max(node.children.values(), key=lambda c: c.value / (c.visits + 1) + rng.random())
            take = len(node.children) + 1
            child = node.children[take] = Node(node.heap - take, node)
            value, _ = rollout(child.heap, ply)
            while child is not self.root:
                child.visits += 1
                child.value += value
                child = child.parent

    def move(self):
        child = max(self.root.children.values(), key=lambda c: c.visits)
        if not LEAKS:
            for sibling in self.root.children.values():
                prune(sibling, sibling is child)
            child.parent = None
        self.root = child


def prune(node, keep):
    node.parent = None
    if not keep:
        for child in node.children.values():
            prune(child, False)


player = Player()
guard = LeakGuard(out=sys.argv[2])
with guard:
    for ply in guard.generations(range(1, 76)):
        with guard.phase("search"):
            if ply % 3 == 0:
                Budget(ply)
            player.search(ply)
        with guard.phase("move"):
            player.move()
        with guard.phase("archive"):
            if ply >= 20:
                record = GameRecord(ply)
                record.flush()
        time.sleep(0.02)
print("heap", player.root.heap, "table", len(TABLE))
