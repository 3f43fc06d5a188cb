"""The shape of the code in figures: the sizes of files, functions, classes, and who imports whom.

    python -m regression_tests.benchmarks.house leakguard [REVISION ...]

prints a table with a column for each git revision, and one for the working tree; the package may be
one inside of another, by its path from the root of the checkout (leakguard/analysis). Lines are
those of a file as they stand; a function's are without its docstring. A module counts as imported
where a module of the same package names it, in a function or for type checking too; a stub (.pyi)
stands for the compiled module that it describes.
"""

from __future__ import annotations

import ast
import io
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median

_Function = ast.FunctionDef | ast.AsyncFunctionDef
# What a number may be written with: factors, units and other numbers.
_ARITHMETIC = (
    ast.Constant, ast.BinOp, ast.UnaryOp, ast.Name, ast.operator, ast.unaryop, ast.Load,
)  # fmt: skip


@dataclass(frozen=True)
class Module:
    """One Python file: its dotted name, its lines and its syntax tree."""

    name: str
    lines: int
    tree: ast.Module

    def imports(self, known: Mapping[str, Module]) -> set[str]:
        """Return the modules of the package that this one names in an import."""
        found = {name for node in ast.walk(self.tree) for name in self._named(node, known)}
        return (found & known.keys()) - {self.name}

    def _named(self, node: ast.AST, known: Mapping[str, Module]) -> Iterator[str]:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            whole = {f"{node.module}.{alias.name}" for alias in node.names}
            yield from whole & known.keys() or {node.module}
        elif isinstance(node, ast.Call):
            yield from _imported_by_name(node)


def modules_below(folder: Path, root: Path | None = None) -> dict[str, Module]:
    """Return the modules of the package in ``folder`` by name, as files below ``root`` import it.

    Without ``root`` the folder is the package itself.
    """
    paths = [*folder.rglob("*.py"), *folder.rglob("*.pyi")]
    found = (_module(path, root or folder.parent) for path in sorted(paths))
    return {module.name: module for module in found}


def _module(path: Path, root: Path) -> Module:
    text = path.read_text(encoding="utf-8")
    parts = path.relative_to(root).with_suffix("").parts
    is_package = parts[-1] == "__init__"
    name = ".".join(parts[:-1] if is_package else parts)
    return Module(name, len(text.splitlines()), ast.parse(text))


def _imported_by_name(call: ast.Call) -> Iterator[str]:
    """Yield the module of ``import_module("module")``."""
    function, arguments = call.func, call.args
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if name == "import_module" and arguments and isinstance(arguments[0], ast.Constant):
        yield str(arguments[0].value)


def circles(imports: Mapping[str, set[str]]) -> int:
    """Return how many modules import themselves through others."""
    return sum(name in _reached(name, imports) for name in imports)


def _reached(start: str, imports: Mapping[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    waiting = list(imports[start])
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting += imports[name]
    return seen


def functions(module: Module) -> Iterator[tuple[int, str]]:
    """Yield (lines, name) of every function of a module, docstrings left out."""
    for node in ast.walk(module.tree):
        if isinstance(node, _Function):
            doc = node.body[0] if ast.get_docstring(node) else None
            told = 0 if doc is None else (doc.end_lineno or 0) - doc.lineno + 1
            yield (node.end_lineno or 0) - node.lineno + 1 - told, f"{module.name}.{node.name}"


def fields(module: Module) -> Iterator[tuple[int, str]]:
    """Yield (fields, name) of every class that lists its fields."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ClassDef):
            listed = sum(isinstance(line, ast.AnnAssign) for line in node.body)
            yield listed, f"{module.name}.{node.name}"


def constants(module: Module) -> int:
    """Return how many numbers of a module have a name in capitals."""
    return sum(
        len(_named_numbers(target, node.value))
        for node in module.tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
    )


def _named_numbers(target: ast.expr, value: ast.expr) -> list[str]:
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        pairs = zip(target.elts, value.elts, strict=True)
        return [name for one, its in pairs for name in _named_numbers(one, its)]
    numeric = {int, float}
    used = {type(n.value) for n in ast.walk(value) if isinstance(n, ast.Constant)}
    plain = all(isinstance(n, _ARITHMETIC) for n in ast.walk(value))
    named = isinstance(target, ast.Name) and target.id.isupper()
    return [ast.unparse(target)] if named and plain and used and used <= numeric else []


def figures(folder: Path, root: Path | None = None) -> dict[str, str]:
    """Return the figures of the package in ``folder`` by what they count, in words."""
    modules = modules_below(folder, root)
    imports = {name: module.imports(modules) for name, module in modules.items()}
    importers = [sum(name in named for named in imports.values()) for name in modules]
    c_files = list(folder.rglob("*.[ch]"))
    lines = [module.lines for module in modules.values()]
    largest = max(modules.values(), key=lambda module: module.lines)
    long = sorted((one for module in modules.values() for one in functions(module)), reverse=True)
    widest = sorted((one for module in modules.values() for one in fields(module)), reverse=True)
    return {
        "Python files": f"{len(modules)}",
        "lines of Python": f"{sum(lines):,}",
        "lines of C": f"{sum(len(path.read_text().splitlines()) for path in c_files):,}",
        "median file, lines": f"{median(lines):.0f}",
        "largest file": f"{largest.lines} ({largest.name})",
        "files over 400 lines": f"{sum(count > 400 for count in lines)}",
        "numbers with a name": f"{sum(map(constants, modules.values()))}",
        "modules with one importer": f"{sum(count == 1 for count in importers)}",
        "modules in an import circle": f"{circles(imports)}",
        "median function, lines": f"{median(count for count, _ in long):.0f}",
        "longest functions": ", ".join(f"{count} ({name})" for count, name in long[:3]),
        "most fields of a class": ", ".join(f"{count} ({name})" for count, name in widest[:2]),
    }


def _at(revision: str, package: str) -> dict[str, str]:
    command = ["git", "archive", revision, package]
    packed = subprocess.run(command, check=True, capture_output=True).stdout
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=io.BytesIO(packed)) as tree:
            tree.extractall(folder, filter="data")
        return figures(Path(folder) / package, Path(folder))


def main(package: str, *revisions: str) -> None:
    """Print the table."""
    columns = {revision: _at(revision, package) for revision in revisions}
    columns["now"] = figures(Path(package), Path())
    print(f"| {package} | {' | '.join(columns)} |")
    print("|---" * (len(columns) + 1) + "|")
    for what in columns["now"]:
        print(f"| {what} | {' | '.join(told[what] for told in columns.values())} |")


if __name__ == "__main__":
    main(*sys.argv[1:])
