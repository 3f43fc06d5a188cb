"""Compile business rules of many tenants to Python functions, run them, and unload them again."""
import linecache
import re
import sys
from collections import OrderedDict, deque

from leakguard import LeakGuard

FIXED = sys.argv[1] == "fixed"
RELEASES = 130
RULES = 260
TOKEN = re.compile(r"\s*(?:(\d+\.?\d*)|([a-z_]\w*)|(>=|<=|[-+*/()<>]))")
FIELDS = ["price", "stock", "weight", "margin", "age_days", "views", "returns", "rating"]


def rule_source(tenant, release, number):
    left, right = FIELDS[number % 8], FIELDS[(number * 3 + tenant) % 8]
    return f"({left} * {release % 17 + 1}.5 + {right}) / ({number % 9} + 2) - {left} * {tenant}"


class Parser:
    """A small recursive descent parser: expression -> nested tuples."""

    def __init__(self, text, names):
        self.tokens = deque(TOKEN.findall(text))
        self.names = names

    def peek(self):
        return self.tokens[0][2] if self.tokens else ""

    def expression(self):
        node = self.term()
        while self.peek() in ("+", "-"):
            operator = self.tokens.popleft()[2]
            node = (operator, node, self.term())
        return node

    def term(self):
        node = self.atom()
        while self.peek() in ("*", "/"):
            operator = self.tokens.popleft()[2]
            node = (operator, node, self.atom())
        return node

    def atom(self):
        number, name, mark = self.tokens.popleft()
        if number:
            return float(number)
        if name:
            return self.names.setdefault(name, name)
        node = self.expression()
        self.tokens.popleft()
        return node


def emit(node):
    if isinstance(node, tuple):
        return f"({emit(node[1])} {node[0]} {emit(node[2])})"
    return f"row[{node!r}]" if isinstance(node, str) else repr(node)


class Compiler:
    def __init__(self):
        self.names = {}                         # interned identifiers: converges to the fields
        self.modules = OrderedDict()            # the newest 4 modules are loaded
        self.timings = deque(maxlen=12)

    def generate(self, tenant, release):
        lines = []
        for number in range(RULES):
            tree = Parser(rule_source(tenant, release, number), self.names).expression()
            lines.append(f"def rule_{number}(row):\n")
            lines.append(f"    # tenant {tenant}, release {release}, rule {number}\n")
            lines.append(f"    return {emit(tree)}\n")
        return lines

    def load(self, filename, lines):
        source = "".join(lines)
        namespace = {}
        exec(compile(source, filename, "exec"), namespace)
        # tracebacks of generated code shall show their lines
        linecache.cache[filename] = (len(source), None, lines, filename)
        self.modules[filename] = [namespace[f"rule_{n}"] for n in range(RULES)]
        if len(self.modules) > 4:
            stale, _ = self.modules.popitem(last=False)
            if FIXED:
                linecache.cache.pop(stale, None)

    def evaluate(self, filename, rows):
        total = 0.0
        for rule in self.modules[filename]:
            total += sum(rule(row) for row in rows)
        self.timings.append((filename, total))
        return total


def main():
    compiler = Compiler()
    checksum = 0.0
    guard = LeakGuard(out=sys.argv[2])
    with guard:
        for release in guard.generations(range(1, RELEASES + 1)):
            tenant = release % 5
            filename = f"<rules tenant={tenant} release={release}>"
            with guard.phase("parse"):
                lines = compiler.generate(tenant, release)
            with guard.phase("load"):
                compiler.load(filename, lines)
            with guard.phase("evaluate"):
                rows = [{field: (i * 7 + j) % 23 + 1.0 for j, field in enumerate(FIELDS)} for i in range(60)]
                checksum += compiler.evaluate(filename, rows)
    print(f"{checksum:.3f} {len(compiler.names)}")


main()
