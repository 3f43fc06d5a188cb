"""Ranks of a Ray cluster that share no file system: their runs are gathered through Ray itself.

Each process writes its run file where it is, and after each generation sends what is new to an
actor on the machine of the driver, which has the folder. What was sent outlives a process that is
killed.

Example::

    runs = RayFolder("runs/pool")                       # in the driver, after ray.init()

    @ray.remote
    @watched_actor(runs, every=20)
    class RolloutWorker: ...

    runs.end(workers)                                   # before they end

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

_LAST_GATHERING = 10.0  # seconds that an actor which ends waits for its last lines to arrive
_LOOK_AROUND = 5.0  # seconds at least from one question which writers are dead to the next


class RayFolder:
    """A run directory of the driver's machine for processes on any node; Ray can pickle it."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        """Make the folder, and the actor on this node that writes there.

        Raises:
            OSError: the folder cannot be made.
        """
        path = Path(folder).resolve()
        path.mkdir(parents=True, exist_ok=True)
        here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
        files: Any = ray.remote(_Files)
        self._files = files.options(num_cpus=0, scheduling_strategy=here).remote(os.fspath(path))

    def settings(self) -> dict[str, Any]:
        """Return the arguments with which a ``LeakGuard`` in this process writes to the folder."""
        folder = Path(tempfile.mkdtemp(prefix="leakguard-"))
        return {"out": f"{folder}/", "sinks": (_Sender(self._files, folder),)}

    def end(self, actors: Iterable[Any], timeout: float = 60.0) -> tuple[str, ...]:
        """End the runs of watched actors before they end, and return the names of all files.

        An actor that ends without it, or is killed, leaves its last generation behind, and its run
        is told as one whose process is gone, while the others go on too; one that does not answer
        within ``timeout`` seconds likewise, until it writes again.
        """
        answers = [actor.leakguard_end.remote() for actor in actors]
        if answers:
            ray.wait(answers, num_returns=len(answers), timeout=timeout)
        ray.get(self._files.release.remote())
        return self.arrived()

    def arrived(self) -> tuple[str, ...]:
        """Return the names of the files once all that has come in by now is written."""
        names: tuple[str, ...] = ray.get(self._files.names.remote())
        return names


class _Files:
    """The actor that has the folder; files are locked while their writers may go on."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)
        self._open: dict[str, FileIO] = {}
        self._writers: dict[str, str | None] = {}
        self._looked = time.monotonic()

    def write(
        self, name: str, begin: int, text: bytes, *, last: bool, writer: str | None = None
    ) -> None:
        """Let a file go on at ``begin`` with ``text``: a file that was thinned begins anew.

        ``writer`` is the id of the actor that sends it, if one does.
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
        """Let go of the files that nobody has ended; one whose writer goes on is opened again."""
        while self._open:
            self._open.popitem()[1].close()

    def names(self) -> tuple[str, ...]:
        """Return the names of all files so far."""
        self._let_go_of_the_dead()
        return tuple(sorted(self._writers))

    def _let_go_of_the_dead(self) -> None:
        """Release the files of actors that were killed: a file that is locked has a writer."""
        self._looked = time.monotonic()
        for name in [name for name in self._open if _is_dead(self._writers[name])]:
            self._open.pop(name).close()


def _is_dead(actor: str | None) -> bool:
    """Return whether the cluster says that an actor is; a handle of it would keep it alive."""
    try:
        from ray._private.state import actors  # the public one needs the dashboard

        return actor is not None and actors(actor).get("State") == "DEAD"
    except Exception:  # a version of Ray that has it elsewhere
        return False


class _Sender:
    """A sink that sends what a run file has gained; nobody waits for an answer."""

    def __init__(self, files: Any, folder: Path) -> None:
        self._files = files
        self._folder = folder
        self._sent = 0

    def write(self, vitals: Vitals) -> None:
        """Send the lines up to this generation."""
        self._send(last=False)

    def finish(self, report: Report) -> None:
        """Send the rest of a run that is over, and delete it here."""
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
