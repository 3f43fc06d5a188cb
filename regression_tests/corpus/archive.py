"""All runs in one compressed file; beside it stand its hash and the command that makes it."""

from __future__ import annotations

import hashlib
import io
import json
import re
import tarfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

ARCHIVE = Path(__file__).with_name("runs.tar.xz")
COMMAND = (
    "python -m regression_tests.corpus record --runs FOLDER && "
    "python -m regression_tests.corpus pack --runs FOLDER"
)

#: More is not kept in the repository, whose history has each version.
MOST_BYTES = 30_000_000
#: Digits of a number with a fraction: more of a second say nothing, and do not compress.
DIGITS = 6

Files = Mapping[str, bytes]


class Damaged(Exception):
    """The archive is missing, too large, or not the one that the hash was made of."""


def pack(runs: Iterable[tuple[str, Files]], archive: Path = ARCHIVE) -> str:
    """Write runs, in the order in which they come, and the hash; return the hash.

    Raises:
        Damaged: it is larger than the repository takes.
    """
    beside = archive.with_suffix(".part")  # whoever interrupts this keeps the archive of before
    with tarfile.open(beside, "w:xz", preset=6) as packed:
        for key, files in runs:
            for name, text in files.items():
                member = tarfile.TarInfo(f"{key}/{name}")
                member.size = len(text)
                packed.addfile(member, io.BytesIO(text))
    if beside.stat().st_size > MOST_BYTES:
        raise Damaged(f"{beside} is larger than {MOST_BYTES:,} bytes: leave runs of a kind out")
    beside.replace(archive)
    digest = _digest(archive)
    note = {"sha256": digest, "bytes": archive.stat().st_size, "command": COMMAND}
    _note(archive).write_text(json.dumps(note, indent=1) + "\n", encoding="utf-8")
    return digest


def unpack(archive: Path = ARCHIVE) -> Iterator[tuple[str, Files]]:
    """Yield the name of each run with its files.

    Raises:
        Damaged: it is missing, or its hash is another.
    """
    if not archive.exists():
        raise Damaged(f"{archive} is missing; it is made by: {COMMAND}")
    if _digest(archive) != json.loads(_note(archive).read_text(encoding="utf-8"))["sha256"]:
        raise Damaged(f"{archive} is not the one whose hash stands in {_note(archive).name}")
    with tarfile.open(archive, "r|xz") as packed:
        members = ((m.name.rpartition("/"), packed.extractfile(m)) for m in packed)
        files = ((folder, name, file.read()) for (folder, _, name), file in members if file)
        for folder, its in groupby(files, key=lambda each: each[0]):
            yield folder, {name: text for _, name, text in its}


def recorded(run: Path, prepared: Callable[[bytes], bytes]) -> Files:
    """Return the files of a recorded run, a file or a folder of them, as they are to be packed."""
    files = sorted(run.glob("*.jsonl")) if run.is_dir() else [run]
    names = [file.name for file in files] if run.is_dir() else ["run.jsonl"]
    return {name: prepared(file.read_bytes()) for name, file in zip(names, files, strict=True)}


class Slimmer:
    """Makes a run file fit to be packed: no path of this machine, no digits that say nothing."""

    def __init__(self, places: Mapping[str, str]) -> None:
        """``places`` are the names that stand for folders of this machine."""
        longest_first = sorted(places, key=len, reverse=True)
        self._names = {place.encode(): name.encode() for place, name in places.items()}
        self._places = re.compile(b"|".join(re.escape(place.encode()) for place in longest_first))

    def __call__(self, text: bytes) -> bytes:
        """Return the file in fewer bytes; what it says is the same."""
        named = self._places.sub(lambda found: self._names[found[0]], text)
        return b"".join(_slim_line(line) for line in named.splitlines())


def _slim_line(line: bytes) -> bytes:
    try:
        told = json.loads(line, parse_float=_rounded)
    except ValueError:  # a run that was cut off ends in half a line, and is read as such
        return line
    return json.dumps(told, separators=(",", ":")).encode() + b"\n"


def _rounded(digits: str) -> Any:
    return float(f"{float(digits):.{DIGITS}g}")


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _note(archive: Path) -> Path:
    return archive.with_suffix("").with_suffix(".json")
