"""A test that may fail on the finding: what it needs, and what it repeats."""

from __future__ import annotations

import ast
import builtins
import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from leakguard.reproducing.names import bound, free, last_name, used

_BUDGET = "memory_budget"
_FIRST_ROUNDS = 5  # what the mark takes if nothing is said
_SCOPES = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_Rounds = tuple[ast.stmt, ...]


@dataclass(frozen=True)
class Turn:
    """What a test repeats.

    Attributes:
        body: the statements.
        target: what each turn binds, as the head of a ``for`` loop names it; None if nothing.
        source: what the targets are taken from.
    """

    body: tuple[ast.stmt, ...]
    target: ast.expr | None = None
    source: ast.expr | None = None

    def tidy(self) -> Turn:
        """Return the turn without a target that no statement reads."""
        if self.target is None or bound([self.target]) & used(self.body):
            return self
        return Turn(self.body)

    @property
    def leaves_early(self) -> bool:
        """Whether a statement ends or skips the turn, so that the turn must be one of a loop."""
        return any(_ends_loop(part) for part in self.body)


@dataclass(frozen=True)
class Sketch:
    """A test, as statements that can be left out.

    Attributes:
        what: what is repeated, in words.
        head: the imports and what is copied from the program.
        before: the set-up in the test; a ``with`` without a body holds all that follows.
        turn: what is repeated.
        is_async: whether the set-up and the turn are parts of a coroutine.
        kept: names of the holder; a statement of the turn that has one is not left out.
        times: how many turns a generation has.
        rounds: the generations before the first judgement.
    """

    what: str
    head: tuple[ast.stmt, ...]
    before: tuple[ast.stmt, ...]
    turn: Turn
    is_async: bool = False
    kept: frozenset[str] = frozenset()
    times: int = 1
    rounds: int = _FIRST_ROUNDS

    def text(self, name: str, comment: str) -> str:
        """Return the file: a comment, the imports, and one test function of this name."""
        body = self._function_body()
        head = [*self._imports(body), *self.head]
        future = [part for part in head if _is_future(part)]
        given = _BUDGET if _BUDGET in used(body) else ""
        test = ast.parse(f"def {name}({given}): pass").body[0]
        assert isinstance(test, ast.FunctionDef)
        test.body, test.decorator_list = body, [self._mark()]
        parts = [*future, *(part for part in head if part not in future), test]
        return f"{comment}\n{_laid_out(parts)}"

    @property
    def size(self) -> int:
        """The number of statements that can be left out."""
        return len(list(self._droppable()))

    def without(self, numbers: set[int]) -> Sketch:
        """Return a copy without the statements of these numbers."""
        changed = copy.deepcopy(self)
        gone = {id(part) for n, part in enumerate(changed._droppable()) if n in numbers}
        body = _left(changed.turn.body, gone) or (ast.Pass(),)
        return replace(
            changed,
            head=_left(changed.head, gone),
            before=_left(changed.before, gone),
            turn=replace(changed.turn, body=body),
        )

    def tidy(self) -> Sketch:
        """Return the sketch without imports and definitions that nothing uses."""
        head = list(self.head)
        inner = [*self.before, *self.turn.body, *self._source()]
        while True:
            left = [p for p in head if not _is_unused(p, _used_beside(p, head, inner))]
            if len(left) == len(head):
                needed = used([*head, *inner])
                narrowed = tuple(_narrowed(part, needed) for part in left)
                return replace(self, head=narrowed, turn=self.turn.tidy())
            head = left

    @property
    def unknown(self) -> set[str]:
        """The names that are used and that nothing defines, so that the test cannot run.

        None is known if a module gives all of its names (``import *``).
        """
        inside = [*self.before, *self.turn.body]
        taken = set().union(*map(free, (*self.head, *inside, *self._source())))
        target = bound([self.turn.target]) if self.turn.target is not None else set()
        given = bound([*self.head, *inside]) | target
        return set() if "*" in given else taken - given - {*dir(builtins), "__file__", "__name__"}

    def _droppable(self) -> Iterator[ast.stmt]:
        for part in (*self.head, *self.before):
            if not _is_future(part):
                yield part
        for part in self.turn.body:
            yield from self._parts(part)

    def _parts(self, statement: ast.stmt) -> Iterator[ast.stmt]:
        """Yield a statement of the turn and those in its blocks.

        One that names the holder stays, because it may be what frees the objects in another case;
        one that prints frees nothing.
        """
        if not self.kept & _mentioned(statement) or _prints(statement):
            yield statement
        if isinstance(statement, ast.If | ast.For | ast.While | ast.With | ast.Try):
            for block in (statement.body, getattr(statement, "orelse", [])):
                for part in block:
                    yield from self._parts(part)

    def _source(self) -> list[ast.AST]:
        return [self.turn.source] if self.turn.source is not None else []

    def _mark(self) -> ast.expr:
        given = "" if self.rounds == _FIRST_ROUNDS else f"generations={self.rounds}"
        mark = f"pytest.mark.{_BUDGET}"
        return _expression(f"{mark}({given})" if given else mark)

    def _function_body(self) -> list[ast.stmt]:
        before, rounds = self._rounds()
        body = _nested((*self.before, *before), rounds)
        shared = sorted(self._shared())
        body = [ast.Global(shared), *body] if shared else body
        if not self.is_async:
            return body
        coroutine = _statements("async def rounds(): pass\nasyncio.run(rounds())")
        coroutine[0].body = body  # type: ignore[attr-defined]
        return coroutine

    def _shared(self) -> set[str]:
        """Return the names that the test binds and that what it copied knows as its globals."""
        target = [self.turn.target] if self.turn.target is not None else []
        inside = bound([*self.before, *self.turn.body, *target])
        functions = [part for part in self.head if isinstance(part, _SCOPES)]
        return inside & bound(self.head).union(*map(free, functions))

    def _rounds(self) -> tuple[_Rounds, list[ast.stmt]]:
        """Return what precedes the rounds, and the rounds."""
        turn = self.turn
        counted = _counted(turn.source)
        is_flat = self.times == 1 and not turn.leaves_early
        repeated = f"for _ in {_BUDGET}.generations(): pass"
        if turn.target is None or turn.source is None:
            inner = list(turn.body)
            if not is_flat:
                inner = [_loop(f"for _ in range({self.times}): pass", inner)]
            return (), inner if self._repeats_whole() else [_loop(repeated, inner)]
        named = ast.unparse(turn.target)
        start = counted or f"iter({ast.unparse(turn.source)})"
        before = tuple(_statements(f"turns = {start}"))
        if is_flat:
            inner = [*_statements(f"{named} = next(turns)"), *turn.body]
        else:
            inner = [_loop(f"for {named} in itertools.islice(turns, {self.times}): pass",
                           turn.body)]  # fmt: skip
        return before, [_loop(repeated, inner)]

    def _repeats_whole(self) -> bool:
        """Return whether the mark can repeat the test, which has no set-up."""
        return not self.before and not self.is_async

    def _imports(self, body: list[ast.stmt]) -> list[ast.stmt]:
        needed = used(body)
        names = [n for n in ("asyncio", "itertools") if n in needed and n not in bound(self.head)]
        pytest = [] if "pytest" in bound(self.head) else ["pytest"]
        return _statements("\n".join(f"import {name}" for name in (*names, *pytest)))


