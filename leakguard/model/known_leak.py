"""Publicly known leaks of released libraries, and the packages of an environment with them."""

from __future__ import annotations

from dataclasses import dataclass

from leakguard.model.finding import Kind


@dataclass(frozen=True, slots=True)
class KnownLeak:
    """One leak of a library: the affected releases, the trigger, the symptoms and the fix.

    Attributes:
        id: the name of the leak in this list, ``numpy-datetime-hash``.
        library: name on the package index; ``python`` is the interpreter itself.
        versions: the affected releases, as sets of version specifiers (PEP 440). A release is
            affected if it matches any one set.
        trigger: what a program does that makes the library leak.
        looks: the symptoms in a run, in words.
        kind: what grows, as a finding names it.
        fix: what to do, one sentence.
        source: the public report or changelog.
        fixed: the first release without the leak; None if none is known.
        unsure: what the source leaves open about the versions; None if nothing.
        types: the types of the objects that accumulate, as ``fnmatch`` patterns of qualified
            names; only types whose instances no code but the library makes.
        path: patterns of hops on the path to the objects that accumulate, in order. The path leads
            through the library, whichever code made the objects.
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
        name: the name as the package index, or the file, spells it.
        version: the release; None if the file does not pin one.
        line: the line of the file that names the package, counted from 1; None for an installed
            package.
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
    """The known leaks of the packages in an environment or a lock file.

    Attributes:
        place: the file or the environment that was checked, in words.
        is_file: True if ``place`` is a file; each package then has a line.
        packages: how many packages with a version were checked.
        exposures: known leaks that these packages have.
        unjudged: names of packages without an exact version, which could not be checked.
    """

    place: str
    is_file: bool
    packages: int
    exposures: tuple[Exposure, ...] = ()
    unjudged: tuple[str, ...] = ()
