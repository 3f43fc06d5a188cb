"""Virtual environments outside of the checkout, and this checkout's leakguard beside them."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

CHECKOUT = Path(__file__).parents[3]
SOURCES = ("leakguard", "pyproject.toml", "README.md", "LICENSE", "MANIFEST.in")

#: Puts leakguard and the checkout *behind* the environment's own packages, so that the versions
#: under test win, and runs a module of the checkout.
_BOOT = (
    "import runpy, sys; sys.path[0:1] = []; sys.path += sys.argv.pop(1).split(':'); "
    "runpy.run_module(sys.argv.pop(1), run_name='__main__', alter_sys=True)"
)


class Unbuildable(Exception):
    """An environment cannot be made; the text says which one, and why."""


def home() -> Path:
    """Return the folder of all environments, ``$LEAKGUARD_BENCHMARKS`` or one in the user's cache.

    Removing it is always safe; it is made anew.
    """
    cache_folder = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    chosen = os.environ.get("LEAKGUARD_BENCHMARKS")
    return Path(chosen) if chosen else Path(cache_folder) / "leakguard-benchmarks"


@dataclass(frozen=True, slots=True)
class Environment:
    """A virtual environment with some packages, and the leakguard that watches them."""

    folder: Path
    leakguard: Path

    @property
    def python(self) -> str:
        """Path of the environment's interpreter."""
        return str(self.folder / "bin" / "python")

    def module(self, name: str, *arguments: str) -> list[str]:
        """Return the command that runs a module of the checkout in this environment."""
        return [self.python, "-c", _BOOT, f"{self.leakguard}:{CHECKOUT}", name, *arguments]


def environment(version: str, requirements: Sequence[str]) -> Environment:
    """Return an environment of that CPython with the requirements, making it where it is missing.

    Raises:
        Unbuildable: the interpreter is missing or pip fails.
    """
    label = re.sub(r"[^\w.=-]", "_", requirements[0] if requirements else "empty")
    folder = home() / "environments" / f"{version}-{label}-{_digest(requirements)}"
    with _locked(folder):
        if not (folder / ".ready").exists():
            shutil.rmtree(folder, ignore_errors=True)
            _run([interpreter(version), "-m", "venv", "--without-pip", str(folder)])
            _pip(folder, "install", *requirements)
            (folder / ".ready").touch()
    return Environment(folder, leakguard_for(version))


@cache
def leakguard_for(version: str) -> Path:
    """Return a folder with this checkout's leakguard, installed now, and what it depends on.

    memray is with it, as its reports on native memory advise: who leaks memory that is no object's
    can be named by nothing else.
    """
    asked = (str(CHECKOUT), (CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))
    folder = home() / "leakguard" / f"{version}-{_digest(asked)}"
    with _locked(folder):
        if not (folder / ".ready").exists():
            shutil.rmtree(folder, ignore_errors=True)
            _run([interpreter(version), "-m", "venv", "--without-pip", str(folder)])
            _install_checkout(folder, "--upgrade")
            (folder / ".ready").touch()
        else:
            _install_checkout(folder, "--force-reinstall", "--no-deps")
    return next((folder / "lib").glob("python*/site-packages"))


def _install_checkout(folder: Path, *options: str) -> None:
    """Install a copy of the sources: building in place would find what an older build has left."""
    copy = folder / "checkout"
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir()
    for name in SOURCES:
        source = CHECKOUT / name
        if source.is_dir():
            ignored = shutil.ignore_patterns("*.so", "__pycache__")
            shutil.copytree(source, copy / name, ignore=ignored)
        else:
            shutil.copy(source, copy / name)
    _pip(folder, "install", *options, f"{copy}[memray]")


def _digest(texts: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:8]


@cache
def interpreter(version: str) -> str:
    """Return the path of a CPython such as ``3.11``, this process's own where it is that one.

    Raises:
        Unbuildable: there is none on the path.
    """
    if version == f"{sys.version_info.major}.{sys.version_info.minor}":
        return str(Path(sys.base_prefix) / "bin" / f"python{version}")
    known = shutil.which(f"python{version}")
    asked = None if known is None else _answer([known, "-c", "import sys; print(sys.executable)"])
    if not asked:
        raise Unbuildable(f"there is no python{version} on the path: install it, or leave it out")
    return asked


def _answer(command: Sequence[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True).stdout.strip()


def _pip(folder: Path, *arguments: str) -> None:
    """Run this process's pip on an environment: one pip and one cache for all of them."""
    python = str(folder / "bin" / "python")
    quiet = ("--quiet", "--disable-pip-version-check", "--no-input")
    _run([sys.executable, "-m", "pip", "--python", python, *arguments, *quiet])


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        raise Unbuildable(f"{' '.join(command)}: {lines[-1] if lines else done.returncode}")


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Keep other processes from making the same environment at the same time."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(folder.with_name(folder.name + ".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