def _counted(source: ast.expr | None) -> str | None:
    """Return an endless count in place of a ``range``, which may be too short for the rounds."""
    if not (isinstance(source, ast.Call) and ast.unparse(source.func) == "range"):
        return None
    words = [ast.unparse(each) for each in source.args]
    if len(words) == 1:
        return "itertools.count()"
    return f"itertools.count({', '.join((words[0], *words[2:]))})"


def _nested(parts: Sequence[ast.stmt], inner: list[ast.stmt]) -> list[ast.stmt]:
    """Return statements in order; a ``with`` without a body holds what follows."""
    for part in reversed(parts):
        if isinstance(part, ast.With | ast.AsyncWith) and not part.body:
            opened = type(part)(part.items, inner)
            inner = [opened]
        else:
            inner = [part, *inner]
    return inner


def _left(parts: Sequence[ast.stmt], gone: set[int]) -> tuple[ast.stmt, ...]:
    left = tuple(part for part in parts if id(part) not in gone)
    for part in left:
        for field in ("body", "orelse"):
            block = getattr(part, field, None)
            if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                kept = list(_left(block, gone))
                setattr(part, field, kept or ([ast.Pass()] if field == "body" else []))
    return left


def _used_beside(part: ast.stmt, head: Sequence[ast.stmt], inner: Sequence[ast.AST]) -> set[str]:
    """Return the names that all other statements use."""
    return used([*(each for each in head if each is not part), *inner])


