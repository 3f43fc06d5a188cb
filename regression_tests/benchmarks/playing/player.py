"""Plays programs once each, and keeps beside each run how its playing went."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from itertools import chain, zip_longest
from pathlib import Path

from regression_tests.benchmarks.playing.ended import Ended, ended
from regression_tests.benchmarks.playing.entry import ROOT, Entry, Unplayable

#: Seconds that a program may take: twenty times what most take on a quiet core.
PATIENCE = 900.0
#: The guard shares a core with its program, as on a busy machine; more threads wait for each other.
ENVIRONMENT = {
    "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
    "MPLBACKEND": "Agg", "PYTHONHASHSEED": "0", "CUDA_VISIBLE_DEVICES": "",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Playing:
    """How one playing went.

    Attributes:
        failure: why there is no run.
        unplayable: whether that is since something is missing here.
        checkout: the one that was played.
    """

    key: str
    seconds: float = 0.0
    failure: str | None = None
    checkout: str = str(ROOT)
    unplayable: bool = False


@dataclass(frozen=True, slots=True)
class Player:
    """Plays into a folder: ``SET/NAME.jsonl``, or a folder ``SET/NAME`` where a run has several.

    What a program printed is ``SET/NAME.txt``.

    Attributes:
        jobs: programs at a time.
        patience: seconds for one.
    """

    folder: Path
    jobs: int = 2
    patience: float = PATIENCE

    def play(self, entries: Iterable[Entry]) -> Iterator[Playing]:
        """Play what the folder doesn't hold yet, a program of each set in turn."""
        with ThreadPoolExecutor(self.jobs) as pool:
            yield from pool.map(self._known_or_played, in_turn(entries))

    def known(self, entry: Entry) -> Playing | None:
        """Return how a program was played; None where it wasn't yet."""
        note = self._note(entry)
        if not note.exists():
            return None
        return Playing(**json.loads(note.read_text(encoding="utf-8")))

    def run_of(self, entry: Entry) -> Path | None:
        """Return the run file, or the folder of run files, of a program; None without one."""
        found = (self._place(entry, ".jsonl"), self._place(entry, ""))
        return next((path for path in found if path.exists()), None)

    def printed(self, entry: Entry) -> str:
        """Return what a program printed."""
        return self._place(entry, ".txt").read_text(encoding="utf-8")

    def _known_or_played(self, entry: Entry) -> Playing:
        known = self.known(entry)
        if known is None:
            known = self._played(entry)
            self._note(entry).write_text(json.dumps(asdict(known)) + "\n", encoding="utf-8")
        return known

    def _played(self, entry: Entry) -> Playing:
        out = self._place(entry, ".jsonl")
        out.parent.mkdir(parents=True, exist_ok=True)
        out.unlink(missing_ok=True)
        shutil.rmtree(out.with_suffix(""), ignore_errors=True)
        begun = time.monotonic()
        with tempfile.TemporaryDirectory() as here:
            for name, text in entry.files.items():
                (Path(here) / name).write_text(text, encoding="utf-8")
            try:
                end = self._ended(entry, out, Path(here))
            except Unplayable as reason:
                return Playing(entry.key, failure=str(reason), unplayable=True)
            _take(Path(here), entry.written, out)
        out.with_suffix(".txt").write_text(end.out + end.err, encoding="utf-8")
        failure = None if entry.ends and entry.ends in (end.failure or "") else end.failure
        missing = entry.recorded and self.run_of(entry) is None
        seconds = round(time.monotonic() - begun, 1)
        return Playing(entry.key, seconds, failure or ("it wrote no run" if missing else None))

    def _ended(self, entry: Entry, out: Path, here: Path) -> Ended:
        command, variables = entry.told(out)
        return ended(command, self.patience, folder=here, variables=ENVIRONMENT | variables)

    def _note(self, entry: Entry) -> Path:
        note = self._place(entry, ".json")
        note.parent.mkdir(parents=True, exist_ok=True)
        return note

    def _place(self, entry: Entry, suffix: str) -> Path:
        return self.folder.absolute() / entry.group / f"{entry.name}{suffix}"


def in_turn(entries: Iterable[Entry]) -> Iterator[Entry]:
    """Yield one of each set, again and again: what was played so far is a sample of all."""
    groups: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        groups[entry.group].append(entry)
    return filter(None, chain.from_iterable(zip_longest(*groups.values())))


def _take(here: Path, patterns: Iterable[str], out: Path) -> None:
    """Move what a program wrote in its working folder to where the player wants it."""
    for written in (path for pattern in patterns for path in here.glob(pattern)):
        target = out.with_suffix("") if written.is_dir() else out
        shutil.rmtree(out.with_suffix(""), ignore_errors=True)
        shutil.move(written, target)
        return


def told(playing: Playing) -> None:
    """Print how a playing went."""
    end = playing.failure or "played"
    print(f"{playing.key}: {end}, {playing.seconds:.0f} s", file=sys.stderr, flush=True)
