"""The facts of a run that do not change while it lasts."""

from __future__ import annotations

import datetime
import platform
import sys

from leakguard.capture.outside import was_forked
from leakguard.capture.process import memory_limit
from leakguard.live.run_directory import RunDirectory, identity
from leakguard.model import RunInfo
from leakguard.model.secrets import command_line

_NAMED_PACKAGES = ("torch", "numpy", "gymnasium", "ray", "lightning", "transformers", "jax")


def run_facts(
    name: str | None,
    large_object: int,
    max_overhead: float | None,
    ignore: tuple[str, ...],
    directory: RunDirectory | None = None,
) -> RunInfo:
    """Describe this process; versions are given of packages that the program has imported."""
    who = identity(name)
    return RunInfo(
        source="guard",
        name=name,
        started=_now("seconds" if directory is None else "milliseconds"),
        command=command_line(sys.orig_argv),
        pid=who.pid,
        rank=who.rank,
        python=platform.python_version(),
        platform=platform.platform(),
        packages=_loaded_versions(),
        memory_limit=memory_limit(),
        large_object=large_object,
        max_overhead=max_overhead,
        ignore=ignore,
        job=None if directory is None else directory.job,
        host=who.host,
        role=who.role,
        local_rank=who.local_rank,
        world_size=who.world_size,
        forked=was_forked(),
    )


def _now(precision: str) -> str:
    """Return the time; among processes of a job it says which run is the restart of which."""
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec=precision)


def _loaded_versions() -> dict[str, str]:
    """Return them as the modules' own dicts have them: a lazy module is not asked."""
    loaded = ((name, sys.modules.get(name)) for name in _NAMED_PACKAGES)
    dicts = ((name, getattr(module, "__dict__", None)) for name, module in loaded)
    versions = ((name, own.get("__version__")) for name, own in dicts if type(own) is dict)
    return {name: str(version) for name, version in versions if isinstance(version, str)}
