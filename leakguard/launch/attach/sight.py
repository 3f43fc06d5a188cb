"""What a copy of the target does: it answers one question, in a file, and exits.

The copy imports leakguard from the folder into which leakguard was copied. Apart from that, it
imports only the target's standard library. Nothing that happens in the copy changes the target.
"""

from __future__ import annotations

import dataclasses
import json
import os
import platform
import resource
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leakguard.capture.probe import Probe, measure, reason_of

if TYPE_CHECKING:
    from leakguard.capture.heap import PathMemory

_MEMORY = "memory"


def answer(folder: str, question: dict[str, Any], into: str, seconds: float) -> None:
    """Answer a question in the file ``into`` of ``folder``, within ``seconds`` of CPU time."""
    _limit(seconds)
    ask, details = _QUESTIONS[question["about"]], question["details"]
    try:
        told = {"told": ask(folder, **details)}
    except Exception as error:
        told = {"problem": reason_of(error)}
    with open(f"{folder}/{into}", "w", encoding="utf-8") as file:
        json.dump(_plain(told), file)


def _limit(seconds: float) -> None:
    """Let the kernel end this copy if it takes too long, or as the first if memory runs out."""
    most = int(seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
            file.write("1000")
    except OSError:
        pass


def _facts(folder: str) -> dict[str, Any]:
    """Answer: what the header of a run says about the program."""
    from leakguard.capture.heap import ENGINE, WITHOUT_SCAN

    return {
        "python": platform.python_version(),
        "arguments": [*sys.orig_argv],
        "folder": _folder(),
        "engine": ENGINE,
        "without_scan": WITHOUT_SCAN,
        "packages": _versions(),
        "role": _role(),
    }


def _role() -> str | None:
    """Return the name of a worker of ``DataLoader`` or ``multiprocessing``; None for others.

    It is read from the modules' own dicts. Their functions are the program's, and are not called.
    """
    loader = _of_module("torch.utils.data._utils.worker", "_worker_info")
    if type(number := getattr(loader, "id", None)) is int:
        return f"loader{number}"
    if _of_module("multiprocessing.process", "_parent_process") is None:
        return None
    name = getattr(_of_module("multiprocessing.process", "_current_process"), "_name", None)
    return name if type(name) is str else None


def _of_module(module: str, name: str) -> object:
    own = getattr(sys.modules.get(module), "__dict__", None)
    return own.get(name) if type(own) is dict else None


def _folder() -> str | None:
    try:
        return os.fspath(Path.cwd())
    except OSError:
        return None


def _versions() -> dict[str, str]:
    """Return the versions of some imported packages, read from the modules' own dicts."""
    names = ("torch", "numpy", "gymnasium", "ray", "lightning", "transformers", "jax")
    modules = ((name, getattr(sys.modules.get(name), "__dict__", None)) for name in names)
    versions = ((name, own.get("__version__")) for name, own in modules if type(own) is dict)
    return {name: str(version) for name, version in versions if isinstance(version, str)}


def _census(folder: str, large: int) -> dict[str, Any]:
    """Answer: when it was, the numbers that only the process itself can read, and the census."""
    at = time.monotonic()
    numbers = measure(_probes())  # before the imports of a walk, which allocate memory too
    from leakguard.capture.heap import census

    _be_the_copy(folder)
    return {"at": at, "numbers": numbers, "census": census(large=large)}


def _probes() -> tuple[tuple[str, Probe], ...]:
    from leakguard.capture.allocator import allocator_memory, pool_memory, python_blocks
    from leakguard.capture.heap.collector import collector_state

    return (
        ("allocator", allocator_memory),
        ("blocks", python_blocks),
        ("pools", pool_memory),
        ("gc", collector_state),
    )


def _inspection(
    folder: str,
    large: int,
    targets: list[int],
    suspects: list[str],
    read_source: bool = False,
    rounds: int | None = None,
) -> dict[str, Any]:
    """Answer: an inspection; its memory for the next look is written to the folder.

    ``rounds`` is how many rounds of births were recorded; None if births are not recorded.
    """
    from leakguard.capture.births import survivors_in_copy
    from leakguard.capture.heap import PathMemory, inspect

    _be_the_copy(folder)
    found = inspect(
        _memory(folder),
        targets,
        large,
        suspects=suspects,
        survivors=None if rounds is None else lambda: survivors_in_copy(("",), rounds),
        read_source=read_source,
    )
    _remember(folder, found.memory)
    told: dict[str, Any] = _plain(dataclasses.replace(found, memory=PathMemory()))
    return told | {"memory": {}}


def _first_walk(folder: str) -> None:
    from leakguard.capture.heap import remember

    _be_the_copy(folder)
    _remember(folder, remember())


def _births(folder: str, rounds: int) -> object:
    """Answer: what was born in so many rounds, and before, and is alive."""
    from leakguard.capture.births import births_in_copy

    return births_in_copy(rounds)


def _births_rehearsed(folder: str) -> str:
    """Answer: why births cannot be recorded; empty if they were, in this copy."""
    from leakguard.capture.births import BirthRecord

    record = BirthRecord()
    record.start()
    if record.problem is None:
        record.mark(0, "")
        record.check()
        kept = [bytearray(size) for size in range(1, 5_000)]
        record.cohorts(1)
        del kept
        record.stop()
    return record.problem or ""


def _sites(folder: str, names: list[str]) -> dict[str, Any]:
    """Answer: the sites and holders of live objects that were made while memory was traced."""
    from leakguard.launch.attach.kept_trace import keep_trace

    keep_trace()  # before the other imports, which would be traced
    from leakguard.capture.allocation_sites import ObjectTrace, Suspect
    from leakguard.capture.heap import inspect

    _be_the_copy(folder)
    suspects = [Suspect(name) for name in names]
    trace = ObjectTrace(suspects)  # reads the trace that runs in the target
    held = inspect(_memory(folder), trace.survivors(suspects)).held
    return {"sites": trace.sites([who.held_by if who else None for who in held])}


def _holdings(folder: str) -> object:
    """Answer: what memory may be released, each with the statement that releases it."""
    from leakguard.capture.heap import holdings

    _be_the_copy(folder)
    return holdings()


_QUESTIONS: Mapping[str, Callable[..., object]] = {
    "facts": _facts,
    "census": _census,
    "inspection": _inspection,
    "first walk": _first_walk,
    "births": _births,
    "births rehearsed": _births_rehearsed,
    "sites": _sites,
    "holdings": _holdings,
}


def _be_the_copy(folder: str) -> None:
    """Prepare a look in this copy.

    The look is taken without another copy, and does not count what importing leakguard from the
    folder has added to ``sys.path_importer_cache``.
    """
    from leakguard.capture.heap import process_copy

    process_copy.be_copy()
    for path in [path for path in sys.path_importer_cache if path.startswith(folder)]:
        del sys.path_importer_cache[path]


def _memory(folder: str) -> PathMemory | None:
    """Return the memory that the previous look wrote to the folder; None before the first look."""
    from leakguard.capture.heap import PathMemory
    from leakguard.capture.heap.column import Column

    try:
        with open(f"{folder}/{_MEMORY}", encoding="ascii") as file:
            looks, columns, octets = json.load(file)
    except FileNotFoundError:
        return None
    read: list[Any] = [Column(code, numbers) for code, numbers in columns]
    return PathMemory(looks, *read, *map(bytearray, octets))


def _remember(folder: str, memory: PathMemory) -> None:
    looks, *rest = (getattr(memory, field.name) for field in dataclasses.fields(memory))
    columns = [(part.typecode, list(part)) for part in rest if type(part) is not bytearray]
    octets = [list(part) for part in rest if type(part) is bytearray]
    with open(f"{folder}/{_MEMORY}", "w", encoding="ascii") as file:
        json.dump((looks, columns, octets), file)


def _plain(value: Any) -> Any:
    """Return a value as dicts, lists, strings and numbers, which JSON can express."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(entry) for entry in value]
    return value
