"""Finds the known leaks of the libraries in an environment, without a run."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from packaging.utils import canonicalize_name

from leakguard.analysis.knowledge.known_leaks import is_affected, known_leaks
from leakguard.model.known_leak import Audit, Exposure, KnownLeak, Package


def audit(
    place: str,
    packages: Iterable[Package],
    *,
    is_file: bool = False,
    unfixed: bool = False,
    ignore: Collection[str] = (),
) -> Audit:
    """Return which known leaks the packages have, by package.

    Args:
        place: the environment or file that is checked, in words.
        packages: the packages in ``place``.
        is_file: whether ``place`` is a file; the packages then name its lines.
        unfixed: also report leaks that no release is known to fix. They depend on how a library is
            used.
        ignore: ids of leaks to leave out.
    """
    listed = sorted(set(packages), key=lambda package: (package.name.lower(), package.line or 0))
    leaks = [k for k in known_leaks() if k.id not in ignore and (unfixed or k.fixed is not None)]
    return Audit(
        place,
        is_file,
        packages=sum(package.version is not None for package in listed),
        exposures=tuple(e for package in listed for e in _exposures(package, leaks)),
        unjudged=tuple(package.name for package in listed if package.version is None),
    )


def _exposures(package: Package, leaks: Iterable[KnownLeak]) -> Iterator[Exposure]:
    name = canonicalize_name(package.name)
    for leak in leaks:
        if leak.library == name and is_affected(leak, package.version or ""):
            yield Exposure(package, leak)
