"""Runs the user's command in a copy of the program, and finds the run that it records."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from leakguard.errors import LeakguardError
from leakguard.fixing.outcome import Played
from leakguard.fixing.tree import Tree
from leakguard.model.report import Report
from leakguard.store.following import FollowedRun

_LOOK_SECONDS = 0.25  # seconds between two looks at a process, which may have run far enough
_STOP_SECONDS = 30  # seconds that a stopped program has to end by itself
_RUN_FILE = "leakguard-fix.jsonl"
_ERROR = re.compile(r"^[A-Za-z_][\w.]*(Error|Exception|Interrupt|Exit|Warning)\b")


@dataclass(frozen=True)
class UserCommand:
    """The command, and how far it runs.

    Attributes:
        words: the command as it was given.
        run: the file, below its folder, to which it writes the run; None if that is unknown.
        watched: True if the program does not know leakguard, so that ``leakguard run`` watches it.
        generations: stop after so many; None runs to the end.
        limit: stop after so many seconds.
        read: returns the report of a run.
    """

    words: tuple[str, ...]
    run: Path | None
    watched: bool
    generations: int | None
    limit: float
    read: Callable[[Path], Report]

    def played(self, tree: Tree) -> Played:
        """Run the command in a copy, in the way that leaves a run; the second way if need be."""
        for watched in (self.watched, not self.watched):
            words = _watched(self.words) if watched else self.words
            if words is None:
                continue
            played = self._once(tree, [tree.moved(word) for word in words])
            if played.report is not None or self.watched != watched or played.status:
                return played
        return played

    def _once(self, tree: Tree, words: Sequence[str]) -> Played:
        expected = tree.folder / (self.run or Path(_RUN_FILE))
        own = tree.folder / _RUN_FILE
        for old in (expected, own):
            if old.is_file():
                old.unlink()
        began = time.time() - 1
        out, err = tree.root.parent / "stdout", tree.root.parent / "stderr"
        with out.open("wb") as printed, err.open("wb") as said:
            try:
                process = subprocess.Popen(
                    words, cwd=tree.folder, env=environment_in(tree), stdin=subprocess.DEVNULL,
                    stdout=printed, stderr=said, start_new_session=True,
                )  # fmt: skip
            except OSError as error:
                return Played(None, 127, (), f"{words[0]}: {error.strerror}")
            try:
                stopped = self._wait(process, expected if self.run else own)
            finally:
                end_all(process)
        return Played(
            self._report(tree, expected, began),
            None if stopped else process.returncode,
            tuple(out.read_text("utf-8", "replace").splitlines()),
            _complaint(err.read_text("utf-8", "replace")),
        )

    def _wait(self, process: subprocess.Popen[bytes], run: Path) -> bool:
        """Wait for the end; return whether the process was stopped before."""
        end = time.monotonic() + self.limit
        followed = FollowedRun(run)
        while process.poll() is None:
            far = self.generations is not None and _generations(followed) >= self.generations
            if far or time.monotonic() > end:
                process.send_signal(signal.SIGINT)
                with suppress(subprocess.TimeoutExpired):
                    process.wait(_STOP_SECONDS)
                return True
            time.sleep(_LOOK_SECONDS)
        return False

    def _report(self, tree: Tree, expected: Path, began: float) -> Report | None:
        """Return the report of the run that was written; None without one."""
        for file in (expected, tree.folder / _RUN_FILE, *_written(tree.root, began)):
            if file.exists():
                with suppress(LeakguardError):
                    return self.read(file)
        return None


def _complaint(said: str) -> str:
    """Return the last line with an error, or else the last line."""
    lines = said.strip().splitlines() or [""]
    return next((line for line in reversed(lines) if _ERROR.match(line)), lines[-1].strip())


def _generations(followed: FollowedRun) -> int:
    try:
        followed.poll()
    except OSError:
        return 0
    runs = followed.runs()
    return runs[-1].generation_count if runs else 0


def _written(root: Path, began: float) -> Iterator[Path]:
    files = [f for f in root.rglob("*.jsonl") if f.is_file() and f.stat().st_mtime >= began]
    yield from sorted(files, key=lambda file: file.stat().st_mtime, reverse=True)


def _watched(words: Sequence[str]) -> tuple[str, ...] | None:
    """Return the command under ``leakguard run``; None if it starts no Python program itself."""
    run = ("-m", "leakguard", "run", "-o", _RUN_FILE)
    name = Path(words[0]).name
    if name.endswith(".py"):
        return (sys.executable, *run, *words)
    if not name.startswith("python") or "leakguard" in words[1:4]:
        return None
    flags = 1
    while flags < len(words) and words[flags].startswith("-") and words[flags] not in ("-m", "-c"):
        flags += 2 if words[flags] in ("-W", "-X") else 1
    return (*words[:flags], *run, *words[flags:]) if flags < len(words) else None


def end_all(process: subprocess.Popen[bytes]) -> None:
    """End what the command started and left running."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def environment_in(tree: Tree) -> dict[str, str]:
    """Return an environment in which modules of the copy take precedence over the originals."""
    places = [tree.root / "src", tree.root] if (tree.root / "src").is_dir() else [tree.root]
    inherited = [tree.moved(p) for p in os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    own = str(Path(__file__).parents[2])
    search = os.pathsep.join(filter(None, (*map(str, places), *inherited, own)))
    return {**os.environ, "PYTHONPATH": search, "PYTHONHASHSEED": "0"}
