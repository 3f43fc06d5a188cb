"""Compiles the program's own code with marks at its outermost loops and at named functions.

The work of a script is usually done in a loop at the top of the file, or in a function that is
called once, here or in a module next to it. Unlike a function, a loop cannot be reached from
outside. So the mark is inserted when the source is compiled. A mark calls builtins with names that
no program can write. Lines, names and the module's namespace stay as they are.
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from threading import get_ident
from types import CodeType
from typing import Any, Protocol

from leakguard.errors import UsageError
from leakguard.launch.target import Target

Change = Callable[[Any], Any]
Function = ast.FunctionDef | ast.AsyncFunctionDef
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
Statement = ast.For | ast.While
Loop = Statement | Comprehension


class RunningLoop(Protocol):
    """A running loop without items."""

    items: Iterator[tuple[()]]
    begin: Callable[[], None]
    finish: Callable[[], None]


class Marks(Protocol):
    """The functions that the marks call."""

    def over(self, items: Any, line: int) -> Iterator[Any]:
        """Return the items of a loop."""

    def rounds(self, line: int) -> RunningLoop:
        """Return what a loop without items that begins at ``line`` iterates over and calls."""


def compiled(
    source: bytes | str,
    file: str,
    changes: Mapping[Target, Change],
    marks: Marks,
    mentioned: set[str],
) -> CodeType:
    """Return the code of a script; ``changes`` maps functions of the script to their decorators.

    Args:
        mentioned: receives the names that are used outside of loops, for the modules it imports.

    Raises:
        SyntaxError: as the interpreter would.
        UsageError: the script defines no such function.
    """
    tree = _parsed(source, file)
    for target, change in changes.items():
        _decorate(_found(tree, target, file), f"@leakguard {target.name}", change)
    return _marked(tree, outermost_loops(tree, mentioned), file, marks)


def compiled_module(
    source: bytes | str, file: str, marks: Marks, mentioned: set[str]
) -> CodeType | None:
    """Return the code of a module of the program itself; None if it has no outermost loop.

    Raises:
        SyntaxError: as the interpreter would.
    """
    tree = _parsed(source, file)
    loops = [loop for loop in outermost_loops(tree, mentioned) if isinstance(loop, Statement)]
    return _marked(tree, loops, file, marks) if loops else None


def _parsed(source: bytes | str, file: str) -> ast.Module:
    flags: int = ast.PyCF_ONLY_AST
    tree: ast.Module = compile(source, file, "exec", flags, dont_inherit=True)
    return tree


def _marked(tree: ast.Module, loops: Sequence[Loop], file: str, marks: Marks) -> CodeType:
    over = f"@leakguard over {file}"
    setattr(builtins, over, marks.over)
    endless = _EndlessLoops(marks, file)
    for loop in loops:
        if isinstance(loop, ast.While):
            endless.chosen.append(loop)
        else:
            _mark(loop, over)
    return compile(endless.visit(tree), file, "exec", dont_inherit=True)


def outermost_loops(tree: ast.Module, mentioned: set[str]) -> list[Loop]:
    """Return the loops that run once in a program, as far as names show.

    They are in no other loop. They are in the body of the module, or in a function whose name is
    used in such a place outside of loops: ``main()``, ``asyncio.run(main())``, ``Trainer().fit()``.
    ``mentioned`` holds the names of the files compiled before, and receives the names of this file.
    The ``run`` of a thread class counts although no code names it. A comprehension that calls
    functions of the script, ``[run(trial) for trial in trials]``, counts only if there is no other
    loop: most comprehensions prepare data.
    """
    functions: dict[str, list[Function]] = {}
    for node in ast.walk(tree):
        if isinstance(node, Function):
            functions.setdefault(node.name, []).append(node)
    known = frozenset(functions)
    loops: list[Loop] = []
    comprehensions: list[Loop] = []
    runs = list(_runs_of_threads(tree))
    functions["run"] = [node for node in functions.get("run", ()) if node not in runs]
    waiting: list[ast.Module | Function] = [tree, *runs]
    for known_before in mentioned & known:
        waiting += functions.pop(known_before)
    while waiting:
        for part in _outside_loops(waiting.pop(), known):
            if isinstance(part, Statement):
                loops.append(part)
            elif isinstance(part, Comprehension):
                comprehensions += [part] if _repeats(part, known) else []
            elif (name := _named(part)) is not None:
                mentioned.add(name)
                waiting += functions.pop(name, [])
    return loops or comprehensions


def _runs_of_threads(tree: ast.Module) -> Iterator[Function]:
    """Yield the ``run`` methods of the thread classes defined here."""
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    threads: set[str] = set()
    bases = {"Thread"}
    while bases:
        threads |= bases
        bases = {c.name for c in classes if any(_named(b) in threads for b in c.bases)} - threads
    for cls in classes:
        if cls.name in threads:
            yield from (f for f in cls.body if isinstance(f, Function) and f.name == "run")


def _named(node: ast.AST) -> str | None:
    """Return the name of a node, or the attribute name of an attribute; None for other nodes."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else None


def _repeats(node: ast.AST, functions: frozenset[str]) -> bool:
    """Return whether a node is a comprehension that calls functions of the script in its rounds."""
    if not isinstance(node, Comprehension) or node.generators[0].is_async:
        return False
    parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
    calls = (n for part in parts for n in ast.walk(part) if isinstance(n, ast.Call))
    return any(_named(call.func) in functions for call in calls)


