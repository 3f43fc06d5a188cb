"""Plays what is not recorded yet, and keeps beside each run how its playing went."""

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

from regression_tests.benchmarks.playing import failure_of
from regression_tests.corpus.entry import ROOT, Entry, Unplayable

#: Seconds that a program may take: ten times what most take on a quiet core.
PATIENCE = 400.0
#: A recording is never in the way of what else the machine does.
NICE = 10
#: The guard shares a core with its program, as on a busy machine; more threads wait for each other.
ENVIRONMENT = {
    "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
    "MPLBACKEND": "Agg", "PYTHONHASHSEED": "0", "CUDA_VISIBLE_DEVICES": "",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Recording:
    """How one playing went: seconds, why there is no run, and the checkout that was played."""

    key: str
    seconds: float = 0.0
    failure: str | None = None
    checkout: str = str(ROOT)


@dataclass(frozen=True, slots=True)
class Recorder:
    """Records into a folder: ``SET/NAME.jsonl``, or a folder ``SET/NAME`` where a run has several.

    Attributes:
        jobs: programs at a time.
        patience: seconds for one.
    """

    folder: Path
    jobs: int = 2
    patience: float = PATIENCE

    def record(self, entries: Iterable[Entry]) -> Iterator[Recording]:
        """Play what the folder doesn't hold yet, a program of each set in turn."""
        with ThreadPoolExecutor(self.jobs) as pool:
            yield from pool.map(self._recorded, in_turn(entries))

    def known(self, entry: Entry) -> Recording | None:
        """Return how a program was played; None where it wasn't yet."""
        note = self._note(entry)
        if not note.exists():
            return None
        return Recording(**json.loads(note.read_text(encoding="utf-8")))

    def run_of(self, entry: Entry) -> Path | None:
        """Return the run file, or the folder of run files, of a program; None without one."""
        found = (self._place(entry, ".jsonl"), self._place(entry, ""))
        return next((path for path in found if path.exists()), None)

    def _recorded(self, entry: Entry) -> Recording:
        known = self.known(entry)
        if known is None:
            known = self._played(entry)
            self._note(entry).write_text(json.dumps(asdict(known)) + "\n", encoding="utf-8")
        return known

    def _played(self, entry: Entry) -> Recording:
        out = self._place(entry, ".jsonl")
        out.parent.mkdir(parents=True, exist_ok=True)
        out.unlink(missing_ok=True)
        begun = time.monotonic()
        with tempfile.TemporaryDirectory() as here:
            for name, text in entry.files.items():
                (Path(here) / name).write_text(text, encoding="utf-8")
            try:
                failure = _ended(entry, out, Path(here), self.patience)
            except Unplayable as reason:
                return Recording(entry.key, failure=str(reason))
            _take(Path(here), entry.written, out)
        seconds = round(time.monotonic() - begun, 1)
        missing = None if self.run_of(entry) else "it wrote no run"
        return Recording(entry.key, seconds, failure or missing)

    def _note(self, entry: Entry) -> Path:
        note = self._place(entry, ".json")
        note.parent.mkdir(parents=True, exist_ok=True)
        return note

    def _place(self, entry: Entry, suffix: str) -> Path:
        return self.folder.absolute() / entry.group / f"{entry.name}{suffix}"


def in_turn(entries: Iterable[Entry]) -> Iterator[Entry]:
    """Yield one of each set, again and again: what was recorded so far is a sample of all."""
    groups: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        groups[entry.group].append(entry)
    return filter(None, chain.from_iterable(zip_longest(*groups.values())))


def _ended(entry: Entry, out: Path, here: Path, patience: float) -> str | None:
    """Play a program in the folder ``here``; return why it did not end well."""
    command, variables = entry.told(out)
    niced = ["nice", "-n", str(NICE), *command]
    return failure_of(niced, patience, folder=here, variables=ENVIRONMENT | variables)


def _take(here: Path, patterns: Iterable[str], out: Path) -> None:
    """Move what a program wrote in its working folder to where the recorder wants it."""
    for written in (path for pattern in patterns for path in here.glob(pattern)):
        target = out.with_suffix("") if written.is_dir() else out
        shutil.rmtree(out.with_suffix(""), ignore_errors=True)
        shutil.move(written, target)
        return


def told(recording: Recording) -> None:
    """Print how a playing went."""
    end = recording.failure or "recorded"
    print(f"{recording.key}: {end}, {recording.seconds:.0f} s", file=sys.stderr, flush=True)
