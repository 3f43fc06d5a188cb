"""Takes recorded runs into the archive, and writes their keys beside it."""

from __future__ import annotations

import heapq
import sys
from collections.abc import Iterable, Iterator
from operator import itemgetter
from pathlib import Path

from regression_tests.benchmarks.playing.entry import Entry
from regression_tests.benchmarks.playing.player import Player
from regression_tests.corpus.archive import ARCHIVE, Files, Slimmer, pack, recorded, unpack
from regression_tests.corpus.keys import KEYS, Key, read_keys, write_keys


def pack_recorded(
    player: Player, entries: Iterable[Entry], archive: Path = ARCHIVE, keys: Path = KEYS
) -> str:
    """Pack what the player has of the entries; return what was done in a sentence.

    A run that the player has not played, or could not, stays as the archive has it.

    Raises:
        Damaged: the archive is larger than the repository takes.
    """
    wanted = list(entries)
    before = read_keys(keys) if keys.exists() else {}
    now = [_key_of(entry, player, before.get(entry.key)) for entry in wanted]
    digest = pack(_runs(wanted, player, archive), archive)
    write_keys(now, keys)
    kept = sum(key.skipped is None for key in now)
    return f"{kept} of {len(now)} runs, {archive.stat().st_size:,} bytes, sha256 {digest}"


def _key_of(entry: Entry, player: Player, before: Key | None) -> Key:
    """Return the key of a run, or of one that there is not."""
    known, skipped = player.known(entry), None
    if known is None:
        skipped = "not recorded" if before is None else before.skipped
    elif before is None or before.skipped is not None:
        skipped = known.failure
    return Key(entry.key, entry.planted.file, entry.truths, skipped)


def _runs(entries: Iterable[Entry], player: Player, archive: Path) -> Iterator[tuple[str, Files]]:
    """Yield the runs to be packed, by name, as the archive has them."""
    known = {entry.key: (player.run_of(entry), player.known(entry)) for entry in entries}
    played = {
        run: (path, playing.checkout)
        for run, (path, playing) in sorted(known.items())
        if path is not None and playing is not None and playing.failure is None
    }
    packed = unpack(archive) if archive.exists() else ()
    stay = ((run, files) for run, files in packed if run in known and run not in played)
    new = (
        (run, recorded(path, Slimmer(places(checkout, player.folder))))
        for run, (path, checkout) in played.items()
    )
    return heapq.merge(stay, new, key=itemgetter(0))


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
