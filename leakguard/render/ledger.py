"""The growth of RSS by part, in words and numbers that all renderers share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from leakguard.model.ledger import Ledger
from leakguard.model.report import Report
from leakguard.model.units import format_change
from leakguard.render.facts import percent
from leakguard.render.section import Section
from leakguard.render.text import clean

TITLES = {
    "tensors": "Tensors",
    "arrays": "Arrays",
    "python": "Other Python objects",
    "native": "Native, outside counted objects",
    "interpreter": "Interpreter, held free",
    "allocator": "Allocator, held free (fragmentation)",
    "shared": "Shared and file-backed",
    "swapped": "Swapped out of RAM",
    "unexplained": "Not explained",
}

_NEGATIVE = (
    "The unexplained part is negative: some allocated memory is not in RAM, or shared memory "
    "counts twice."
)


@dataclass(frozen=True, slots=True)
class LedgerPart:
    """One part of the growth, with its share (0 to 1) of the sum of all absolute changes."""

    title: str
    bytes: int
    text: str
    share: float


def parts(ledger: Ledger) -> list[LedgerPart]:
    """Return the known parts that changed, and the unexplained rest even if it is 0."""
    known = {
        name: size
        for name, size in ledger.parts.items()
        if size is not None and (size or name == "unexplained")
    }
    whole = sum(map(abs, known.values()))
    return [
        LedgerPart(
            TITLES.get(name, clean(name)),
            size,
            format_change(size),
            abs(size) / whole if whole else 0.0,
        )
        for name, size in known.items()
    ]


def ledger_section(report: Report) -> Section:
    """Return the growth of RSS by part."""
    ledger = report.ledger
    if ledger is None:
        return Section("ledger", "Where the growth of RSS went")
    rows = parts(ledger)
    return Section(
        "ledger",
        f"Where the growth of RSS went: {format_change(ledger.growth)}",
        ("Part", "Bytes", "Share"),
        tuple((part.title, part.text, percent(part.share)) for part in rows),
        tuple(part.share for part in rows),
        tuple(_remarks(ledger)),
    )


def _remarks(ledger: Ledger) -> Iterator[str]:
    yield (
        f"From {clean(ledger.since)} to {clean(ledger.until)}, {ledger.generations} "
        f"generation{'' if ledger.generations == 1 else 's'}."
    )
    if (ledger.parts["unexplained"] or 0) < 0:
        yield _NEGATIVE
    for reason in dict.fromkeys(ledger.unknown.values()):
        names = [TITLES[name] for name, why in ledger.unknown.items() if why == reason]
        yield f"Unknown, and therefore part of the rest: {'; '.join(names)}: {clean(reason)}."
