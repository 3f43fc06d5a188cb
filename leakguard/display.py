"""How an interactive shell shows a report. The package sets it: renderers depend on reports."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(slots=True)
class Display:
    """Two ways to show a report; without renderers both are its ``repr``.

    Attributes:
        page: returns a small page of HTML, for a notebook.
        text: returns the short report, wrapped at so many columns, for a terminal.
    """

    page: Callable[[Any], str] = repr
    text: Callable[[Any, int], str] = lambda report, width: repr(report)


#: The display of this process.
display = Display()
