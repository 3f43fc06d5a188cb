"""Ray: actors that watch themselves, and functions that Tune or Train runs.

In an actor, a generation is ``every`` calls of the actor's methods; in a function, it is a round of
your loop. Phases: the actor's public methods, by name. Each actor and each worker is a process of
its own. Therefore each writes its own run file into one folder, which ``leakguard report FOLDER``
reads.

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
    """Return a decorator for an actor's class, with which each actor watches its own process.

    Put the decorator below ``@ray.remote``. The run begins with the first call of the actor and
    ends with the actor's process. If an actor is killed, what it wrote before stays readable.

    Args:
        folder: the run directory into which each actor writes a file. A path means a folder on the
            machine of the actor. A URL (``s3://...``) or a ``RayFolder`` means one place for all
            machines.
        every: the number of calls in a generation. Calls of public methods from outside of the
            actor count, except methods that are generators, which are only phases.
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
    """Make the folder and return ``folder/name-<process id>.jsonl``, for ``LeakGuard(out=)``.

    Raises:
        OSError: the folder cannot be made.
    """
    path = Path(folder).resolve()  # Ray changes the working folder of trials
    path.mkdir(parents=True, exist_ok=True)
    return path / f"{name}-{os.getpid()}.jsonl"


class ReportedVitals:
    """A sink that keeps the numbers of the last generation, for reporting with your metrics."""

    def __init__(self) -> None:
        """Begin without numbers."""
        self.values: dict[str, float] = {}

    def write(self, vitals: Vitals) -> None:
        """Keep the numbers of this generation."""
        self.values = {f"leakguard/{name}": value for name, value in vitals.values.items()}

    def finish(self, report: Report) -> None:
        """Add the verdict as a number from 0 (stable) to 3 (leak)."""
        self.values["leakguard/verdict"] = SEVERITY[report.verdict]


def _followed(method: Callable[..., Any], follow: Callable[[], None]) -> Callable[..., Any]:
    """Return the method such that its calls are counted.

    A coroutine function stays one, because Ray treats these differently. Generators are returned
    unchanged.
    """
    if inspect.isgeneratorfunction(method) or inspect.isasyncgenfunction(method):
        return method

    def count() -> None:
        if not active.open_phases():  # otherwise another method called it
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
    """Count a call in this process; the first call starts the process's guard."""
    key = (os.getpid(), name)
    if key not in _loops:
        guard = LeakGuard(**{"name": name, **settings, **_place(folder, settings)})
        _loops[key] = (FrameworkLoop(guard, every), [0])
        _loops[key][0].begin()
    loop, calls = _loops[key]
    loop.step(calls[0])
    calls[0] += 1


def _end(name: str) -> None:
    """End the run of an actor before its process ends, while the run can still be sent."""
    loop, _ = _loops.pop((os.getpid(), name), (None, None))
    if loop is not None:
        loop.end()


def _place(folder: str | RayFolder, settings: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments that set where the guard writes, including the user's own sinks."""
    if isinstance(folder, RayFolder):
        place = folder.settings()
        return {**place, "sinks": (*place["sinks"], *settings.get("sinks", ()))}
    out = folder if "://" in folder else f"{Path(folder).resolve()}/"  # a run directory
    return {"out": settings.get("out", out)}
