"""The facts of a run that do not change while it lasts."""

from __future__ import annotations

import datetime
import os
import platform
import shlex
import sys

from leakguard.capture.process import memory_limit
from leakguard.model import RunInfo

_NAMED_PACKAGES = ("torch", "numpy", "gymnasium", "ray", "lightning", "transformers", "jax")


def run_facts(
    name: str | None, large_object: int, max_overhead: float | None, ignore: tuple[str, ...]
) -> RunInfo:
    """Describe this process; versions are given of packages that the program has imported."""
    return RunInfo(
        source="guard",
        name=name,
        started=datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        command=shlex.join(sys.orig_argv),
        pid=os.getpid(),
        rank=_rank(),
        python=platform.python_version(),
        platform=platform.platform(),
        packages=_loaded_versions(),
        memory_limit=memory_limit(),
        large_object=large_object,
        max_overhead=max_overhead,
        ignore=ignore,
    )


def _rank() -> int | None:
    text = os.environ.get("RANK", "")
    return int(text) if text.isdigit() else None


def _loaded_versions() -> dict[str, str]:
    loaded = ((name, sys.modules.get(name)) for name in _NAMED_PACKAGES)
    versions = ((name, getattr(module, "__version__", None)) for name, module in loaded)
    return {name: str(version) for name, version in versions if version is not None}