def _is_unused(part: ast.stmt, needed: set[str]) -> bool:
    """Return whether a statement only binds names that no other statement uses."""
    if _is_future(part) or bound([part]) & needed:
        return False
    if isinstance(part, ast.Expr):
        return isinstance(part.value, ast.Constant)  # a docstring
    if isinstance(part, ast.Assign | ast.AnnAssign):
        return not _calls(part) and not _sets_inside(part)
    return isinstance(part, _SCOPES | ast.Import | ast.ImportFrom)


def _narrowed(part: ast.stmt, needed: set[str]) -> ast.stmt:
    """Return an import without the names that nothing uses."""
    if not isinstance(part, ast.Import | ast.ImportFrom) or _is_future(part):
        return part
    names = [each for each in part.names if bound([ast.Import([each])]) & needed]
    changed = copy.copy(part)
    changed.names = names or part.names
    return changed


def _sets_inside(part: ast.stmt) -> bool:
    """Return whether an assignment changes an object, as ``a.b = 1`` and ``a[0] = 1`` do."""
    targets = part.targets if isinstance(part, ast.Assign) else []
    return any(not isinstance(each, ast.Name | ast.Tuple) for each in targets)


def _calls(part: ast.stmt) -> bool:
    return any(isinstance(node, ast.Call) for node in ast.walk(part))


def _is_future(part: ast.stmt) -> bool:
    return isinstance(part, ast.ImportFrom) and part.module == "__future__"


def _prints(statement: ast.stmt) -> bool:
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and last_name(call.func) == "print"


def _mentioned(statement: ast.stmt) -> set[str]:
    """Return the names and attributes in a statement."""
    nodes = list(ast.walk(statement))
    return {node.id for node in nodes if isinstance(node, ast.Name)} | {
        node.attr for node in nodes if isinstance(node, ast.Attribute)
    }


def _ends_loop(statement: ast.AST) -> bool:
    if isinstance(statement, ast.Break | ast.Continue):
        return True
    if isinstance(statement, _SCOPES | ast.For | ast.While | ast.Lambda):
        return False
    return any(_ends_loop(child) for child in ast.iter_child_nodes(statement))


def _loop(head: str, body: Sequence[ast.stmt]) -> ast.stmt:
    loop = ast.parse(head).body[0]
    assert isinstance(loop, ast.For)
    loop.body = list(body)
    return loop


def _statements(text: str) -> list[ast.stmt]:
    return ast.parse(text).body


def _expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _laid_out(parts: Sequence[ast.stmt]) -> str:
    """Return statements as text, with two empty lines around functions and classes."""
    lines: list[str] = []
    for number, part in enumerate(parts):
        near = isinstance(part, _SCOPES) or (number and isinstance(parts[number - 1], _SCOPES))
        imports = (ast.Import, ast.ImportFrom)
        after = number and isinstance(parts[number - 1], imports) and not isinstance(part, imports)
        lines += ["", ""] if near else [""] if after else []
        lines.append(ast.unparse(ast.fix_missing_locations(part)))
    return "\n".join(lines) + "\n"
