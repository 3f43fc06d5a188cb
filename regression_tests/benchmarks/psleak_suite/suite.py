"""psleak's source release: fetched from the package registry, its test extension built."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from regression_tests.benchmarks.packages.environment import (
    Environment,
    Unbuildable,
    environment,
    home,
)

RELEASE = "psleak==0.1.6"
_NEEDS = ("psutil>=7.2", "pytest", "setuptools>=77")
_PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"


@dataclass(frozen=True, slots=True)
class Suite:
    """An unpacked release with its extension built, and where it runs.

    Attributes:
        source: folder of psleak.py and of the package ``tests``.
        built: folder of the built extension ``test_ext``.
    """

    source: Path
    built: Path
    environment: Environment

    def child(self, *arguments: str) -> list[str]:
        """Return the command that runs ``child.py`` beside the suite."""
        paths = (str(self.source), str(self.built))
        return self.environment.module(f"{__package__}.child", *paths, *arguments)


def obtain() -> Suite:
    """Return the suite, ready to run.

    Raises:
        Unbuildable: the release cannot be fetched, or does not compile.
    """
    source = _release()
    where = environment(_PYTHON, _NEEDS)
    built = home() / "psleak" / f"built-{_PYTHON}"
    command = [where.python, "tests/build_ext.py", "build_ext", "--build-lib", str(built),
               "--build-temp", str(built / "temporary")]  # fmt: skip
    _run(command, source)
    return Suite(source, built, where)


def _release() -> Path:
    folder = home() / "psleak"
    source = folder / RELEASE.replace("==", "-")
    if not source.exists():
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps",
                   "--no-binary", ":all:", RELEASE, "-d", str(folder)]  # fmt: skip
        folder.mkdir(parents=True, exist_ok=True)
        _run(command, folder)
        with tarfile.open(folder / f"{source.name}.tar.gz") as packed:
            packed.extractall(folder, filter="data")
    return source


def _run(command: Sequence[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise Unbuildable(f"{' '.join(command)}: {done.stderr.strip()[-300:]}")
