"""Copies a growing run directory to an fsspec URL, in a separate process.

Object stores cannot append, so whole files are copied; the longer a copy takes, the longer the
pause after it. The process outlives its trainer, so the last lines of a killed trainer are copied,
too.

    python -m leakguard.store.remote_copy FOLDER URL
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, Any

from leakguard.errors import UsageError, install
from leakguard.model.secrets import without_secrets

_COPY_EVERY = 5.0  # the shortest time in seconds between two copies
_COPYING_SHARE = 0.05  # the largest share of the time that copying may take
_TRIES = 5  # tries of the last copy; before each, the wait is one second longer
# File systems in which a folder must exist before a file is written. Elsewhere the first part of a
# path is a bucket, which leakguard must not create.
_WITH_FOLDERS = frozenset({"file", "local", "sftp", "ssh", "smb", "hdfs", "webhdfs", "ftp"})
_LAST_COPY = 60.0  # seconds that a trainer at its end waits for the last copy


def file_system(url: str) -> tuple[Any, str]:
    """Return the file system of a URL and the path in it.

    Raises:
        UsageError: fsspec, or a package that such a URL needs, is not installed.
    """
    try:
        import fsspec

        return fsspec.url_to_fs(url)  # type: ignore[no-any-return]
    except ImportError as error:
        scheme = url.partition("://")[0]
        extra = {"gs": "gcs", "gcs": "gcs"}.get(scheme, "s3")
        lacking = without_secrets(f"{url} needs more packages ({error})")
        raise UsageError(f"{lacking}: {install(extra)}") from None
    except ValueError as error:
        raise UsageError(without_secrets(f"{url} cannot be used: {error}")) from None


def copy_changed(folder: Path, url: str, copied: dict[Path, int]) -> None:
    """Copy the files of ``folder`` whose size is not that in ``copied``, and store it there.

    Raises:
        Exception: whatever the file system raises; the files copied before are in ``copied``.
    """
    system, path = file_system(url)
    for file in sorted(folder.glob("*.jsonl")):
        content = file.read_bytes()
        if len(content) != copied.get(file):
            _put(system, f"{path.rstrip('/')}/{file.name}", content)
            copied[file] = len(content)


def _put(system: Any, path: str, content: bytes) -> None:
    try:
        system.pipe_file(path, content)
    except FileNotFoundError:
        names = system.protocol if isinstance(system.protocol, tuple) else (system.protocol,)
        if _WITH_FOLDERS.isdisjoint(names):
            raise
        system.makedirs(path.rpartition("/")[0], exist_ok=True)
        system.pipe_file(path, content)


class RemoteCopy:
    """The process that copies ``folder`` to ``url`` while a run is written.

    A ``memory://`` URL is in the memory of this process, so this process copies to it by itself.
    """

    def __init__(self, folder: Path, url: str) -> None:
        """Start copying.

        Raises:
            UsageError: the URL cannot be used here.
        """
        try:
            system, _ = file_system(url)
        except UsageError:
            shutil.rmtree(folder, ignore_errors=True)  # made for a run that will not start
            raise
        self._folder, self._url = folder, url
        self._copied: dict[Path, int] = {}
        in_here = "memory" in system.protocol
        self._process = None if in_here else self._begun()

    def _begun(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "leakguard.store.remote_copy", str(self._folder), self._url],
            stdin=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": _path_with_us()},
            start_new_session=True,  # Ctrl-C is meant for the trainer
        )

    def close(self) -> None:
        """Copy what is there, and wait until it has arrived."""
        if self._process is None:
            copy_changed(self._folder, self._url, self._copied)
            shutil.rmtree(self._folder, ignore_errors=True)
            return
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            self._process.communicate(b"end\n", timeout=_LAST_COPY)
            # A negative code means that a signal killed the copying process; the kernel, for
            # example, kills a process if memory runs out. A new process then makes the last copy.
            if self._process.returncode < 0:
                self._begun().communicate(b"end\n", timeout=_LAST_COPY)


def _path_with_us() -> str:
    own = str(Path(__file__).parents[2])
    return os.pathsep.join(filter(None, (own, os.environ.get("PYTHONPATH"))))


def follow(folder: Path, url: str, orders: IO[bytes]) -> int:
    """Copy until ``orders`` has data or is closed, then once more; return an exit status."""
    copied: dict[Path, int] = {}
    wait = _COPY_EVERY
    while not select.select([orders], [], [], wait)[0]:
        began = time.monotonic()
        with contextlib.suppress(Exception):  # the next copy includes what this one missed
            copy_changed(folder, url, copied)
        wait = max(_COPY_EVERY, (time.monotonic() - began) / _COPYING_SHARE)
    return _last_copy(folder, url, copied)


def _last_copy(folder: Path, url: str, copied: dict[Path, int]) -> int:
    for wait in range(_TRIES):
        time.sleep(wait)
        try:
            copy_changed(folder, url, copied)
        except Exception as error:
            problem = error
        else:
            shutil.rmtree(folder, ignore_errors=True)
            return 0
    told = without_secrets(f"{url}: {problem}")
    print(f"leakguard: {told}; the run is in {folder}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(follow(Path(sys.argv[1]), sys.argv[2], sys.stdin.buffer))
