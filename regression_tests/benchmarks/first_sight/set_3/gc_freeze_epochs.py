"""The collector is frozen at the end of each epoch, as somebody read that this makes it faster."""

# /// truth
# about = "gc.freeze() every epoch makes the cycles of that epoch immortal"
# [[leak]]
# type = ["Node", "Episode"]
# kind = ["cycles"]
# phase = ["build", "freeze"]
# start = 1
# ///
import gc
import os
import random
import sys

from leakguard import LeakGuard

LEAK = sys.argv[1] == "leak"
random.seed(41)


class Node:
    def __init__(self, parent, prior):
        self.parent, self.prior = parent, prior
        self.children = []
        self.value = 0.0
        if parent is not None:
            parent.children.append(self)


def build(size):
    root = Node(None, 1.0)
    nodes = [root]
    for _ in range(size):
        nodes.append(Node(random.choice(nodes), random.random()))
    return root


def search(root, rounds):
    for _ in range(rounds):
        node, path = root, [root]
        while node.children:
            node = max(node.children, key=lambda child: child.value + child.prior * random.random())
            path.append(node)
        result = random.random()
        for node in path:
            node.value += 0.1 * (result - node.value)
    return root.value


guard = LeakGuard(out=os.environ["RUN_FILE"])
if not LEAK:
    gc.collect()
    gc.freeze()  # once, before the loop
with guard:
    for epoch in guard.generations(range(1, 161)):
        with guard.phase("build"):
            root = build(200)
        with guard.phase("search"):
            search(root, 500)
        with guard.phase("freeze"):
            if LEAK:
                gc.freeze()
            root = None
