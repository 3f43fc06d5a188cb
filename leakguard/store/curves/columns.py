"""A table with a heading (CSV), such as the ``metrics.csv`` of Lightning's CSVLogger."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from leakguard.errors import UnreadableRun
from leakguard.model import Run
from leakguard.store.curves.curve import Point, curve_run, factor, memory_names
from leakguard.store.spellings import ROUNDS, is_of_tool


def is_mine(path: Path, start: bytes) -> bool:
    """Return whether a file is a table with a memory column that no known tool printed."""
    if path.suffix.lower() not in (".csv", ".tsv"):
        return False
    names = _heading(start.decode("utf-8", "replace"))
    return bool(memory_names(names)) and not is_of_tool(names)


def read(path: Path) -> list[Run]:
    """Read the memory columns, with the generations from the column that counts them.

    Raises:
        UnreadableRun: no row has a memory value.
    """
    try:
        with path.open(encoding="utf-8", errors="replace", newline="") as file:
            rows = csv.DictReader(file, dialect=_dialect(path))
            names = memory_names(rows.fieldnames or ())
            points = list(_points(rows, names, _round_of(rows.fieldnames or ())))
    except csv.Error as error:
        raise UnreadableRun(f"{path} is no table that can be read: {error}") from None
    told = " and ".join(repr(name) for name in names)
    return curve_run(path, points, f"the column {told} of a table")


def _heading(text: str) -> list[str]:
    line = text.split("\n", 1)[0].strip()
    try:
        return next(csv.reader([line], delimiter="\t" if "\t" in line else ","), [])
    except csv.Error:  # a carriage return inside the line, or a cell of 131 kB
        return []


def _dialect(path: Path) -> type[csv.Dialect]:
    return csv.excel_tab if path.suffix.lower() == ".tsv" else csv.excel


def _round_of(names: Sequence[str]) -> str | None:
    return next((name for name in ROUNDS if name in names), None)


def _points(
    rows: csv.DictReader[str], names: Mapping[str, str], round_: str | None
) -> Iterator[Point]:
    """Yield a point for each row with a value; loggers leave some cells empty."""
    for row in rows:
        values = {metric: _cell_value(row.get(name), name) for name, metric in names.items()}
        known = {metric: value for metric, value in values.items() if value is not None}
        number = _cell_value(row.get(round_)) if round_ is not None else None
        if known:
            yield Point(known, number)


def _cell_value(cell: str | None, name: str = "") -> int | None:
    try:
        return round(float(cell or "") * factor(name))
    except (ValueError, OverflowError):
        return None
