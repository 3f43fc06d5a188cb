"""Tables that tools print about processes: a series for each pod, container, GPU or process."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from leakguard.store.spellings import (
    COLUMNS,
    FUNCTION,
    LINE_OF_FUNCTION,
    SHAPES,
    SIZED,
    Columns,
    Shape,
)
from leakguard.store.textlog.number import parse_bytes, parse_number, resolution
from leakguard.store.textlog.series import Sampled, Samples

_HEADS = re.compile(
    "|".join(sorted({re.escape(c.memory) for c in COLUMNS} | {re.escape(s.word) for s in SHAPES}))
)
_NAMED = tuple(shape for shape in SHAPES if shape.named is not None)
_APART = {"blank": re.compile(r"\s+"), "blanks": re.compile(r"\s{2,}|\t"),
          "comma": re.compile(r"\s*,\s*")}  # fmt: skip
# The number of consecutive lines without a row after which a table is over, by what separates the
# cells. Chosen: 40 if blanks separate them, because these tools print the heading again with each
# table. Only nvidia-smi separates cells by commas; it prints its heading once in a log, so its rows
# must be recognized after many lines of other programs.
_PATIENCE = {"blank": 40, "blanks": 40, "comma": 100_000}
_LONGEST_LINE, _LONGEST_NAME = 600, 40


@dataclass(slots=True)
class _Table:
    """A table whose heading has been read."""

    columns: Columns
    cells: Sequence[str]
    misses: int = 0
    last: str | None = None
    name: str = ""

    def row(self, line: str) -> Sequence[str] | None:
        """Return the cells of a row; None for any other line."""
        most = len(self.cells) - 1
        cells = _APART[self.columns.apart].split(line.strip(), maxsplit=most)
        number = self.columns.number
        if len(cells) <= most or (number is not None and not self.cell(cells, number).isdecimal()):
            return None
        return cells

    def cell(self, cells: Sequence[str], name: str) -> str:
        """Return the cell of a row in the column with this heading."""
        return cells[self.cells.index(name)]

    def who(self, cells: Sequence[str]) -> str:
        """Return the cells that identify the series of a row."""
        known = [self.cell(cells, name) for name in self.columns.who if name in self.cells]
        return " ".join(cell[:_LONGEST_NAME] for cell in known)


@dataclass(slots=True)
class ToolTables:
    """Takes the lines of a log; uses those that belong to a table of one of the tools."""

    samples: Samples = field(default_factory=Samples)
    _table: _Table | None = None
    _names: dict[str, str] = field(default_factory=dict)

    @property
    def busy(self) -> bool:
        """True while rows may follow."""
        return self._table is not None

    def feed(self, line: str) -> bool:
        """Process one line; return whether it belongs to a table."""
        if len(line) > _LONGEST_LINE:
            return False
        return (self._table is not None and self._take_row(self._table, line)) or self._begins(line)

    def close(self) -> None:
        """Add the result of the last table."""
        table, self._table = self._table, None
        if table is not None and table.columns.ends and table.last is not None:
            self._add(table.columns, table.name or "one function", table.last, None)

    # -- tables with a heading ------------------------------------------------------------------

    def _begins(self, line: str) -> bool:
        for shape in _NAMED:
            if shape.named is not None and (named := shape.named.match(line)) is not None:
                self._names[shape.tool] = named["who"]
        if _HEADS.search(line) is None:
            return False
        columns = next((c for c in COLUMNS if c.memory in line and _is_heading(c, line)), None)
        if columns is not None:
            self.close()
            self._table = _Table(columns, _APART[columns.apart].split(line.strip()))
            return True
        return any(self._take_shape(shape, line) for shape in SHAPES if shape.word in line)

    def _take_row(self, table: _Table, line: str) -> bool:
        if table.columns.ends:
            return self._take_step(table, line)
        cells = table.row(line)
        used = None if cells is None else table.cell(cells, table.columns.memory)
        size, _, limit = (used or "").partition("/")
        if cells is None or not self._add(table.columns, table.who(cells), size, limit):
            table.misses += 1
            if table.misses > _PATIENCE[table.columns.apart]:
                self.close()
            return False
        table.misses = 0
        return True

    def _take_step(self, table: _Table, line: str) -> bool:
        """Read a row of a function; the function ended with the memory of the last row."""
        text = line.strip()
        if not text[:1].isdigit():
            if not text.startswith("="):
                self.close()
            return False
        if not table.name and (function := FUNCTION.search(line)) is not None:
            table.name = function[1]
        if (match := LINE_OF_FUNCTION.match(line)) is not None:
            table.last = match["value"]
        return True

    # -- lines of their own ---------------------------------------------------------------------

    def _take_shape(self, shape: Shape, line: str) -> bool:
        match = shape.line.match(line)
        if match is None:
            return False
        found = match.groupdict()
        unit = found.get("unit") or (_unit_by_size(found.get("limit")) if shape.sized else "")
        limit = found.get("limit")
        who = found.get("who") or self._names.get(shape.tool, "")
        size = _with_unit(found["value"], unit)
        return self._add(shape, who, size, None if limit is None else _with_unit(limit, unit))

    def _add(self, row: Columns | Shape, who: str, text: str, limit: str | None) -> bool:
        unit = row.unit or "" if isinstance(row, Columns) else ""
        text = _binary(_with_unit(text, unit), row)
        size = parse_bytes(text)
        if size is None or size < 0:
            return False
        whole = parse_bytes(_binary(limit.strip(), row)) if limit else None
        self.samples.add(Sampled(row.tool, row.noun, row.means, row.metric, who), size, whole,
                         resolution(text))  # fmt: skip
        return True


def _is_heading(columns: Columns, line: str) -> bool:
    cells = _APART[columns.apart].split(line.strip())
    return all(cell in cells for cell in columns.heading)


def _with_unit(text: str, unit: str) -> str:
    text = text.strip()
    return f"{text} {unit}" if unit and text[-1:].isdigit() else text


def _binary(text: str, row: Columns | Shape) -> str:
    """Complete ``1.2g`` to ``1.2giB``: tools that count in KiB abbreviate binary units."""
    counts_in_binary = row.sized if isinstance(row, Shape) else row.unit == "KiB"
    return f"{text}iB" if counts_in_binary and text[-1:] in "kmgtKMGT" else text


def _unit_by_size(limit: str | None) -> str:
    whole = parse_number(limit or "")
    return "" if whole is None else next((unit for most, unit in SIZED if whole < most), "")
