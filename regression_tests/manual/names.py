"""Names with more than one meaning: ``python -m regression_tests.manual.names [--least N]``.

A name of functions has as many meanings as shapes: the parameters with their types, and the result.
What several classes offer alike (``Sink.write``, ``Tracer.stop``) has one shape: one meaning.
"""

from __future__ import annotations

import argparse
import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

from regression_tests.manual.tables import ROOT

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
#: The places of each shape of a name.
Meanings: TypeAlias = "dict[str, list[str]]"
#: A name that means fewer things is left alone: two short helpers may be called alike.
LEAST = 3


def meanings(package: Path = ROOT / "leakguard") -> dict[str, Meanings]:
    """Return each name of a function with its shapes, and the places of each."""
    found: dict[str, Meanings] = defaultdict(lambda: defaultdict(list))
    for file in sorted(package.rglob("*.py")):
        for function in _functions(ast.parse(file.read_text("utf-8"))):
            place = f"{file.relative_to(package).as_posix()}:{function.lineno}"
            found[function.name][shape(function)].append(place)
    return found


def shape(function: Function) -> str:
    """Return the parameters but self, and the result, as they are written."""
    arguments = ast.unparse(function.args).removeprefix("self").removeprefix(", ")
    result = "" if function.returns is None else ast.unparse(function.returns)
    return f"({arguments}) -> {result}"


def ambiguous(found: dict[str, Meanings], least: int = LEAST) -> dict[str, Meanings]:
    """Return the names with at least so many meanings, the worst first."""
    worst = sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))
    return {name: shapes for name, shapes in worst if len(shapes) >= least}


def _functions(tree: ast.AST) -> Iterator[Function]:
    """Yield the functions of a module but those whose names Python gives."""
    for node in ast.walk(tree):
        if isinstance(node, Function) and not node.name.startswith("__"):
            yield node


def main() -> None:
    """Print the names with several meanings, and how many there are."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--least", type=int, default=LEAST, help="meanings of a name that is shown")
    least = parser.parse_args().least
    found = ambiguous(meanings(), least)
    for name, shapes in found.items():
        print(f"{name}: {len(shapes)}")
        for written, places in shapes.items():
            print(f"    {written}  {', '.join(places)}")
    private = sum(name.startswith("_") for name in found)
    print(f"{len(found)} names have {least} meanings or more; {private} of them are private")


if __name__ == "__main__":
    main()
