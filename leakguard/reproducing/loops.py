"""Tests that repeat the body of a loop of the program, after what precedes the loop."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from leakguard.reproducing.head import head_of
from leakguard.reproducing.names import Function, covers, has_loop, last_name
from leakguard.reproducing.program_file import ProgramFile, is_start
from leakguard.reproducing.sketch import Sketch, Turn
from leakguard.reproducing.stack_line import StackLine

# Chosen: a loop that lies deeper below the start than so many calls and blocks is not looked for.
_DEEPEST = 12


@dataclass(frozen=True)
class _Descent:
    """How far a search has come from the start of a file.

    ``copied`` are the statements of the top level that came before, ``before`` those of blocks and
    functions. ``function`` is the one that is being searched; None at the top level.
    """

    copied: tuple[ast.stmt, ...] = ()
    before: tuple[ast.stmt, ...] = ()
    function: Function | None = None
    is_async: bool = False
    depth: int = 0
    at_top: bool = True

    def after(self, statements: Sequence[ast.stmt]) -> _Descent:
        """Return the way past some statements of the block."""
        if self.at_top:
            return replace(self, copied=(*self.copied, *statements))
        return replace(self, before=(*self.before, *statements))

    def into(self, *statements: ast.stmt) -> _Descent:
        """Return the way into a block, past the statements that stand for its head."""
        return replace(self, before=(*self.before, *statements), depth=self.depth + 1, at_top=False)


@dataclass
class LoopSearch:
    """Searches a file from its start for loops that lead to the finding.

    Attributes:
        file: the file.
        found: the lines on the call stack of the finding, the innermost first.
        folder: the folder of the test, below the program's folder.
        kept: the names of the holder.
    """

    file: ProgramFile
    found: Sequence[StackLine]
    folder: str
    kept: frozenset[str]
    _visited: set[str] = field(default_factory=set)

    def sketches(self) -> Iterator[Sketch]:
        """Yield a test for each loop, the outer ones first."""
        if self.file.is_importable:
            yield from self._block(self.file.start, _Descent(at_top=False))
        else:
            yield from self._block(self.file.body, _Descent())

    def _block(self, block: Sequence[ast.stmt], way: _Descent) -> Iterator[Sketch]:
        if way.depth > _DEEPEST:
            return
        lines = [place.line for place in self.found if place.path == self.file.path]
        exact = [n for n, part in enumerate(block) if any(covers(part, line) for line in lines)]
        exact = [n for n in exact if not isinstance(block[n], Function | ast.ClassDef)]
        for number in exact or range(len(block)):
            part = block[number]
            if exact or self._leads(part):
                yield from self._statement(part, way.after(block[:number]))

    def _leads(self, part: ast.stmt) -> bool:
        if isinstance(part, Function | ast.ClassDef):
            return False
        return is_start(part) or has_loop([part]) or any(self.file.led_to(part))

    def _statement(self, part: ast.stmt, way: _Descent) -> Iterator[Sketch]:
        if isinstance(part, ast.For | ast.While):
            yield self._sketch(part, way)
            yield from self._block(part.body, way.into(*_first_turn(part)))
        elif isinstance(part, ast.With | ast.AsyncWith):
            yield from self._block(part.body, way.into(type(part)(part.items, [])))
        elif isinstance(part, ast.If):
            yield from self._block(part.body, way.into())
            yield from self._block(part.orelse, way.into())
        elif isinstance(part, ast.Try):
            yield from self._block(part.body, way.into())
        else:
            for place, call, function in self.file.led_to(part):
                yield from self._function(place, call, function, way)

    def _function(
        self, place: ast.expr, call: ast.Call | None, function: Function, way: _Descent
    ) -> Iterator[Sketch]:
        bound = _bindings(place, call, function)
        if bound is None or function.name in self._visited:
            return
        self._visited.add(function.name)
        inner = replace(
            way.into(*bound), function=function,
            is_async=way.is_async or isinstance(function, ast.AsyncFunctionDef),
        )  # fmt: skip
        yield from self._block(function.body, inner)

    def _sketch(self, loop: ast.For | ast.While, way: _Descent) -> Sketch:
        where = "" if way.function is None else f" in {way.function.name}()"
        turn = (
            Turn(tuple(loop.body), loop.target, loop.iter)
            if isinstance(loop, ast.For)
            else Turn(tuple(loop.body))
        )
        sources = [turn.source] if turn.source is not None else []
        head = head_of(self.file, [*way.before, *turn.body, *sources], self.folder, way.copied)
        what = f"a turn of the loop{where} at {self.file.path}:{loop.lineno}"
        return Sketch(what, head, way.before, turn, way.is_async, self.kept)


def searches(
    found: Sequence[StackLine], files: Mapping[str, ProgramFile], script: str | None, folder: str,
    kept: frozenset[str],
) -> Iterator[LoopSearch]:  # fmt: skip
    """Yield a search for each file that can be the start: the script, then those on the stack."""
    paths = dict.fromkeys([script or "", *(place.path for place in reversed(found))])
    for path in paths:
        if path in files:
            yield LoopSearch(files[path], found, folder, kept)


def _first_turn(loop: ast.For | ast.While) -> list[ast.stmt]:
    """Return what stands for the head of a loop whose first turn is the set-up of an inner one."""
    if isinstance(loop, ast.While):
        return []
    return ast.parse(f"{ast.unparse(loop.target)} = next(iter({ast.unparse(loop.iter)}))").body


def _bindings(place: ast.expr, call: ast.Call | None, function: Function) -> list[ast.stmt] | None:
    """Return assignments of the arguments to the parameters; None if they do not fit."""
    given = function.args
    if given.vararg or given.kwarg or given.posonlyargs:
        return None
    values: dict[str, ast.expr] = {}
    names = [each.arg for each in given.args]
    if isinstance(place, ast.Attribute) and names[:1] in (["self"], ["cls"]):
        values[names.pop(0)] = place.value
    if call is not None:
        if any(isinstance(each, ast.Starred) for each in call.args) or len(call.args) > len(names):
            return None
        values.update(zip(names, call.args, strict=False))
        values.update({each.arg: each.value for each in call.keywords if each.arg})
    defaults = dict(zip(reversed(names), reversed(given.defaults), strict=False))
    defaults |= {
        each.arg: value
        for each, value in zip(given.kwonlyargs, given.kw_defaults, strict=True)
        if value is not None
    }
    names += [each.arg for each in given.kwonlyargs]
    values = {**{name: defaults[name] for name in names if name in defaults}, **values}
    if any(name not in values for name in names):
        return None
    return [
        line
        for name, value in values.items()
        if last_name(value) != name or isinstance(value, ast.Attribute)
        for line in ast.parse(f"{name} = {ast.unparse(value)}").body
    ]
