"""Ray: actors that watch themselves, and functions that Tune or Train runs.

A generation is ``every`` calls of an actor's methods; in a function it is a round of your loop.
Phases: the actor's public methods, by name. Each actor and each worker is a process, so each writes
a run file of its own into one folder, which ``leakguard report FOLDER`` reads.

Example::

    @ray.remote
    @watched_actor("runs/pool", every=20)
    class RolloutWorker:
        def rollout(self, weights): ...

    def train_function(config):                         # for tune.Tuner or TorchTrainer
        memory = ReportedVitals()
        with LeakGuard(out=process_file("runs/tune", "trial"), sinks=[memory]) as guard:
            for epoch in guard.generations(50):
                ...
                tune.report({"loss": loss, **memory.values})
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from leakguard.guard import LeakGuard
from leakguard.integrations.framework_loop import FrameworkLoop, checked_every
from leakguard.integrations.ray_folder import RayFolder
from leakguard.live import active
from leakguard.model import Report
from leakguard.model.finding import SEVERITY
from leakguard.model.vitals import Vitals
from leakguard.phase import phase

T = TypeVar("T", bound=type)

_loops: dict[tuple[int, str], tuple[FrameworkLoop, list[int]]] = {}


def watched_actor(
    folder: str | os.PathLike[str] | RayFolder, every: int = 20, **settings: Any
) -> Callable[[T], T]:
    """Return a decorator for an actor's class: each actor watches its own process.

    The run begins with the actor's first call and ends with its process; what was written before
    an actor is killed stays readable. Put it below ``@ray.remote``.

    Args:
        folder: the run directory in which each actor has a file; on another machine it is a folder
            there. A URL (``s3://...``) or a ``RayFolder`` is the same one for all machines.
        every: calls of public methods from outside that make a generation; those that are
            generators are phases and not counted.
        settings: further arguments of ``LeakGuard``.

    Raises:
        UsageError: ``every`` is no number of calls.
    """
    checked_every(every)
    place = folder if isinstance(folder, RayFolder) else os.fspath(folder)

    def watched(kind: T) -> T:
        for name, method in list(vars(kind).items()):
            if inspect.isfunction(method) and not name.startswith("_"):
                follow = functools.partial(_follow, kind.__name__, place, every, settings)
                setattr(kind, name, _followed(phase(name)(method), follow))
        kind.leakguard_end = lambda self: _end(kind.__name__)  # type: ignore[attr-defined]
        return kind

    return watched


def process_file(folder: str | os.PathLike[str], name: str) -> Path:
    """Return ``folder/name-<process number>.jsonl``, and make the folder: for ``LeakGuard(out=)``.

    Raises:
        OSError: the folder cannot be made.
    """
    path = Path(folder).resolve()  # Ray gives trials a folder of their own to run in
    path.mkdir(parents=True, exist_ok=True)
    return path / f"{name}-{os.getpid()}.jsonl"


class ReportedVitals:
    """A sink that keeps the numbers of the last generation, to be reported with your metrics."""

    def __init__(self) -> None:
        """Begin without any."""
        self.values: dict[str, float] = {}

    def write(self, vitals: Vitals) -> None:
        """Keep the numbers of this generation."""
        self.values = {f"leakguard/{name}": value for name, value in vitals.values.items()}

    def finish(self, report: Report) -> None:
        """Add the verdict, 0 stable to 3 leak."""
        self.values["leakguard/verdict"] = SEVERITY[report.verdict]


def _followed(method: Callable[..., Any], follow: Callable[[], None]) -> Callable[..., Any]:
    """Return a method that is counted, of its own kind: Ray asks whether it is a coroutine."""
    if inspect.isgeneratorfunction(method) or inspect.isasyncgenfunction(method):
        return method

    def count() -> None:
        if not active.open_phases():  # else it is called by another method of the actor
            follow()

    @functools.wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        count()
        return method(*args, **kwargs)

    @functools.wraps(method)
    async def call_async(*args: Any, **kwargs: Any) -> Any:
        count()
        return await method(*args, **kwargs)

    return call_async if inspect.iscoroutinefunction(method) else call


def _follow(name: str, folder: str | RayFolder, every: int, settings: dict[str, Any]) -> None:
    """Count a call in this process, whose guard begins with the first."""
    key = (os.getpid(), name)
    if key not in _loops:
        guard = LeakGuard(**{"name": name, **settings, **_place(folder, settings)})
        _loops[key] = (FrameworkLoop(guard, every), [0])
        _loops[key][0].begin()
    loop, calls = _loops[key]
    loop.step(calls[0])
    calls[0] += 1


def _end(name: str) -> None:
    """End the run of an actor: what ends with the process cannot be sent any more."""
    loop, _ = _loops.pop((os.getpid(), name), (None, None))
    if loop is not None:
        loop.end()


def _place(folder: str | RayFolder, settings: dict[str, Any]) -> dict[str, Any]:
    """Return where the guard of this process writes, with the sinks that the user has given."""
    if isinstance(folder, RayFolder):
        place = folder.settings()
        return {**place, "sinks": (*place["sinks"], *settings.get("sinks", ()))}
    out = folder if "://" in folder else f"{Path(folder).resolve()}/"  # a run directory
    return {"out": settings.get("out", out)}
