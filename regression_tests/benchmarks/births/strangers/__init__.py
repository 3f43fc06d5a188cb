"""Programs of strangers who had the README only, with their leaks, and what is right of each."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any


def command(folder: Path, key: Mapping[str, Any], mode: str) -> list[str]:
    """Return the file of a program and its arguments; ``mode`` is ``leak`` or ``fixed``.

    A program takes the mode as its argument, unless its repaired ``twin`` is a file of its own.
    """
    if "twin" in key:
        return [str(folder / key["program" if mode == "leak" else "twin"])]
    return [str(folder / key["program"]), mode]
