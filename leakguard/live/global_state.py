"""What the program shares with the guard, and must find as it left it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def random_kept() -> Iterator[None]:
    """Leave the program's random sequence alone: rich draws from it when a style is made."""
    state = random.getstate()
    try:
        yield
    finally:
        random.setstate(state)
