"""Explains the words of a report: meaning, how a leak looks in code, its fix, and a real case."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

_ENTRY = re.compile(r"^## (?P<name>.+)\n\*(?P<about>.+)\*\n\n(?P<text>(?:.|\n)+?)(?=^## |\Z)", re.M)


@dataclass(frozen=True, slots=True)
class Explanation:
    """One word: its group (``kind``, ``pattern``, ``verdict`` or ``word``), other names and text.

    ``text`` is Markdown.
    """

    name: str
    group: str
    aliases: tuple[str, ...]
    text: str


@lru_cache(maxsize=1)
def explanations() -> tuple[Explanation, ...]:
    """Return every explanation, in the order of the manual's page of words."""
    page = files("leakguard").joinpath("manual/reference/words.md")
    return tuple(_entries(page.read_text("utf-8")))


def explained(word: str) -> Explanation | None:
    """Return the explanation of a word or one of its other names; None if there is none."""
    wanted = _plain(word)
    known = explanations()
    exact = (entry for entry in known if _plain(entry.name) == wanted)
    return next(exact, None) or next(
        (entry for entry in known if wanted in map(_plain, entry.aliases)), None
    )


def _entries(document: str) -> Iterator[Explanation]:
    for entry in _ENTRY.finditer(document):
        group, _, also = entry["about"].partition("; also: ")
        aliases = tuple(also.split(", ")) if also else ()
        yield Explanation(entry["name"], group, aliases, entry["text"].strip())


def _plain(word: str) -> str:
    return re.sub(r"[\s_-]+", " ", word.strip().lower())
