"""Compiler passes over made-up functions: parse to blocks, optimise, emit."""
import random
import re
import sys
import time
from functools import lru_cache

from leakguard import LeakGuard

leak = sys.argv[1] == "leak"
rng = random.Random(5)
TOKEN = re.compile(r"[a-z]+\d*|\d+|[=+*;]")
PEEPHOLE = {}


def dominators_of(function, index):
    seen = {index}
    while index:
        index = (index - 1) // 2
        seen.add(index)
    return frozenset(seen)


class Block:
    __slots__ = ("index", "ops")

    def __init__(self, index, ops):
        self.index, self.ops = index, ops


class Function:
    def __init__(self, name, blocks):
        self.name = name
        self.blocks = blocks
        self.local = {}

    @lru_cache(maxsize=None)
    def cached_dominators(self, index):
        return dominators_of(self, index)

    def dominators(self, index):
        if leak:
            return self.cached_dominators(index)
        if index not in self.local:
            self.local[index] = dominators_of(self, index)
        return self.local[index]


def source(unit):
    lines = []
    for i in range(400):
        lines.append(f"v{rng.randrange(50)} = v{rng.randrange(50)} + {rng.randrange(900, 990)} * v{i % 50};")
    return "\n".join(lines)


def parse(unit, text):
    blocks, ops = [], []
    for line in text.splitlines():
        tokens = [sys.intern(t) for t in TOKEN.findall(line)]
        ops.append(tuple(tokens))
        if len(ops) == 20:
            blocks.append(Block(len(blocks), ops))
            ops = []
    return Function(f"unit{unit}", blocks)


def optimise(function):
    saved = 0
    for _ in range(8):
        for block in function.blocks:
            reach = function.dominators(block.index)
            for op in block.ops:
                key = (op[0], op[2][:2])
                if key not in PEEPHOLE:
                    PEEPHOLE[key] = len(op[0] + op[2]) % 3
                saved += PEEPHOLE[key] + (0 in reach)
    return saved


def emit(function):
    return "\n".join(f"{b.index:04x}: " + " ".join(op) for b in function.blocks for op in b.ops)


def compile_all(units):
    guard = LeakGuard(out=sys.argv[2])
    sizes = []
    with guard:
        for unit in guard.generations(range(1, units + 1)):
            with guard.phase("parse"):
                function = parse(unit, source(unit))
            with guard.phase("optimise"):
                saved = optimise(function)
            with guard.phase("emit"):
                sizes.append(len(emit(function)))
            time.sleep(0.06)
    return saved, sizes


saved, sizes = compile_all(28)
print("saved", saved, "bytes", sum(sizes), "patterns", len(PEEPHOLE))
