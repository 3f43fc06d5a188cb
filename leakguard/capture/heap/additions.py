"""The lines of the program that add to a container, read in its source.

What grows is often made in one function and kept in another: a birth has the first line, and only
the source has the second. It is read in the copy of the process in which a look is taken, so it
leaves no trace in the program.
"""

from __future__ import annotations

import ast
import contextlib
import itertools
import re
import sys
import time
import tokenize
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from leakguard.capture.heap.classes import module_file
from leakguard.capture.stack import Frame, is_programs, line_of
from leakguard.model.holder import Hop

# The beginnings of the names of methods that keep what they are given. Chosen: those of the
# standard containers, and those by which libraries say that something is registered.
_ADDING = re.compile(
    "add|append|attach|connect|extend|insert|push|put|register|schedule|setdefault|subscribe|update"
)
_PUSHES = frozenset({"heappush", "heappushpop", "insort", "insort_left", "insort_right"})
# Several lines are told if there are few; one of many would be a guess. Chosen.
_MOST_LINES = 3
# Characters of source that are read at most, in all and of one file, and CPU seconds after which no
# further file is parsed. Chosen: 4 MB are read in 20 ms, a small part of a look. A megabyte is
# parsed in 0.4 s, but few files write the name of a container that grows.
_MOST_SOURCE, _MOST_OF_A_FILE, _MOST_SECONDS = 4_000_000, 500_000, 0.5

# What a value is read from, and assigned to.
_PLACES = (ast.Name, ast.Attribute)
_LOCAL = re.compile(r"local (\w+) in (\w+)\(\)")
_CELL = re.compile(r"closure cell (\w+) of ")
_DEFAULT = re.compile(r"default argument (\w+) of (?:.*\.)?(\w+)")
_CACHE = re.compile(r"lru_cache of (?:.*\.)?(\w+)")
_NAME = re.compile(r"\.?([A-Za-z_]\w*)")

_How = Literal["adds", "links", "caches", "extends"]


class _Kept(NamedTuple):
    """One statement that keeps something under the name ``owner``.

    Attributes:
        how: ``adds`` to a container, ``links`` by an assigned attribute, ``caches`` a function,
            ``extends`` a value by a new one that is made of it.
        owner: the name of the container, of the attribute, or of the function.
        through: the name that the owner is an attribute of, as ``self`` in ``self.kept``; None for
            a plain variable.
        inside: the class around the statement.
    """

    how: _How
    owner: str
    through: str | None
    inside: str
    frame: Frame


class _Wanted(NamedTuple):
    """What a trace says of a container: its name, and the class or the function it belongs to.

    ``cls`` is empty for a module's variable, and None if a function's local variable is wanted.
    """

    how: _How
    name: str
    cls: str | None = None
    function: str | None = None

    def best(self, found: Sequence[_Kept]) -> Sequence[_Kept]:
        """Return the statements that are meant surely, or else all those with the same name."""
        if self.function is not None:
            return [s for s in found if s.through is None and s.frame.function == self.function]
        if self.cls is None or self.how == "caches":
            return found
        # The attribute of another class may have the same name.
        sure = [s for s in found if s.through and s.inside == self.cls]
        return (sure if self.cls else [s for s in found if s.through is None]) or found


class Additions:
    """Finds the statements in the source files of the program; each file is read once."""

    def __init__(self, files: Iterable[str] | None = None, seconds: float = _MOST_SECONDS) -> None:
        """``files`` are searched; the source of the program's loaded modules if None.

        After so many ``seconds`` of CPU time no further file is parsed.
        """
        self._files = files
        self._seconds = min(seconds, _MOST_SECONDS)
        self._texts: dict[str, str] | None = None
        self._known: dict[str, list[_Kept]] = {}
        self._spent = 0.0

    def of(
        self, trace: Sequence[Hop], *, chain: bool = False, whole: bool = False
    ) -> tuple[str, ...]:
        """Return the lines that add to the container at the end of a trace; empty if unclear.

        ``chain`` says that objects refer to one another by the last name, ``whole`` that the trace
        ends at no container but at one object that becomes larger.
        """
        for wanted in _wanted(trace, chain=chain):
            named = self._named(wanted.name)
            if named is None:
                return ()
            found = [s for s in named if s.how == wanted.how or (whole and s.how == "extends")]
            frames = dict.fromkeys(statement.frame for statement in wanted.best(found))
            if frames:
                return tuple(map(line_of, frames)) if len(frames) <= _MOST_LINES else ()
        return ()

    def _named(self, name: str) -> list[_Kept] | None:
        """Return all statements that keep something under a name; None if time is up."""
        if self._texts is None:
            files = _files_of_program() if self._files is None else self._files
            self._texts = dict(_sources(dict.fromkeys(files)))
        written = re.compile(rf"\b{name}\b")
        found: list[_Kept] = []
        for file, text in self._texts.items():
            if file not in self._known and written.search(text):
                if self._spent > self._seconds:
                    return None
                began = time.thread_time()
                self._known[file] = _statements(file, text)
                self._spent += time.thread_time() - began
            found += (s for s in self._known.get(file, ()) if s.owner == name)
        return found


