"""Gathers the runs of a Ray cluster without a shared file system, through Ray itself.

Each process writes its run file on its own machine. After each generation it sends the new lines to
an actor on the machine of the driver, and this actor writes them into the folder. If a process is
killed, what it has sent is kept.

Example::

    runs = RayFolder("runs/pool")                       # in the driver, after ray.init()

    @ray.remote
    @watched_actor(runs, every=20)
    class RolloutWorker: ...

    runs.end(workers)                                   # before the workers end

    def train_loop_per_worker(config):                  # for TorchTrainer; runs in the config
        with LeakGuard(**config["runs"].settings()) as guard: ...
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterable
from io import FileIO
from pathlib import Path
from typing import Any

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from leakguard.model import Report
from leakguard.model.vitals import Vitals
from leakguard.store.run_lock import open_run_file, write_all

_LAST_GATHERING = 10.0  # seconds that an ending actor waits for its last lines to arrive
_LOOK_AROUND = 5.0  # seconds at least between two checks for dead writers


class RayFolder:
    """A run directory on the driver's machine for processes on any node; can be pickled by Ray."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        """Make the folder, and the actor on this node that writes into the folder.

        Raises:
            OSError: the folder cannot be made.
        """
        path = Path(folder).resolve()
        path.mkdir(parents=True, exist_ok=True)
        here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
        files: Any = ray.remote(_Files)
        self._files = files.options(num_cpus=0, scheduling_strategy=here).remote(os.fspath(path))

    def settings(self) -> dict[str, Any]:
        """Return the arguments of a ``LeakGuard`` in this process that make it use the folder."""
        folder = Path(tempfile.mkdtemp(prefix="leakguard-"))
        return {"out": f"{folder}/", "sinks": (_Sender(self._files, folder),)}

    def end(self, actors: Iterable[Any], timeout: float = 60.0) -> tuple[str, ...]:
        """End the runs of watched actors, and return the names of all files.

        Call this before the actors end. The run of an actor that ended otherwise, or was killed, is
        kept up to its last generation, and is reported as a run whose process is gone. The same
        holds for an actor that does not answer within ``timeout`` seconds, until it writes again.
        """
        answers = [actor.leakguard_end.remote() for actor in actors]
        if answers:
            ray.wait(answers, num_returns=len(answers), timeout=timeout)
        ray.get(self._files.release.remote())
        return self.arrived()

    def arrived(self) -> tuple[str, ...]:
        """Return the names of the files, after everything that has arrived so far is written."""
        names: tuple[str, ...] = ray.get(self._files.names.remote())
        return names


class _Files:
    """The actor that writes into the folder; a file is locked while its writer may continue."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)
        self._open: dict[str, FileIO] = {}
        self._writers: dict[str, str | None] = {}
        self._looked = time.monotonic()

    def write(
        self, name: str, begin: int, text: bytes, *, last: bool, writer: str | None = None
    ) -> None:
        """Write ``text`` at the offset ``begin`` of a file, and cut off what follows.

        ``begin`` is 0 if the writer has thinned its file. ``last`` closes the file. ``writer`` is
        the id of the actor that sends the text; None if the sender is no actor.
        """
        self._writers[name] = writer
        if time.monotonic() - self._looked >= _LOOK_AROUND:
            self._let_go_of_the_dead()
        file = self._open.get(name)
        if file is None:
            file = self._open[name] = open_run_file(self._folder / name)
        os.ftruncate(file.fileno(), begin)
        write_all(file, text)
        if last:
            self._open.pop(name).close()

    def release(self) -> None:
        """Close all files that are still open; if a writer continues, its file is opened again."""
        while self._open:
            self._open.popitem()[1].close()

    def names(self) -> tuple[str, ...]:
        """Return the names of all files so far."""
        self._let_go_of_the_dead()
        return tuple(sorted(self._writers))

    def _let_go_of_the_dead(self) -> None:
        """Close the files of dead actors, because a locked file means that its writer is alive."""
        self._looked = time.monotonic()
        for name in [name for name in self._open if _is_dead(self._writers[name])]:
            self._open.pop(name).close()


def _is_dead(actor: str | None) -> bool:
    """Return whether an actor is dead according to the cluster.

    The cluster is asked by id, because a handle of the actor would keep the actor alive.
    """
    try:
        from ray._private.state import actors  # the public function needs the dashboard

        return actor is not None and actors(actor).get("State") == "DEAD"
    except Exception:  # other versions of Ray may have this function elsewhere
        return False


class _Sender:
    """A sink that sends the new part of a run file, without waiting for an answer."""

    def __init__(self, files: Any, folder: Path) -> None:
        self._files = files
        self._folder = folder
        self._sent = 0

    def write(self, vitals: Vitals) -> None:
        """Send the lines up to this generation."""
        self._send(last=False)

    def finish(self, report: Report) -> None:
        """Send the rest of a run that has ended, and delete the local run file."""
        ray.wait(self._send(last=True), timeout=_LAST_GATHERING)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _send(self, *, last: bool) -> list[Any]:
        answers = []
        for path in self._folder.glob("*.jsonl"):
            with path.open("rb") as file:
                begin = self._sent if self._sent <= os.fstat(file.fileno()).st_size else 0
                file.seek(begin)
                text = file.read()
            writer = ray.get_runtime_context().get_actor_id()
            answers.append(
                self._files.write.remote(path.name, begin, text, last=last, writer=writer)
            )
            self._sent = begin + len(text)
        return answers
