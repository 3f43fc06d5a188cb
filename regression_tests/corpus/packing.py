"""Takes recorded runs into the archive, and writes their keys beside it."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from regression_tests.corpus.archive import ARCHIVE, Files, Slimmer, pack, recorded
from regression_tests.corpus.entry import Entry
from regression_tests.corpus.keys import KEYS, Key, write_keys
from regression_tests.corpus.recorder import Recorder


def pack_recorded(recorder: Recorder, entries: Iterable[Entry]) -> str:
    """Pack what the recorder has of the entries; return what was done in a sentence.

    Raises:
        Damaged: the archive is larger than the repository takes.
    """
    wanted = list(entries)
    keys = [key_of(entry, recorder) for entry in wanted]
    digest = pack(_runs(wanted, recorder), ARCHIVE)
    write_keys(keys, KEYS)
    kept = sum(key.skipped is None for key in keys)
    return f"{kept} of {len(keys)} runs, {ARCHIVE.stat().st_size:,} bytes, sha256 {digest}"


def key_of(entry: Entry, recorder: Recorder) -> Key:
    """Return the key of a recorded run, or of one that there is not."""
    known = recorder.known(entry)
    skipped = "not recorded" if known is None else known.failure
    return Key(entry.key, piece_of(entry.file), entry.truths, skipped)


def piece_of(file: str) -> str:
    """Return what is the same of a path on all machines: its last part, or a piece in slashes."""
    return file if file.endswith("/") else Path(file).name


def _runs(entries: Iterable[Entry], recorder: Recorder) -> Iterator[tuple[str, Files]]:
    for entry in entries:
        run = recorder.run_of(entry)
        known = recorder.known(entry)
        if run is not None and known is not None and known.failure is None:
            yield entry.key, recorded(run, Slimmer(places(known.checkout, recorder.folder)))


def places(checkout: str, runs: Path) -> dict[str, str]:
    """Return the names that stand for the folders of this machine."""
    venv = {str(Path(sys.prefix)), str(Path(sys.prefix).resolve())}
    return {
        checkout: "/checkout",
        str(runs.absolute()): "/runs",
        **dict.fromkeys(venv, "/venv"),
        str(Path(sys.base_prefix)): "/python",
        str(Path.home()): "/home/user",
    }
