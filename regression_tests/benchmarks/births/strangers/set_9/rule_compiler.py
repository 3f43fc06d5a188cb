"""A compiler for fraud rules: the analysts edit a few rules in every round, the gate then judges a batch of payments."""
import functools
import linecache
import random
import re
import sys
import types
from collections import OrderedDict

TIDY = sys.argv[1] == "fixed"
ROUNDS, RULES, PAYMENTS = 90, 24, 5000
TOKEN = re.compile(r"\s*(?:(\d+\.?\d*)|(\w+)|(<=|>=|==|[-+*/<>()]))")
FIELDS = ("amount", "hour", "age", "visits", "distance")


class Node:
    def __init__(self, *parts):
        self.parts = parts


class Number(Node):
    pass


class Field(Node):
    pass


class Binary(Node):
    pass


@functools.singledispatch
def emit(node):
    raise TypeError(type(node).__name__)


@emit.register
def _(node: Number):
    return repr(node.parts[0])


@emit.register
def _(node: Field):
    return f"p[{FIELDS.index(node.parts[0])}]"


@emit.register
def _(node: Binary):
    left, sign, right = node.parts
    return f"({emit(left)} {sign} {emit(right)})"


class Parser:
    LEVELS = (("or",), ("and",), ("<", ">", "<=", ">=", "=="), ("+", "-"), ("*", "/"))

    def __init__(self, text, macros):
        self.tokens, self.macros = [m.group(m.lastindex) for m in TOKEN.finditer(text)] + [None], macros
        self.at = 0

    def take(self):
        self.at += 1
        return self.tokens[self.at - 1]

    def parse(self, level=0):
        if level == len(self.LEVELS):
            return self.atom()
        left = self.parse(level + 1)
        while self.tokens[self.at] in self.LEVELS[level]:
            left = fold(Binary(left, self.take(), self.parse(level + 1)))
        return left

    def atom(self):
        token = self.take()
        if token == "(":
            inner = self.parse()
            self.take()
            return inner
        if token in self.macros:
            return self.macros[token]()
        return Field(token) if token in FIELDS else Number(float(token))


def fold(node):
    left, sign, right = node.parts
    if isinstance(left, Number) and isinstance(right, Number) and sign in "+-*":
        a, b = left.parts[0], right.parts[0]
        return Number(a + b if sign == "+" else a - b if sign == "-" else a * b)
    return node


class Macros:
    """Scores by table: each becomes a kind of node of its own, with its bands and its way to be emitted."""

    def __init__(self, rng):
        self.rng, self.kinds = rng, {}

    def define(self, name, field):
        bands = sorted(self.rng.uniform(0, 1000) for _ in range(150))
        kind = self.kinds.get(name) if TIDY else None
        if kind is None:
            kind = self.kinds[name] = type(f"Band_{name}", (Node,), {})
            emit.register(kind, lambda node: f"bisect({node.bands[::10]!r}, p[{FIELDS.index(node.field)}])")
        kind.bands, kind.field = bands, field


class Gate:
    """Rules as modules: the source of each is filed for tracebacks, and the module under its name for the helpers."""

    def __init__(self, rng):
        self.rng, self.macros, self.rules, self.memo = rng, Macros(rng), {}, OrderedDict()
        self.versions = {}

    def write(self, number):
        f, g, h = self.rng.sample(FIELDS, 3)
        low, high = self.rng.randrange(5, 400), self.rng.randrange(400, 900)
        macro = self.rng.choice(sorted(self.macros.kinds))
        return (f"({f} * 2 + {low} * 3 > {high} and {g} < {high} - 40) or {macro} >= {low % 12} + 1 and "
                f"{h} / 7 > {low} or ({g} + {h} > {high} * 2 and {f} <= {low})")

    def compile(self, number, text, live):
        version = self.versions[number] = self.versions.get(number, 0) + 1
        tree = Parser(text, self.macros.kinds).parse()
        body = emit(tree)
        notes = [f"# {number}.{line}: {text[line % 7:]}" for line in range(30)]
        lines = ["from bisect import bisect", *notes, "def judge(p):", f"    return {body}", ""]
        file = f"<rule {number} v{version}>"
        linecache.cache[file] = (len(body), None, [line + "\n" for line in lines], file)
        module = types.ModuleType(f"rules.r{number}_v{version}")
        module.sample = [self.rng.random() for _ in range(200)]
        exec(compile("\n".join(lines), file, "exec"), module.__dict__)
        if live:
            sys.modules[module.__name__] = module
        if TIDY:
            self.retire(number, version - 1)
        self.rules[number] = module.judge

    def retire(self, number, version):
        linecache.cache.pop(f"<rule {number} v{version}>", None)
        sys.modules.pop(f"rules.r{number}_v{version}", None)

    def judge(self, payments):
        flagged = 0
        for payment in payments:
            key = (payment[1], payment[2], payment[0] // 50)
            hits = sum(bool(rule(payment)) for rule in self.rules.values())
            self.memo[key] = hits
            if len(self.memo) > 4000:
                self.memo.popitem(last=False)
            flagged += hits > RULES * 3 // 5
        return flagged


def payments(rng, count):
    return [(rng.randrange(1000), rng.randrange(24), rng.randrange(18, 90), rng.randrange(1, 400), rng.randrange(900))
            for _ in range(count)]


def main():
    rng = random.Random(17)
    gate = Gate(rng)
    for turn in range(1, ROUNDS + 1):
        for number in range(2):
            gate.macros.define(f"score{number}", FIELDS[(turn + number) % 5])
        for number in range(RULES) if turn == 1 else rng.sample(range(RULES), 5):
            gate.compile(number, gate.write(number), live=turn >= ROUNDS // 2)
        wave = PAYMENTS + 1000 * (30 <= turn < 55)
        flagged = gate.judge(payments(rng, wave))
        if turn % 9 == 0:
            print(f"round {turn:3d} flagged {flagged:4d} of {wave} edits {sum(gate.versions.values())}", flush=True)


main()
