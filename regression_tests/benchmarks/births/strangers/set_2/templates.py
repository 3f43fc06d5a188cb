"""A template engine that compiles templates to Python and keeps sources for tracebacks."""
import html
import itertools
import linecache
import re
import sys
import time
from collections import OrderedDict, deque

LEAK = sys.argv[1] == "leak"
TAG = re.compile(r"(\{\{.*?\}\}|\{%.*?%\})", re.S)
serial = itertools.count(1)
HELPERS = {"esc": html.escape, "upper": str.upper}


def to_python(template):
    lines = ["def render(data, esc):", "    out = []"]
    indent = "    "
    for part in TAG.split(template):
        if part.startswith("{{"):
            lines.append(f"{indent}out.append(esc(str({part[2:-2].strip()})))")
        elif part.startswith("{%"):
            code = part[2:-2].strip()
            if code == "end":
                indent = indent[:-4]
            else:
                lines.append(f"{indent}{code}:")
                indent += "    "
        elif part:
            lines.append(f"{indent}out.append({part!r})")
    lines.append("    return ''.join(out)")
    return "\n".join(lines) + "\n"


class Template:
    def __init__(self, text):
        self.name = f"<template {next(serial)}>"
        source = to_python(text)
        code = compile(source, self.name, "exec")
        linecache.cache[self.name] = (len(source), None, source.splitlines(True), self.name)
        namespace = dict(HELPERS)
        exec(code, namespace)
        self.function = namespace.pop("render")

    def render(self, data):
        return self.function(data, HELPERS["esc"])

    def close(self):
        linecache.cache.pop(self.name, None)


class Fragments:
    """LRU of rendered fragments."""

    def __init__(self, limit=24):
        self.limit, self.store = limit, OrderedDict()

    def get(self, key, make):
        if key not in self.store:
            self.store[key] = make()
            while len(self.store) > self.limit:
                self.store.popitem(last=False)
        self.store.move_to_end(key)
        return self.store[key]


def page(number):
    rows = "".join(f"<tr><td>{{{{ item['k{i}'] }}}}</td><td>row {i} of {number}</td></tr>\n" for i in range(40))
    return "<h1>{{ data['title'] }}</h1>{% for item in data['items'] %}" + rows + "{% end %}"


fragments = Fragments()
weights = deque(maxlen=30)
for request in range(110):
    template = Template(page(request % 10))
    data = {"title": f"<page {request}>", "items": [{f"k{i}": i * j for i in range(40)} for j in range(30)]}
    body = template.render(data)
    footer = fragments.get(request, lambda: "<footer>" + "-" * 2000 + str(request))
    weights.append(len(body) + len(footer))
    if not LEAK:
        template.close()
    time.sleep(0.025)
print("mean page", sum(weights) // len(weights), "bytes")
