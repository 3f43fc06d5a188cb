"""A leak of a library that is publicly known, and what a user asked not to be told about."""

from __future__ import annotations

from dataclasses import dataclass

from leakguard.model.finding import Finding


@dataclass(frozen=True, slots=True)
class KnownLeak:
    """What a known leak of a library looks like, and where it is described.

    Attributes:
        library: name of the library as it is imported.
        types: what piles up, by patterns of qualified types (``fnmatch``); only such as nobody
            but the library makes.
        path: patterns of hops on the way to what piles up, in order; the way leads through the
            library, whoever made the objects.
        description: what the library keeps and what to do about it, in one sentence.
        source: the public report, ``owner/repository#number``.
    """

    library: str
    description: str
    source: str
    types: tuple[str, ...] = ()
    path: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ignored:
    """A finding that the user asked not to be told about, with the pattern that matched it."""

    finding: Finding
    pattern: str
