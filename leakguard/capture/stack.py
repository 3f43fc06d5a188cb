"""A stack of frames: which of its lines belongs to the program, and how a line is written."""

from __future__ import annotations

import ast
import functools
import os
import re
import sys
import tokenize
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from leakguard.capture.library import OWN_FOLDER, innermost, is_library, is_typed
from leakguard.model.code_line import written

_MOST_FRAMES = 24
# Functions that make an object for their caller, if they hand over what the line makes. For such an
# object, the caller's line is reported.
_FACTORY = re.compile(
    r"__(init|new|deepcopy|copy|reduce|setstate|enter|post_init)\w*__"
    r"|_?(new|make|create|build|clone|copy|from|spawn|own)(_\w*)?"
)


#: Methods that make nothing but what belongs to the new instance.
INITIALIZERS = ("__init__", "__post_init__")


class Frame(NamedTuple):
    """A line of code; ``function`` is None if its source cannot be read."""

    file: str
    line: int
    function: str | None


class Lines(NamedTuple):
    """The lines of one function's source, both ends included."""

    file: str
    first: int
    last: int

    def has(self, frame: Frame) -> bool:
        """Return whether a frame runs one of these lines."""
        return frame.file == self.file and self.first <= frame.line <= self.last


def named(file: str, line: int) -> Frame:
    """Return a frame with the function that the line is in."""
    function = _function_at(file, line)
    return Frame(file, line, None if function is None else function.name)


def origin(stack: Sequence[Frame], constructors: Iterable[Lines] | None = None) -> int:
    """Return the index of the frame that asked for the memory; frames are innermost first.

    It is the innermost line of the program whose function is not a factory. Without such a line it
    is the innermost line of the program, and without any, the innermost frame.

    ``constructors`` are the initializers of what the memory belongs to, where that is known: the
    line that called them asked. Another ``__init__`` is then no factory, because what it made is
    not its own instance.
    """
    return origin_among([frame.file for frame in stack], stack.__getitem__, constructors)


def origin_among(
    files: Sequence[str],
    frame_at: Callable[[int], Frame],
    constructors: Iterable[Lines] | None = None,
) -> int:
    """Return what ``origin`` does, for a deep stack of which few frames are worth reading."""
    known = None if constructors is None else tuple(constructors)
    own = _own(files)
    inside = [i for i in own if known and any(lines.has(frame_at(i)) for lines in known)]
    around = [i for i in own if not inside or i > inside[-1]]
    asked = (i for i in around if not _is_factory(frame_at(i), known is not None))
    return next(asked, around[0] if around else own[0] if own else 0)


def _own(files: Sequence[str]) -> list[int]:
    """Return the indices of the program's files, without those of code that it made, if it can.

    Made code has a name of its own each time, so the line that ran it says more.
    """
    own = [index for index, file in enumerate(files) if is_programs(file)]
    written = [index for index in own if _has_source(files[index])]
    return written or own


@functools.lru_cache(maxsize=4096)
def _has_source(file: str) -> bool:
    """Return whether the source of a file of the program can be read, or was typed."""
    # A name that a program made up may be no path at all, for which ``Path.exists`` raises.
    return cell_of(file) is not None or is_typed(file) or os.path.exists(file)  # noqa: PTH110


def _is_factory(frame: Frame, knows_constructors: bool) -> bool:
    name = frame.function or ""
    if knows_constructors and name in INITIALIZERS:
        return False
    if _FACTORY.fullmatch(name) is None:
        return False
    function = _function_at(frame.file, frame.line)
    return name.startswith("__") or function is None or function.hands_over(frame.line)


def reaches_program(files: Iterable[str]) -> bool:
    """Return whether a stack with these files contains a line of the program."""
    return any(map(is_programs, files))


@functools.lru_cache(maxsize=4096)
def is_programs(file: str) -> bool:
    """Return whether a source file is the program's own; a cell of a notebook is."""
    return not is_library(file) or cell_of(file) is not None


def place(frame: Frame) -> str:
    """Return ``package/module.py:12``, relative to the program's import folder.

    For a cell of a notebook it is ``cell In[3], line 12``, as IPython shows it.
    """
    cell = cell_of(frame.file)
    if cell is not None:
        return f"cell {cell}, line {frame.line}"
    return f"{_shown(frame.file)}:{frame.line}"


