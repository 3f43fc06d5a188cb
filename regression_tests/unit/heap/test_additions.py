"""The lines of a program that add to a container, found in its source by the holder's trace."""

from __future__ import annotations

import sys
from textwrap import dedent
from types import ModuleType

import pytest

from leakguard.capture.heap.additions import Additions
from leakguard.model.holder import Hop

SOURCE = """
    import heapq
    from functools import lru_cache

    class Meter:
        def __init__(self):
            self.values, self.seen = {}, set()
        def log(self, name, value):
            self.values.setdefault(name, []).append(value)
        def note(self, key):
            self.seen.add(key)
            self.best[key] = 1

        def smooth(self, loss):
            self.trend = 0.9 * self.trend + loss
        def reset(self):
            self.trend, self.state = 0.0, None
        def step(self, cell, x):
            x, self.state = cell(x, self.state)
            return x

    class Other:
        def note(self, key):
            self.seen.add(key)

    class Node:
        def __init__(self, parent):
            self.parent = parent

    losses, queue, total, curve = [], [], 0, None

    def extend(points):
        global curve
        curve = points if curve is None else join([curve, points])

    def train(model, results):
        losses.append(model.loss())
        model.total += 1
        heapq.heappush(queue, model)
        handle = model.layer.register_forward_hook(print)

    def parse(text, rejected=[]):
        rejected.append(text)

    def main():
        results = []
        for _ in range(3):
            results += [1]

    @lru_cache(maxsize=None)
    def embed(text):
        return text

    def often(model):
        model.crowd.append(1)
        model.crowd.append(2)
        model.crowd.append(3)
        model.crowd.append(4)
"""
MODULE = Hop("app", "dict")


@pytest.fixture
def source(tmp_path, monkeypatch):
    file = tmp_path / "app.py"
    file.write_text(dedent(SOURCE))
    monkeypatch.chdir(tmp_path)
    return Additions([str(file)])


def line(text: str) -> int:
    return dedent(SOURCE).splitlines().index(text) + 1


@pytest.mark.parametrize(
    ("trace", "told", "function"),
    [
        ([MODULE, Hop(".losses", "list")], "    losses.append(model.loss())", "train"),
        ([MODULE, Hop(".queue", "list")], "    heapq.heappush(queue, model)", "train"),
        (
            [Hop("local meter in main()", "app.Meter"), Hop(".values", "dict"), Hop("['a']", "")],
            "        self.values.setdefault(name, []).append(value)",
            "log",
        ),
        # Two classes have an attribute of this name: that of the holder is meant.
        (
            [MODULE, Hop(".meter", "app.Meter"), Hop(".seen", "set")],
            "        self.seen.add(key)",
            "note",
        ),
        ([Hop("local results in main()", "list")], "        results += [1]", "main"),
        (
            [MODULE, Hop(".parse", "function"), Hop("default argument rejected of parse", "list")],
            "    rejected.append(text)",
            "parse",
        ),
        (
            [MODULE, Hop(".layer", "torch.nn.Linear"), Hop("._forward_hooks", "dict")],
            "    handle = model.layer.register_forward_hook(print)",
            "train",
        ),
    ],
)  # fmt: skip
def test_line_that_adds_is_found(source, trace, told, function):
    expected = f"app.py:{line(told)} in {function}"
    assert source.of([*trace, Hop("[*]", "int")]) == (expected,)


def test_decorated_function_is_the_line_of_its_cache(source):
    trace = [MODULE, Hop("lru_cache of app.embed", "dict"), Hop("[*]", "str")]
    assert source.of(trace) == (f"app.py:{line('def embed(text):')}",)


def test_chain_has_the_line_that_links(source):
    trace = [MODULE, Hop(".last", "app.Node"), Hop(".parent", "app.Node")]
    linked = f"app.py:{line('        self.parent = parent')} in __init__"
    assert source.of(trace, chain=True) == (linked,)
    assert source.of(trace) == ()  # an assigned attribute is no container


@pytest.mark.parametrize(
    ("trace", "told", "function"),
    [
        (
            [MODULE, Hop(".meter", "app.Meter"), Hop(".trend", "torch.Tensor")],
            "        self.trend = 0.9 * self.trend + loss",
            "smooth",
        ),
        (
            [Hop("local meter in main()", "app.Meter"), Hop(".state", "torch.Tensor")],
            "        x, self.state = cell(x, self.state)",
            "step",
        ),
        (
            [MODULE, Hop(".curve", "numpy.ndarray")],
            "    curve = points if curve is None else join([curve, points])",
            "extend",
        ),
    ],
)
def test_one_object_has_the_line_that_makes_it_anew_of_itself(source, trace, told, function):
    assert source.of(trace, whole=True) == (f"app.py:{line(told)} in {function}",)
    assert source.of(trace) == ()  # of a container it is no addition


def test_many_lines_and_unknown_names_tell_nothing(source):
    assert source.of([MODULE, Hop(".model", "app.Model"), Hop(".crowd", "list")]) == ()
    assert source.of([MODULE, Hop(".unknown", "list")]) == ()
    assert source.of([Hop("(no root)", "dict"), Hop("[*]", "int")]) == ()


@pytest.mark.parametrize(
    "text",
    ["losses.append(", "\0", "(" * 10_000, "-" * 100_000 + "1", "losses.append(1)\n" * 40_000],
)
def test_source_that_cannot_be_read_tells_nothing(tmp_path, text):
    file = tmp_path / "app.py"
    file.write_text(text)
    files = [str(file), str(tmp_path / "missing.py")]
    assert Additions(files).of([MODULE, Hop(".losses", "list")]) == ()


def test_search_ends_when_its_time_is_up(source, tmp_path):
    trace = [MODULE, Hop(".losses", "list")]
    assert Additions([str(tmp_path / "app.py")], seconds=-1.0).of(trace) == ()
    assert source.of(trace) != ()


def test_module_that_loads_itself_when_it_is_asked_is_left_asleep(monkeypatch):
    class Lazy(ModuleType):
        def __getattribute__(self, name):
            raise AssertionError(f"asked for {name}")

    monkeypatch.setitem(sys.modules, "lazy", Lazy("lazy"))
    assert Additions().of([MODULE, Hop(".pool", "lazy.Pool"), Hop(".slept_on", "list")]) == ()
