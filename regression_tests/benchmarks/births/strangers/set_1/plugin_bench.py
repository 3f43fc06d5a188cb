"""Builds and scores expression trees with the collector switched off for speed."""
import gc
import random
import sys
import weakref

FIXED = sys.argv[1] == "fixed"
gc.disable()
random.seed(64)


class Node:
    __slots__ = ("op", "children", "_parent", "__weakref__")

    def __init__(self, op, parent=None):
        self.op = op
        self.children = []
        self._parent = weakref.ref(parent) if FIXED and parent is not None else parent
        if parent is not None:
            parent.children.append(self)

    def value(self, x):
        if not self.children:
            return x * self.op
        left, right = (child.value(x) for child in self.children)
        return left + right if self.op < 0.5 else left - 0.5 * right


def grow(depth, parent=None):
    node = Node(random.random(), parent)
    if depth:
        grow(depth - 1, node)
        grow(depth - 1, node)
    return node


class Tournament:
    def __init__(self):
        self.scores = []
        self.champions = []

    def turn(self):
        trees = [grow(7) for _ in range(8)]
        ranked = sorted(trees, key=lambda tree: sum(tree.value(x / 5) for x in range(60)))
        self.scores.append(ranked[0].value(1.0))
        self.champions = (self.champions + ranked[:1])[-10:]


tournament = Tournament()
for turn in range(150):
    tournament.turn()
print("turns", len(tournament.scores), "best", round(min(tournament.scores), 4))
