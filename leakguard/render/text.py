"""Makes text from a log or another program safe to print, and shortens names."""

from __future__ import annotations

import re
import shutil
import unicodedata
from collections.abc import Sequence
from textwrap import wrap

# Escape sequences are removed as a whole first: if only the escape character were removed, "[31m"
# would remain.
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
# Cf contains the marks that change the reading direction, Cs lone surrogates that no encoder
# accepts.
_UNPRINTABLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_ARROWS = 7  # values of a series on one line
_WIDEST_TEXT = 100  # columns; longer lines are hard to read


def clean(text: object) -> str:
    """Return ``text`` on one line, without escape sequences, control or direction characters."""
    flat = re.sub(r"[\t\r\n\v\f\x85\u2028\u2029]+", " ", _ESCAPES.sub("", str(text)))
    if flat.isascii() and flat.isprintable():
        return flat
    return "".join(c for c in flat if unicodedata.category(c) not in _UNPRINTABLE)


def clean_lines(text: str) -> str:
    """Return a block of several lines with every line made safe."""
    return "\n".join(clean(line) for line in text.split("\n"))


def columns() -> int:
    """Return the width of the terminal (80 if unknown), limited to a readable line length."""
    return min(shutil.get_terminal_size((80, 24)).columns, _WIDEST_TEXT)


def wrapped(text: str, width: int, first: str = "", rest: str = "  ") -> list[str]:
    """Return a text as lines wrapped between words; a path or a name stays whole."""
    return wrap(
        text, width, initial_indent=first, subsequent_indent=rest, break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip


def short_type(name: str) -> str:
    """Return the last part of a qualified type name: ``ndarray`` for ``numpy.ndarray``."""
    name = clean(name)
    return name.rsplit(".", 1)[-1] or name


def arrows(values: Sequence[str]) -> str:
    """Return ``2 → 18 → 34``; for a long series, only the first and the last values."""
    shown = values if len(values) <= _ARROWS else [*values[:3], "…", *values[-3:]]
    return " → ".join(shown)
