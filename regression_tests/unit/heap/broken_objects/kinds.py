"""The makers by name; each is told how to look, at a moment of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Look = Callable[[], None]
KINDS: dict[str, Callable[[Look], Any]] = {}
ONE_LOOK = 900  # seconds for all kinds at once, on a busy machine and under a sanitizer


def kind(make: Callable[[Look], Any]) -> Callable[[Look], Any]:
    """Enter a maker under its own name."""
    KINDS[make.__name__] = make
    return make
