"""Tests that call one function of the program."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from leakguard.reproducing.head import head_of
from leakguard.reproducing.names import Function, Loop, covers, last_name, own_scope, required
from leakguard.reproducing.program_file import ProgramFile
from leakguard.reproducing.sketch import Sketch, Turn
from leakguard.reproducing.stack_line import StackLine


def calls(
    found: Sequence[StackLine], files: Mapping[str, ProgramFile], folder: str,
    kept: frozenset[str], *, looping: bool,
) -> Iterator[Sketch | str]:  # fmt: skip
    """Yield a test for each function on the stack, the innermost first, or why there is none.

    ``looping`` takes the functions that reach the next line of the stack in a loop of their own, as
    a ``main`` does, and else the others.
    """
    for place in found:
        around = files[place.path].function_at(place.line)
        if around is None:
            continue
        owner, function = around
        if function.name.startswith("__"):
            continue  # a call of the class makes the same object, and nobody keeps it
        if looping == _is_in_loop(function, place.line):
            yield _call(files[place.path], owner, function, folder, kept)


def _is_in_loop(function: Function, line: int) -> bool:
    parts = (part for each in function.body for part in own_scope(each))
    return any(isinstance(part, Loop) and covers(part, line) for part in parts)


def _call(
    file: ProgramFile, owner: ast.ClassDef | None, function: Function, folder: str,
    kept: frozenset[str],
) -> Sketch | str:  # fmt: skip
    named = function.name if owner is None else f"{owner.name}.{function.name}"
    missing = required(function, is_method=owner is not None)
    if missing:
        return f"{named}() needs arguments: {', '.join(missing)}"
    before: list[ast.stmt] = []
    called = function.name
    if owner is not None:
        receiver = _receiver(file, owner)
        if receiver is None:
            lacks = ", ".join(_made_from(owner)) or "no instance of it is known"
            return f"{named}() needs a {owner.name}, which needs arguments: {lacks}"
        before, called = _made(receiver, owner, function)
    text = f"{called}()"
    is_async = isinstance(function, ast.AsyncFunctionDef)
    turn = Turn(tuple(ast.parse(f"await {text}" if is_async else text).body))
    head = head_of(file, [*before, *turn.body], folder)
    return Sketch(f"a call of {named}()", head, tuple(before), turn, is_async, kept)


def _receiver(file: ProgramFile, owner: ast.ClassDef) -> str | None:
    """Return the instance that the file has, or else the call that makes one; None without."""
    for part in file.body:
        if isinstance(part, ast.Assign) and isinstance(part.value, ast.Call):
            target = part.targets[0]
            if isinstance(target, ast.Name) and last_name(part.value.func) == owner.name:
                return target.id
    return None if _made_from(owner) or owner.bases else f"{owner.name}()"


def _made_from(owner: ast.ClassDef) -> list[str]:
    """Return the arguments without which no instance can be made."""
    for part in owner.body:
        if isinstance(part, ast.FunctionDef) and part.name == "__init__":
            return required(part, is_method=True)
    return []


def _made(receiver: str, owner: ast.ClassDef, function: Function) -> tuple[list[ast.stmt], str]:
    if not receiver.endswith(")"):
        return [], f"{receiver}.{function.name}"
    name = owner.name.lower()
    return ast.parse(f"{name} = {receiver}").body, f"{name}.{function.name}"
