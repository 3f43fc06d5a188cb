"""What a copy of the target does: it answers one question, in a file, and ends.

All of leakguard that it imports was copied into the folder; it has the standard library of the
target, and no package is needed beside it. Nothing that happens here reaches the target.
"""

from __future__ import annotations

import dataclasses
import json
import os
import platform
import resource
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leakguard.capture.probe import Probe, measure, reason_of

if TYPE_CHECKING:
    from leakguard.capture.heap import PathMemory

if TYPE_CHECKING:
    from leakguard.capture.heap import PathMemory

QUESTION, ANSWER, MEMORY = "question.json", "answer.json", "memory"


def answer(folder: str, seconds: float) -> None:
    """Answer the question that lies in ``folder``, within so many seconds of CPU."""
    _limit(seconds)
    with open(f"{folder}/{QUESTION}", encoding="utf-8") as file:
        question = json.load(file)
    ask = _QUESTIONS[question.pop("ask")]
    try:
        told = {"told": ask(folder, **question)}
    except Exception as error:
        told = {"problem": reason_of(error)}
    with open(f"{folder}/{ANSWER}", "w", encoding="utf-8") as file:
        json.dump(_plain(told), file)


def _limit(seconds: float) -> None:
    """Let the kernel end this copy where it takes too long, and first where memory runs out."""
    most = int(seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
            file.write("1000")
    except OSError:
        pass


def _facts(folder: str) -> dict[str, Any]:
    """Say what the program is: what the header of its run tells."""
    from leakguard.capture.heap import ENGINE, WITHOUT_SCAN

    return {
        "python": platform.python_version(),
        "arguments": [*sys.orig_argv],
        "folder": _folder(),
        "engine": ENGINE,
        "without_scan": WITHOUT_SCAN,
        "packages": _versions(),
    }


def _folder() -> str | None:
    try:
        return os.fspath(Path.cwd())
    except OSError:
        return None


def _versions() -> dict[str, str]:
    """Return versions of what the program has imported, read from the modules' own dicts."""
    names = ("torch", "numpy", "gymnasium", "ray", "lightning", "transformers", "jax")
    modules = ((name, getattr(sys.modules.get(name), "__dict__", None)) for name in names)
    versions = ((name, own.get("__version__")) for name, own in modules if type(own) is dict)
    return {name: str(version) for name, version in versions if isinstance(version, str)}


def _census(folder: str, large: int) -> dict[str, Any]:
    """Read the numbers that only the process itself knows, and count what lives."""
    numbers = measure(_probes())  # first: what is imported for a walk is none of the program's
    from leakguard.capture.heap import census

    _be_the_copy(folder)
    return {"numbers": numbers, "census": census(large=large)}


def _probes() -> tuple[tuple[str, Probe], ...]:
    from leakguard.capture.allocator import allocator_memory, pool_memory, python_blocks
    from leakguard.capture.heap.collector import collector_state

    return (
        ("allocator", allocator_memory),
        ("blocks", python_blocks),
        ("pools", pool_memory),
        ("gc", collector_state),
    )


def _inspection(folder: str, large: int, targets: list[int], suspects: list[str]) -> dict[str, Any]:
    """Say who holds what; what the next look compares with stays in the folder."""
    from leakguard.capture.heap import PathMemory, inspect

    _be_the_copy(folder)
    found = inspect(_memory(folder), targets, large, suspects=suspects)
    _remember(folder, found.memory)
    told: dict[str, Any] = _plain(dataclasses.replace(found, memory=PathMemory()))
    return told | {"memory": {}}


def _first_walk(folder: str) -> None:
    from leakguard.capture.heap import remember

    _be_the_copy(folder)
    _remember(folder, remember())


def _sites(folder: str, names: list[str]) -> dict[str, Any]:
    """Say where what lives was made while memory was traced, and who holds it."""
    from leakguard.capture.allocation_sites import ObjectTrace, Suspect
    from leakguard.capture.heap import inspect

    _be_the_copy(folder)
    suspects = [Suspect(name) for name in names]
    trace = ObjectTrace(suspects)  # it finds the trace of the process, and reads it
    held = inspect(_memory(folder), trace.survivors(suspects)).held
    return {"sites": trace.sites([who.held_by if who else None for who in held])}


def _holdings(folder: str) -> object:
    """Say what may go, each with the statement that lets it go."""
    from leakguard.capture.heap import holdings

    _be_the_copy(folder)
    return holdings()


_QUESTIONS: Mapping[str, Callable[..., object]] = {
    "facts": _facts,
    "census": _census,
    "inspection": _inspection,
    "first walk": _first_walk,
    "sites": _sites,
    "holdings": _holdings,
}


def _be_the_copy(folder: str) -> None:
    """Take that this process is a copy: no look in it needs another one, or sees how it came."""
    from leakguard.capture.heap import process_copy

    process_copy.be_copy()
    for path in [path for path in sys.path_importer_cache if path.startswith(folder)]:
        del sys.path_importer_cache[path]


def _memory(folder: str) -> PathMemory | None:
    """Return what the look before has remembered; None before the first."""
    from leakguard.capture.heap import PathMemory
    from leakguard.capture.heap.column import Column

    try:
        with open(f"{folder}/{MEMORY}", encoding="ascii") as file:
            looks, columns, octets = json.load(file)
    except FileNotFoundError:
        return None
    read: list[Any] = [Column(code, numbers) for code, numbers in columns]
    return PathMemory(looks, *read, *map(bytearray, octets))


def _remember(folder: str, memory: PathMemory) -> None:
    looks, *rest = (getattr(memory, field.name) for field in dataclasses.fields(memory))
    columns = [(part.typecode, list(part)) for part in rest if type(part) is not bytearray]
    octets = [list(part) for part in rest if type(part) is bytearray]
    with open(f"{folder}/{MEMORY}", "w", encoding="ascii") as file:
        json.dump((looks, columns, octets), file)


def _plain(value: Any) -> Any:
    """Return a value as JSON has it."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(entry) for entry in value]
    return value