def _outside_loops(block: ast.Module | Function, functions: frozenset[str]) -> Iterator[ast.AST]:
    """Yield every node of a body that is in no loop and in no nested function."""
    waiting: list[ast.AST] = list(block.body)
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, ast.For):
            waiting.append(node.iter)
        elif _repeats(node, functions):
            waiting.append(node.generators[0].iter)  # type: ignore[attr-defined]
        elif not isinstance(node, (ast.While, ast.AsyncFor, ast.Lambda, *_FUNCTIONS)):
            waiting += ast.iter_child_nodes(node)


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def _mark(loop: ast.For | Comprehension, over: str) -> None:
    if isinstance(loop, Comprehension):
        items = loop.generators[0].iter
        arguments = [items, ast.Constant(loop.lineno)]
        loop.generators[0].iter = _at(ast.Call(_name(over), arguments, []), items)
        return
    arguments = [loop.iter, ast.Constant(loop.lineno)]
    # The place in the source that the interpreter shows if an object cannot be looped over.
    place = loop if sys.version_info < (3, 13) else loop.iter
    loop.iter = _at(ast.Call(_name(over), arguments, []), place)


class _EndlessLoops(ast.NodeTransformer):
    """Turns the chosen ``while`` loops into ``for`` loops over endless items.

    An interpreter drops the items at once wherever a loop is left. This reports the end of the loop
    while the function still has its locals. The target of the ``for`` loop is an empty tuple, so
    that there is no new name.
    """

    def __init__(self, marks: Marks, file: str) -> None:
        self.chosen: list[ast.While] = []
        self._marks = marks
        self._file = file

    def visit_While(self, loop: ast.While) -> ast.AST:
        if loop not in self.chosen:
            return loop  # a loop inside it is not an outermost loop
        place = _EndlessLoop(partial(self._marks.rounds, loop.lineno), self._file, loop.lineno)
        over = [ast.Expr(_called(place.finish)), *loop.orelse, ast.Break()]
        ends = _at(ast.If(ast.UnaryOp(ast.Not(), loop.test), over, []), loop)
        begins = _at(ast.Expr(_called(place.begin)), loop.body[0])
        body = [ends, begins, *loop.body]
        followed = ast.For(ast.Tuple([], ast.Store()), _called(place.enter), body, [])
        return ast.fix_missing_locations(ast.copy_location(followed, loop))


class _EndlessLoop:
    """The names that a ``while`` loop calls when it is entered, begins a round, and is finished.

    If one thread is in the loop, the names are that loop's own functions, which run at the speed of
    C. If several threads are in it, each thread's loop is found by the thread's ident.
    """

    def __init__(self, rounds: Callable[[], RunningLoop], file: str, line: int) -> None:
        self.enter, self.begin, self.finish = (
            f"@leakguard {moment} {file}:{line}" for moment in ("enter", "round", "end")
        )
        self._rounds = rounds
        self._running: dict[int, tuple[Callable[[], None], Callable[[], None]]] = {}
        setattr(builtins, self.enter, self._entered)

    def _entered(self) -> Iterator[tuple[()]]:
        loop = self._rounds()
        # Only two functions of the loop are kept. The loop itself would keep its items, and the
        # loop counts as over when nothing refers to its items.
        begin, finish = self._running[get_ident()] = loop.begin, loop.finish
        if len(self._running) > 1:
            begin, finish = self._begin_here, self._finish_here
        setattr(builtins, self.begin, begin)
        setattr(builtins, self.finish, finish)
        return loop.items

    def _begin_here(self) -> None:
        self._running[get_ident()][0]()

    def _finish_here(self) -> None:
        self._running[get_ident()][1]()


def _called(name: str) -> ast.Call:
    return ast.Call(_name(name), [], [])


def _decorate(function: Function, name: str, change: Change) -> None:
    """Make ``change`` the outermost decorator; the function's first line stays where it is."""
    setattr(builtins, name, change)
    first = function.decorator_list[0] if function.decorator_list else function
    function.decorator_list.insert(0, _at(_name(name), first))


def _found(tree: ast.Module, target: Target, file: str) -> Function:
    bodies: list[list[ast.stmt]] = [tree.body]
    for part in target.path[:-1]:
        found = (node for body in bodies for node in _definitions(body))
        bodies = [n.body for n in found if isinstance(n, ast.ClassDef) and n.name == part]
    for node in (node for body in bodies for node in _definitions(body)):
        if isinstance(node, Function) and node.name == target.path[-1]:
            return node
    raise UsageError(f"{file} defines no {target.name}; {_hint(tree, target)}")


def _hint(tree: ast.Module, target: Target) -> str:
    """Return what to write instead: a method with its class, or a function with its module."""
    classes = (node for node in _definitions(tree.body) if isinstance(node, ast.ClassDef))
    methods = [
        f"{cls.name}.{target.name}"
        for cls in classes
        if any(node.name == target.name for node in _definitions(cls.body))
    ]
    if methods:
        return f"for the method write {' or '.join(methods)}"
    return f"for one of another module write module:{target.name}"


def _definitions(body: list[ast.stmt]) -> Iterator[Function | ast.ClassDef]:
    """Yield the functions and classes of a body, including those under ``if`` and ``try``."""
    for node in body:
        if isinstance(node, Function | ast.ClassDef):
            yield node
        elif isinstance(node, ast.If | ast.Try | ast.With):
            parts = ast.iter_child_nodes(node)
            yield from _definitions([part for part in parts if isinstance(part, ast.stmt)])


def _name(text: str) -> ast.Name:
    return ast.Name(text, ast.Load())


def _at(node: Any, place: ast.AST) -> Any:
    return ast.fix_missing_locations(ast.copy_location(node, place))
