"""What two runs differ in, as sections of a page."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from leakguard.model.comparison import Comparison, Measure
from leakguard.model.finding import Finding
from leakguard.model.units import format_bytes, format_change, format_difference, format_number
from leakguard.render import facts
from leakguard.render.section import Section
from leakguard.render.text import clean, short_type

_COLUMNS = ("", "Before", "After", "Change")


def sections(comparison: Comparison) -> Iterator[Section]:
    """Yield the tables of changed numbers that are not empty."""
    for key, title, measures in (
        ("measures", "The whole run", comparison.measures),
        ("phases", "Growth per generation by phase", comparison.phases),
        ("counts", "Live objects at the end", comparison.counts),
    ):
        if measures:
            yield Section(key, title, _COLUMNS, tuple(_measure_cells(m) for m in measures))
    if comparison.gone:
        titles = tuple(facts.title(finding) for finding in comparison.gone)
        yield Section("gone", "Gone in the second run", sentences=titles)
    if comparison.stayed:
        yield Section("stayed", "In both runs", sentences=tuple(map(_moved, comparison.stayed)))


def _measure_cells(measure: Measure) -> tuple[str, str, str, str]:
    in_bytes = measure.unit == "bytes"
    text: Callable[[float], str] = format_bytes if in_bytes else format_number
    before, after = measure.before, measure.after
    change = ""
    if before is not None and after is not None:
        moved = after - before
        change = format_change(moved) if in_bytes else format_difference(moved)
    name = measure.name if in_bytes else short_type(measure.name)
    return clean(name), _known(before, text), _known(after, text), change


def _known(value: float | None, text: Callable[[float], str]) -> str:
    return "unknown" if value is None else text(value)


def _moved(pair: tuple[Finding, Finding]) -> str:
    before, after = pair
    return f"{facts.title(after)} (it was {facts.rate(before)})"
