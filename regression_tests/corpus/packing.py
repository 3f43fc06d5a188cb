"""Takes recorded runs into the archive, and writes their keys beside it."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from regression_tests.benchmarks.playing.entry import Entry
from regression_tests.benchmarks.playing.player import Player
from regression_tests.corpus.archive import ARCHIVE, Files, Slimmer, pack, recorded
from regression_tests.corpus.keys import KEYS, Key, write_keys


def pack_recorded(player: Player, entries: Iterable[Entry]) -> str:
    """Pack what the player has of the entries; return what was done in a sentence.

    Raises:
        Damaged: the archive is larger than the repository takes.
    """
    wanted = list(entries)
    keys = [key_of(entry, player) for entry in wanted]
    digest = pack(_runs(wanted, player), ARCHIVE)
    write_keys(keys, KEYS)
    kept = sum(key.skipped is None for key in keys)
    return f"{kept} of {len(keys)} runs, {ARCHIVE.stat().st_size:,} bytes, sha256 {digest}"


def key_of(entry: Entry, player: Player) -> Key:
    """Return the key of a recorded run, or of one that there is not."""
    known = player.known(entry)
    skipped = "not recorded" if known is None else known.failure
    return Key(entry.key, entry.planted.file, entry.truths, skipped)


def _runs(entries: Iterable[Entry], player: Player) -> Iterator[tuple[str, Files]]:
    for entry in entries:
        run = player.run_of(entry)
        known = player.known(entry)
        if run is not None and known is not None and known.failure is None:
            yield entry.key, recorded(run, Slimmer(places(known.checkout, player.folder)))


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