def _sources(files: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield each file that can be read and is of usual size, with its text, up to a limit."""
    left = _MOST_SOURCE
    for file in files:
        try:
            with tokenize.open(file) as source:
                text = source.read(_MOST_OF_A_FILE + 1)
        except (OSError, SyntaxError, ValueError):
            continue
        left -= len(text)
        if left < 0:
            return
        if len(text) <= _MOST_OF_A_FILE:
            yield file, text


def _statements(file: str, text: str) -> list[_Kept]:
    walk = _Statements(file)
    with contextlib.suppress(SyntaxError, ValueError, RecursionError, MemoryError):
        walk.visit(ast.parse(text))
    return walk.found


def _files_of_program() -> Iterator[str]:
    """Yield the source files of the program's loaded modules, the script's first."""
    for module in (sys.modules.get("__main__"), *list(sys.modules.values())):
        file = module_file(module)
        if file is not None and file.endswith(".py") and is_programs(file):
            yield file


def _wanted(trace: Sequence[Hop], *, chain: bool) -> Iterator[_Wanted]:
    """Yield what to search for, the innermost name first; outer ones while libraries own these."""
    for number in range(len(trace) - 1, -1, -1):
        label = trace[number].label
        owner = trace[number - 1].type if number else ""
        if cached := _CACHE.match(label):
            yield _Wanted("caches", cached[1])
            return
        if local := _LOCAL.match(label) or _DEFAULT.match(label):
            yield _Wanted("adds", local[1], function=local[2])
            return
        if cell := _CELL.match(label):
            yield _Wanted("adds", cell[1])
            return
        if number and (name := _NAME.fullmatch(label)):
            in_module = number == 1 and owner == "dict"
            cls = "" if in_module else owner.rpartition(".")[2]
            yield _Wanted("links" if chain else "adds", name[1], cls)
            if in_module or _is_programs_class(owner):
                return


def _is_programs_class(owner: str) -> bool:
    """Return whether a class, named with its module, is in a source file of the program."""
    file = module_file(sys.modules.get(owner.rpartition(".")[0]))
    return file is not None and is_programs(file)


class _Statements(ast.NodeVisitor):
    """Collects the statements of one file."""

    def __init__(self, file: str) -> None:
        self.found: list[_Kept] = []
        self._file = file
        self._class = ""
        self._function: str | None = None

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        before, self._class = self._class, node.name
        self.generic_visit(node)
        self._class = before

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        if any("cache" in ast.unparse(decorator) for decorator in node.decorator_list):
            frame = Frame(self._file, node.lineno, None)
            self.found.append(_Kept("caches", node.name, None, self._class, frame))
        before, self._function = self._function, node.name
        self.generic_visit(node)
        self._function = before

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self.visit_FunctionDef(node)

    def visit_Call(self, node: ast.Call) -> None:
        called = node.func
        name = str(getattr(called, "attr", getattr(called, "id", "")))
        gives = bool(node.args or node.keywords)
        if name in _PUSHES and node.args:
            self._add(node.args[0], node)
        elif isinstance(called, ast.Attribute) and gives and _ADDING.match(name):
            self._add(called.value, node)
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._add(node.target, node)
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        together = (t.elts if isinstance(t, ast.Tuple) else [t] for t in node.targets)
        read = {ast.unparse(part) for part in ast.walk(node.value) if isinstance(part, _PLACES)}
        for target in itertools.chain.from_iterable(together):
            if isinstance(target, _PLACES) and ast.unparse(target) in read:
                self._note("extends", target, node)
            if isinstance(target, ast.Subscript):
                self._add(target.value, node)
            elif isinstance(target, ast.Attribute):
                self._note("links", target, node)
        self.generic_visit(node)

    def _add(self, owner: ast.expr, node: ast.expr | ast.stmt) -> None:
        """Note a statement that adds to ``owner``, or to what lies in it."""
        while isinstance(owner, ast.Subscript | ast.Call):
            called = owner.func if isinstance(owner, ast.Call) else None
            if isinstance(owner, ast.Subscript):
                owner = owner.value
            elif isinstance(called, ast.Attribute) and called.attr in ("setdefault", "get"):
                owner = called.value
            else:
                return
        self._note("adds", owner, node)

    def _note(self, how: _How, owner: ast.expr, node: ast.expr | ast.stmt) -> None:
        frame = Frame(self._file, node.lineno, self._function)
        if isinstance(owner, ast.Name):
            self.found.append(_Kept(how, owner.id, None, self._class, frame))
        elif isinstance(owner, ast.Attribute):
            through = owner.value.id if isinstance(owner.value, ast.Name) else "."
            self.found.append(_Kept(how, owner.attr, through, self._class, frame))