def line_of(frame: Frame) -> str:
    """Return ``trainer.py:152 in evaluate``."""
    return written(place(frame), frame.function)


def described(stack: Sequence[Frame], asked: int = 0) -> tuple[str, ...]:
    """Return the frames as text, innermost first, without those of the guard itself.

    The outermost frames without a file are left out: they start the program.

    ``asked`` is the index of the frame that asked for the memory. In a deep stack the innermost
    frames are left out, but never this one.
    """
    first = max(0, asked + 1 - _MOST_FRAMES)
    shown = [frame for frame in stack[first:] if not frame.file.startswith(OWN_FOLDER)]
    while shown and shown[-1].file.startswith("<") and not is_programs(shown[-1].file):
        shown.pop()
    texts = map(line_of, shown)
    # A comprehension has its own frame, on the same line as the function around it. Consecutive
    # frames with the same text are shown once.
    return tuple(text for text, _ in groupby(texts))[:_MOST_FRAMES]


def cell_of(file: str) -> str | None:
    """Return ``In[3]`` for the artificial file of an executed cell; None for any other file.

    IPython compiles each cell under an artificial file name, and returns the cell for that name.
    It is asked only if the program has loaded it.
    """
    module: Any = sys.modules.get("IPython.core.interactiveshell")
    if module is None:
        return None
    try:
        shell = module.InteractiveShell._instance
        told = None if shell is None else shell.compile.format_code_name(file)
        return None if told is None else str(told[1])
    except Exception:  # another shell, or another IPython
        return None


@functools.lru_cache(maxsize=4096)
def _shown(file: str) -> str:
    path, folder = Path(file), innermost(file, (".", *sys.path))
    return "/".join(path.parts[-2:]) if folder is None else path.relative_to(folder).as_posix()


def forget() -> None:
    """Free the cached contents of source files."""
    _function_at.cache_clear()
    _functions.cache_clear()


class _Function(NamedTuple):
    """A function of a source file: its lines, and those of statements whose objects it returns.

    Only functions with the name of a factory are read for that.
    """

    name: str
    first: int
    last: int
    returning: tuple[tuple[int, int], ...]

    def hands_over(self, line: int) -> bool:
        """Return whether what a line makes is returned, by itself or by name."""
        return any(first <= line <= last for first, last in self.returning)


@functools.lru_cache(maxsize=1024)
def _function_at(file: str, line: int) -> _Function | None:
    inside = [known for known in _functions(file) if known.first <= line <= known.last]
    # Functions nest, so the one that starts last is the innermost.
    return max(inside, key=lambda known: known.first, default=None)


@functools.lru_cache(maxsize=128)
def _functions(file: str) -> tuple[_Function, ...]:
    try:
        with tokenize.open(file) as source:  # linecache would keep all its lines
            tree = ast.parse(source.read())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return ()
    return tuple(
        _Function(
            node.name,
            node.lineno,
            node.end_lineno or node.lineno,
            tuple(_returning(node)) if _FACTORY.fullmatch(node.name) else (),
        )
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )


def _returning(function: ast.AST) -> Iterator[tuple[int, int]]:
    """Yield the lines of the returns of a function, and of statements that make what it returns.

    What is assigned to another object stays there, whatever its key is.
    """
    nodes = list(ast.walk(function))
    given = [n for n in nodes if isinstance(n, ast.Return | ast.Yield | ast.YieldFrom) and n.value]
    values = [part for n in given for part in getattr(n.value, "elts", [n.value])]
    names = {value.id for value in values if isinstance(value, ast.Name)}
    simple = (
        n for n in nodes if isinstance(n, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Expr)
    )
    with_name = (n for n in simple if not names.isdisjoint(_made_for(n)))
    for node in [*given, *with_name]:
        yield node.lineno, node.end_lineno or node.lineno


def _made_for(statement: ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Expr) -> Iterator[str]:
    """Yield the names that a statement assigns to, or whose object it assigns to a part of.

    A call may give what it makes to any object that it names.
    """
    if isinstance(statement, ast.Expr):
        yield from (part.id for part in ast.walk(statement) if isinstance(part, ast.Name))
        return
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    for target in (part for one in targets for part in getattr(one, "elts", [one])):
        while isinstance(target, ast.Attribute | ast.Subscript | ast.Starred):
            target = target.value
        if isinstance(target, ast.Name):
            yield target.id
