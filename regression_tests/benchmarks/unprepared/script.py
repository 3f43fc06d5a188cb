"""The table of scripts: where each comes from, and what it is given."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TABLE = Path(__file__).with_name("scripts.toml")


@dataclass(frozen=True)
class Script:
    """One script of the folder.

    ``origin`` is the repository and commit it was copied from. ``{folder}`` in an argument stands
    for the folder of the scripts. ``paths`` are folders below that one that come first on
    PYTHONPATH. ``volatile`` is a pattern of words that differ from
    one run to the next without leakguard too, such as steps per second. ``grows`` says what the
    script keeps by its nature, where it does; a finding about that is no false alarm.
    """

    path: str
    origin: str
    arguments: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    volatile: str | None = None
    grows: str | None = None

    @property
    def command(self) -> str:
        """The script with its arguments, as one would type them."""
        return " ".join((*self.options, self.path, *self.arguments))


def scripts(table: Path = TABLE) -> list[Script]:
    """Read the table."""
    entries: list[dict[str, Any]] = tomllib.loads(table.read_text("utf-8"))["script"]
    return [
        Script(**{k: tuple(v) if isinstance(v, list) else v for k, v in entry.items()})
        for entry in entries
    ]
