"""Reads the list of publicly known leaks of libraries, and matches findings against it.

The entries are TOML files in ``leaks/``; ``KnownLeak`` says what each key means.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from importlib.resources import files
from os import listdir  # the program may have put a double in its place
from typing import Any

from leakguard.model import Finding
from leakguard.model.known_leak import KnownLeak

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_LISTS = ("versions", "types", "path")


@lru_cache(maxsize=1)
def known_leaks() -> tuple[KnownLeak, ...]:
    """Return every known leak, sorted by library.

    Raises:
        OSError: the files cannot be opened, for example because no descriptor is left.
    """
    folder = files("leakguard.analysis.knowledge").joinpath("leaks")
    names = sorted(n for n in listdir(str(folder)) if n.endswith(".toml"))  # noqa: PTH208
    leaks = (leak for name in names for leak in _entries(folder.joinpath(name).read_text("utf-8")))
    return tuple(sorted(leaks, key=lambda leak: (leak.library, leak.id)))


def _entries(document: str) -> Iterator[KnownLeak]:
    for entry in tomllib.loads(document)["leak"]:
        yield KnownLeak(**{key: _value(key, value) for key, value in entry.items()})


def _value(key: str, value: Any) -> Any:
    return tuple(value) if key in _LISTS else value


def is_affected(leak: KnownLeak, version: str) -> bool:
    """Return whether a release has the leak; False if its version does not follow PEP 440."""
    # Imported only when needed, because a watched program seldom has a known leak.
    from packaging.specifiers import SpecifierSet
    from packaging.version import InvalidVersion, Version

    try:
        release = Version(version)
    except InvalidVersion:
        return False
    return any(SpecifierSet(v).contains(release, prereleases=True) for v in leak.versions)


def known_leak(finding: Finding, packages: Mapping[str, str]) -> KnownLeak | None:
    """Return the known leak that a finding matches; None for a leak of the program's own.

    Args:
        finding: what grows, with the path to it.
        packages: versions of the libraries that ran, if recorded.
    """
    try:
        leaks = known_leaks()
    except OSError:  # a program that leaks descriptors may have none left to open the list
        return None
    return next((leak for leak in leaks if _is(leak, finding) and _ran(leak, packages)), None)


def native_leaks(packages: Mapping[str, str]) -> list[tuple[str, KnownLeak]]:
    """Return known leaks of native memory in the libraries that ran, as (version that ran, leak).

    Only leaks that an update fixes are returned. No finding matches such a leak by type or path, so
    the advice on native memory names them.
    """
    try:
        leaks = known_leaks()
    except OSError:
        return []
    native = (leak for leak in leaks if leak.kind == "native" and leak.fixed is not None)
    ran = ((packages.get(_imported(leak)), leak) for leak in native)
    return [(release, k) for release, k in ran if release and is_affected(k, release)]


def _imported(leak: KnownLeak) -> str:
    return leak.library.replace("-", "_")


def _ran(leak: KnownLeak, packages: Mapping[str, str]) -> bool:
    """Return whether the release that ran has the leak; True if the release was not recorded."""
    imported = _imported(leak)
    return imported not in packages or is_affected(leak, packages[imported])


def _is(leak: KnownLeak, finding: Finding) -> bool:
    piles_up = any(fnmatchcase(finding.type or "", pattern) for pattern in leak.types)
    return piles_up or (bool(leak.path) and _leads_through(finding.path, leak.path))


def _leads_through(hops: Sequence[str], patterns: Sequence[str]) -> bool:
    """Return whether the patterns match hops in this order; other hops may lie between."""
    rest = iter(hops)
    return all(any(fnmatchcase(hop, pattern) for hop in rest) for pattern in patterns)
