"""Which runs are looked at: a fixed order that mixes the sets, so that a part stands for all."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from regression_tests.corpus.keys import Key


def sampled(keys: Iterable[Key], most: int | None) -> dict[str, Key]:
    """Return the first keys, of those that have a run, by the hash of their names; all for None."""
    kept = sorted((key for key in keys if key.skipped is None), key=_place)
    return {key.run: key for key in kept[:most]}


def _place(key: Key) -> str:
    return hashlib.sha256(key.run.encode()).hexdigest()
