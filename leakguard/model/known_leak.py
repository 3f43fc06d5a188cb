"""A leak of a released library that is publicly known, and where an environment has it."""

from __future__ import annotations

from dataclasses import dataclass

from leakguard.model.finding import Kind


@dataclass(frozen=True, slots=True)
class KnownLeak:
    """One leak of a library: which releases have it, what starts it, how it looks, the fix.

    Attributes:
        id: its name in this list, ``numpy-datetime-hash``.
        library: name on the package index; ``python`` is the interpreter itself.
        versions: releases that have it: sets of version specifiers (PEP 440), any of which may
            match.
        trigger: what a program does when it leaks.
        looks: how it looks in a run, in words.
        kind: what grows, as a finding names it.
        fix: what to do, one sentence.
        source: the public report or changelog.
        fixed: the first release without it; None where none is known.
        unsure: what the source leaves open about the versions; None where nothing.
        types: what piles up, by patterns of qualified types (``fnmatch``); only such as nobody
            but the library makes.
        path: patterns of hops on the way to what piles up, in order; the way leads through the
            library, whoever made the objects.
    """

    id: str
    library: str
    versions: tuple[str, ...]
    trigger: str
    looks: str
    kind: Kind
    fix: str
    source: str
    fixed: str | None = None
    unsure: str | None = None
    types: tuple[str, ...] = ()
    path: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Package:
    """One release of a library that is installed or pinned.

    Attributes:
        name: as the package index, or the file, spells it.
        version: None where the file does not pin one.
        line: where the file says so, counted from 1; None for what is installed.
    """

    name: str
    version: str | None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Exposure:
    """A package of an environment that has a known leak."""

    package: Package
    leak: KnownLeak


@dataclass(frozen=True, slots=True)
class Audit:
    """What an environment or a lock file has of the known leaks.

    Attributes:
        place: the file, or what it is that was looked at, in words.
        is_file: True where ``place`` is a file, whose lines are then known.
        packages: how many packages with a version were looked at.
        exposures: known leaks that these packages have.
        unjudged: names without one exact version.
    """

    place: str
    is_file: bool
    packages: int
    exposures: tuple[Exposure, ...] = ()
    unjudged: tuple[str, ...] = ()
