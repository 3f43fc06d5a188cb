"""What the user asked not to be told about: listed, never dropped in silence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from leakguard.model import Finding
from leakguard.model.known_leak import Ignored


def split_ignored(
    findings: Iterable[Finding], patterns: Sequence[str]
) -> tuple[list[Finding], list[Ignored]]:
    """Return the findings to report, and those that a pattern matches."""
    wanted, ignored = [], []
    for finding in findings:
        pattern = next((p for p in patterns if matches(finding, p)), None)
        if pattern is None:
            wanted.append(finding)
        else:
            ignored.append(Ignored(finding, pattern))
    return wanted, ignored


def matches(finding: Finding, pattern: str) -> bool:
    """Return whether a pattern is of the finding's fingerprint, type or holder (``fnmatch``).

    The ``[*]`` of a holder is written as it is printed; it stands for itself.
    """
    literal = pattern.replace("[*]", "[[][*]]")
    names = (finding.fingerprint, finding.type, finding.held_by)
    return any(name is not None and fnmatchcase(name, literal) for name in names)
