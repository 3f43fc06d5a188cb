"""One word for one thing: what two files name alike is the same."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import leakguard

# The class that a framework's user asks for has the same name in the file of each framework.
SAME_IN_EACH_FRAMEWORK = {"LeakGuardCallback"}


@cache
def trees() -> dict[str, ast.Module]:
    package = Path(leakguard.__file__).parent
    files = sorted(package.rglob("*.py"))
    return {str(f.relative_to(package)): ast.parse(f.read_text("utf-8")) for f in files}


def numbers(tree: ast.Module) -> Iterator[tuple[str, object]]:
    """Yield each number that has a name of its own in a file, written as one."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            value = node.value
            if isinstance(value, ast.Constant) and isinstance(value.value, int | float):
                yield node.targets[0].id.strip("_"), value.value


def test_two_classes_never_share_a_name():
    places: dict[str, list[str]] = defaultdict(list)
    for file, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                places[node.name.strip("_")].append(file)
    shared = {name: where for name, where in places.items() if len(where) > 1}
    assert shared.keys() == SAME_IN_EACH_FRAMEWORK


def test_constant_of_one_name_has_one_value():
    values: dict[str, set[object]] = defaultdict(set)
    for tree in trees().values():
        for name, value in numbers(tree):
            values[name].add(value)
    assert {name: found for name, found in values.items() if len(found) > 1} == {}
    assert len(values) > 200  # the numbers are found at all


@pytest.mark.parametrize("name", ["MOST", "MUCH", "FEW", "LIMIT", "MAX", "THRESHOLD"])
def test_constant_says_what_it_counts(name):
    files = [f for f, tree in trees().items() if name in dict(numbers(tree))]
    assert files == []
