"""One part of a report after the verdict: a table or a list of sentences, with its title."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Section:
    """A titled table or list that a renderer lays out.

    Attributes:
        key: stable name, for anchors and for the picture that belongs to it.
        title: the heading.
        columns: heads of the table; the first column is left-aligned, the others are numbers.
            Empty for a list of sentences.
        rows: cells as text, one tuple a row, as long as ``columns``.
        shares: for each row its part of the whole, 0 to 1; empty where there is none to draw.
        sentences: the list, or the remarks under a table.
        spark: the table's numbers in a line of characters, with the first and the last in words.
        aligned: in a terminal, too, a table, although some columns hold text: the texts are short.
        texts: indices of the columns that hold text although they are not the first.
        spare: indices of columns that a page which is too narrow leaves out, the first one first.
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
