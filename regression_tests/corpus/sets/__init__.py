"""The sets of the corpus: a manifest each, which yields its entries."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from regression_tests.corpus.entry import Entry
from regression_tests.corpus.sets import (
    first_sight,
    frameworks,
    keyed,
    leakbench,
    packages,
    psleak,
    several_leaks,
    strangers_sets,
    trainer,
    unprepared,
)

#: A new set is a file beside this one, and its name here.
MANIFESTS: tuple[Callable[[], Iterator[Entry]], ...] = (
    leakbench.entries,
    first_sight.entries,
    keyed.first_hour,
    keyed.strangers,
    trainer.entries,
    frameworks.entries,
    psleak.entries,
    packages.entries,
    several_leaks.entries,
    strangers_sets.entries,
    unprepared.entries,
)


def entries() -> list[Entry]:
    """Return every run that the corpus has or could have, by name."""
    found = [entry for manifest in MANIFESTS for entry in manifest()]
    return sorted(found, key=lambda entry: entry.key)
