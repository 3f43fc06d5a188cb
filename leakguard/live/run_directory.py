"""A run directory: each process of a job writes its own file."""

from __future__ import annotations

import os
import re
import socket
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from leakguard.errors import UsageError, shown
from leakguard.model.secrets import without_secrets
from leakguard.store import is_url

#: Environment variable that names the run directory of a job, for all processes that inherit it.
JOB_VARIABLE = "LEAKGUARD_JOB"
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")
_LONGEST_FILE_NAME = 60  # characters of one part of a file name


@dataclass(frozen=True, slots=True)
class Identity:
    """Which process of a job this is.

    Attributes:
        rank, local_rank, world_size: what a launcher such as ``torchrun`` put into the environment.
        role: the user's name for the guard, or the kind of this process: ``SpawnProcess-1``,
            ``loader0`` of a DataLoader, ``actor-5f0c31a2`` of Ray; None for a main process.
    """

    rank: int | None
    local_rank: int | None
    world_size: int | None
    role: str | None
    host: str
    pid: int

    @property
    def file_name(self) -> str:
        """A name that is unique in the job: rank and role for people, host and pid."""
        rank = None if self.rank is None else f"rank{self.rank}"
        words = [word for word in (rank, self.role) if word]
        parts = (*(words or ["main"]), self.host, str(self.pid))
        return "-".join(_UNSAFE.sub("_", part)[:_LONGEST_FILE_NAME] for part in parts) + ".jsonl"


@dataclass(frozen=True, slots=True)
class RunDirectory:
    """Where the processes of a job write: a folder, or a URL that fsspec supports."""

    place: str

    @property
    def is_remote(self) -> bool:
        """True if the directory is not on this machine."""
        return is_url(self.place)

    @property
    def job(self) -> str:
        """The job's name in reports: the last part of the directory."""
        return self.place.rstrip("/").rpartition("/")[2] or "job"

    def file_of(self, name: str) -> tuple[Path, str | None]:
        """Return the file that this process writes, and the URL for its copy or None."""
        if not self.is_remote:
            return Path(self.place) / name, None
        own = Path(tempfile.mkdtemp(prefix="leakguard-run-"))
        return own / name, f"{self.place.rstrip('/')}/{name}"


def job_of_environment(environment: Mapping[str, str] = os.environ) -> str | None:
    """Return the run directory that ``LEAKGUARD_JOB`` names, absolute; None if it names none."""
    place = environment.get(JOB_VARIABLE, "").strip()
    if not place or is_url(place):
        return place or None
    return f"{os.path.abspath(place)}/"  # noqa: PTH100 - links stay as the user names them


def run_directory(out: str | os.PathLike[str] | None) -> RunDirectory | None:
    """Return the run directory that ``out`` denotes; None if ``out`` is one file or None.

    A directory is a URL, a path that ends with a slash, or an existing folder.

    Raises:
        UsageError: a URL names a single file.
    """
    try:
        text = None if out is None else os.fspath(out)
    except Exception:  # not a path, or an instance of the caller's class that fails
        return None
    if not isinstance(text, str) or "\0" in text:
        return None
    if is_url(text):
        if text.endswith(".jsonl"):
            url = shown(without_secrets(text))
            raise UsageError(f"out={url} is one file; give the URL of a directory")
        return RunDirectory(text)
    is_folder = text.endswith(("/", os.sep)) or _is_folder(Path(text))
    return RunDirectory(str(Path(text).absolute())) if is_folder else None


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # an impossible file name; opening it will report that
        return False


def identity(name: str | None = None, environment: Mapping[str, str] = os.environ) -> Identity:
    """Return which process of a job this is; ``name`` is the user's name for the guard."""
    return Identity(
        rank=_number_in(environment, "RANK"),
        local_rank=_number_in(environment, "LOCAL_RANK"),
        world_size=_number_in(environment, "WORLD_SIZE"),
        role=name or _loader() or _actor() or _child(),
        host=socket.gethostname(),
        pid=os.getpid(),
    )


def _number_in(environment: Mapping[str, str], name: str) -> int | None:
    text = environment.get(name, "")
    return int(text) if text.isascii() and text.isdigit() else None


def _loader() -> str | None:
    """Return the role of a torch DataLoader worker; torch is used only if already imported."""
    data = sys.modules.get("torch.utils.data")
    worker = data.get_worker_info() if data is not None else None
    return None if worker is None else f"loader{worker.id}"


def _actor() -> str | None:
    """Return the role of a Ray actor: its name, or its id if it has none."""
    ray = sys.modules.get("ray")
    try:
        if ray is None or not ray.is_initialized():
            return None
        context = ray.get_runtime_context()
        actor = context.get_actor_id()
        return None if actor is None else context.get_actor_name() or f"actor-{actor[:8]}"
    except Exception:  # in another version of Ray, the process keeps the name that its parent gave
        return None


def _child() -> str | None:
    """Return the name that multiprocessing's parent gave to this child."""
    module = sys.modules.get("multiprocessing.process")
    if module is None or module.parent_process() is None:
        return None
    return str(module.current_process().name)
