"""A latency-sensitive service that parses small documents; the collector is off for the sake of the 99th
percentile, since "we have no cycles"."""

# /// truth
# about = "gc.disable() and trees whose nodes know their parents"
# [[leak]]
# type = "Node"
# phase = "parse"
# start = 1
# within = 3
# kind = "cycles"
# ///
import gc
import os
import random
import sys
import weakref

from leakguard import LeakGuard, phase

LEAK = sys.argv[1] == "leak"
rng = random.Random(41)
TAGS = ["div", "p", "li", "ul", "span", "a"]


class Node:
    def __init__(self, tag, parent):
        self.tag = tag
        self.children = []
        self.text = ""
        self.parent_ = parent if LEAK or parent is None else weakref.ref(parent)

    @property
    def parent(self):
        return self.parent_ if LEAK or self.parent_ is None else self.parent_()

    def depth(self):
        depth, node = 0, self.parent
        while node is not None:
            depth, node = depth + 1, node.parent
        return depth


def write(depth, out):
    tag = rng.choice(TAGS)
    out.append(f"<{tag}>")
    for _ in range(rng.randint(2, 4) if depth else 0):
        write(depth - 1, out)
    out.append(f"word{rng.randrange(50)}")
    out.append(f"</{tag}>")


@phase("receive")
def receive():
    documents = []
    for _ in range(14):
        out = []
        write(4, out)
        documents.append("\n".join(out))
    return documents


@phase("parse")
def parse(document):
    root = node = Node("root", None)
    for line in document.split("\n"):
        if line.startswith("</"):
            node = node.parent
        elif line.startswith("<"):
            child = Node(line[1:-1], node)
            node.children.append(child)
            node = child
        else:
            node.text += line
    return root


@phase("answer")
def answer(root, tag):
    best, stack = 0, [root]
    while stack:
        node = stack.pop()
        if node.tag == tag:
            best = max(best, node.depth() * len(node.text))
        stack.extend(node.children)
    return best


gc.disable()
total = 0
guard = LeakGuard(out=os.environ["RUN_FILE"])
with guard:
    for request in guard.generations(range(1, 141)):
        for document in receive():
            root = parse(document)
            total += sum(answer(root, tag) for tag in TAGS)
print("total", total)
