"""One part of a report after the verdict: a table or a list of sentences, with its title."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Section:
    """A titled table or list that a renderer lays out.

    Attributes:
        key: stable name, for anchors and for the picture that belongs to it.
        title: the heading.
        columns: headings of the table; the first column is left-aligned, the others are numbers.
            Empty for a list of sentences.
        rows: cells as text, one tuple per row, as long as ``columns``.
        shares: for each row its share of the whole, 0 to 1; empty if there is none to draw.
        sentences: the list, or the remarks below a table.
        spark: the table's numbers as a line of characters, with the first and the last in words.
        aligned: True for a table in a terminal, too, although some columns hold text: it is short.
        texts: indices of the columns that hold text although they are not the first.
        spare: indices of columns that a narrow page leaves out, in this order.
    """

    key: str
    title: str
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    shares: tuple[float, ...] = ()
    sentences: tuple[str, ...] = ()
    spark: str = ""
    texts: frozenset[int] = frozenset()
    aligned: bool = False
    spare: tuple[int, ...] = ()
