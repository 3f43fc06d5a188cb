"""One file of the program: its functions, its start, and whether a test may import it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from leakguard.reproducing.guardless import without_guard
from leakguard.reproducing.names import Function, bound, covers, has_loop, last_name, own_scope


@dataclass(frozen=True)
class ProgramFile:
    """A parsed file.

    Attributes:
        path: the file's place below the program's folder, with ``/``.
        text: the text as it is in the file.
        body: the statements without a guard.
        packages: how many of the folders above the file are packages, counted from the file.
    """

    path: str
    text: str
    body: tuple[ast.stmt, ...]
    packages: int = 0

    @classmethod
    def parsed(cls, path: str, texts: Mapping[str, str]) -> ProgramFile | None:
        """Return one of the program's files; None if it is no Python of this version.

        Args:
            path: the path of the file.
            texts: the text of every file of the program by its path.
        """
        try:
            tree = without_guard(ast.parse(texts[path]))
        except (SyntaxError, ValueError):
            return None
        above = list(PurePosixPath(path).parents)[:-1]
        inits = [(folder / "__init__.py").as_posix() in texts for folder in above]
        packages = inits.index(False) if False in inits else len(inits)
        return cls(path, texts[path], tuple(tree.body), packages)

    @property
    def module(self) -> str:
        """The name by which a test imports the file."""
        parts = PurePosixPath(self.path).with_suffix("").parts
        return ".".join(parts[-1 - self.packages :])

    @property
    def searched(self) -> str:
        """The folder, below the program's folder, that an import of the file must search."""
        return list(PurePosixPath(self.path).parents)[self.packages].as_posix()

    @property
    def bound(self) -> set[str]:
        """The names that the file binds at its top level, not those of the start."""
        return bound(part for part in self.body if not is_start(part))

    @property
    def start(self) -> list[ast.stmt]:
        """The statements that run only if the file is the script."""
        return [line for part in self.body if is_start(part) for line in _block(part)]

    @property
    def functions(self) -> dict[str, Function]:
        """The functions of the top level, by name."""
        return {f.name: f for f in self.body if isinstance(f, Function)}

    @property
    def classes(self) -> dict[str, ast.ClassDef]:
        """The classes of the top level, by name."""
        return {c.name: c for c in self.body if isinstance(c, ast.ClassDef)}

    @property
    def is_importable(self) -> bool:
        """Whether an import only defines things, and does not run the program."""
        return all(is_start(part) or self.is_definition(part) for part in self.body)

    def is_definition(self, statement: ast.stmt) -> bool:
        """Return whether a statement of the top level does no work of the program."""
        if isinstance(statement, Function | ast.ClassDef):
            return True
        return not has_loop([statement]) and not any(self.led_to(statement))

    def methods(self) -> Iterator[tuple[ast.ClassDef, Function]]:
        """Yield the methods of the classes of the top level."""
        for owner in self.classes.values():
            for part in owner.body:
                if isinstance(part, Function):
                    yield owner, part

    def function_at(self, line: int) -> tuple[ast.ClassDef | None, Function] | None:
        """Return the function of the top level or the method to which a line belongs."""
        for owner, method in self.methods():
            if covers(method, line):
                return owner, method
        found = next((f for f in self.functions.values() if covers(f, line)), None)
        return None if found is None else (None, found)

    def led_to(self, statement: ast.stmt) -> Iterator[tuple[ast.expr, ast.Call | None, Function]]:
        """Yield what a statement calls, or hands on to be called, of the file's own functions.

        Each is the expression of the function, its call (None if it is handed on) and the function.
        A method counts if only one class has a method of its name.
        """
        named = {name: [f] for name, f in self.functions.items()}
        for _, method in self.methods():
            if not method.name.startswith("__"):
                named.setdefault(method.name, []).append(method)
        for part in own_scope(statement):
            if not isinstance(part, ast.Call):
                continue
            handed = (*part.args, *(each.value for each in part.keywords))
            for place, call in ((part.func, part), *((each, None) for each in handed)):
                found = named.get(last_name(place) or "", ())
                if len(found) == 1:
                    yield place, call, found[0]


def is_start(statement: ast.stmt) -> bool:
    """Return whether a statement is ``if __name__ == "__main__":``."""
    return (
        isinstance(statement, ast.If)
        and isinstance(statement.test, ast.Compare)
        and last_name(statement.test.left) == "__name__"
    )


def _block(statement: ast.stmt) -> Sequence[ast.stmt]:
    return statement.body if isinstance(statement, ast.If) else ()
