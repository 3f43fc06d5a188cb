"""``memory.events`` of a control group (Kubernetes, Docker, systemd), and the files next to it."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path

from leakguard.model import Run
from leakguard.store.curves.curve import Point, curve_run

_EVENTS = ("low", "high", "max", "oom", "oom_kill")
_KEYS = frozenset((*_EVENTS, "oom_group_kill"))


def is_mine(path: Path, start: bytes) -> bool:
    """Return whether a file counts the memory events of a control group."""
    words = start.split()
    names = {word.decode("ascii", "replace") for word in words[::2]}
    return "oom_kill" in names and names <= _KEYS and all(word.isdigit() for word in words[1::2])


def read(path: Path) -> list[Run]:
    """Read the events, and the memory that the group holds now if those files are there, too."""
    events = dict(zip(*[iter(path.read_text("ascii").split())] * 2, strict=False))
    amounts = {name: _amount(path.with_name(f"memory.{name}")) for name in ("current", "peak")}
    metrics = {
        metric: amount
        for metric, amount in (("rss", amounts["current"]), ("rss_high_water", amounts["peak"]))
        if amount is not None
    }
    (run,) = curve_run(path, [Point(metrics)], "the memory events of a control group")
    limit = _amount(path.with_name("memory.max"))
    info = replace(run.info, memory_limit=limit)
    return [replace(run, info=info, notes=(_memory_events(events), *run.notes[:1]))]


def _memory_events(events: dict[str, str]) -> str:
    killed, full = int(events.get("oom_kill", 0)), int(events.get("max", 0))
    if killed:
        times = "process" if killed == 1 else "processes"
        return f"the kernel killed {killed} {times} of the group because its memory was full"
    if full:
        return f"the group ran into its limit {full} times, and nothing was killed"
    return "the group never ran into its limit"


def _amount(path: Path) -> int | None:
    with contextlib.suppress(OSError, ValueError):
        return int(path.read_text("ascii"))
    return None
