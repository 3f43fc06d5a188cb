"""Reads which releases a file pins: requirements, ``pip freeze``, pylock, uv.lock, poetry.lock."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement

from leakguard.errors import UsageError
from leakguard.model.known_leak import Package

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_COMMENT = re.compile(r"(^|\s)#.*$")
_OPTION = re.compile(r"\s--?[a-z].*$")  # --hash of a requirement
_TABLES = ("packages", "package")  # in pylock.toml, and in uv.lock and poetry.lock
_ENTRY = re.compile(r"^\[\[packages?\]\]", re.MULTILINE)


def packages_in(text: str, name: str) -> list[Package]:
    """Return the packages that a file lists; the version is None if it is not exactly pinned.

    Args:
        text: the text of the file.
        name: the name of the file, for messages. Except for .toml, the text decides the format,
            because some call a list of requirements a .lock.

    Raises:
        UsageError: the file is neither a lock file nor a list of requirements, or lists no package.
    """
    locked = name.endswith(".toml") or _ENTRY.search(text) is not None
    packages = _locked(text, name) if locked else list(_required(text, name))
    if not packages:
        raise UsageError(f"{name} lists no package; give requirements, pip freeze or a lock file")
    return packages


def _locked(text: str, name: str) -> list[Package]:
    try:
        document = tomllib.loads(text)
    except ValueError as error:
        raise UsageError(f"{name} is not TOML: {error}") from error
    entries: Any = next((document[table] for table in _TABLES if table in document), [])
    if not isinstance(entries, list) or not all(isinstance(e, Mapping) for e in entries):
        raise UsageError(f"{name} is no lock file: its packages are no list of tables")
    lines = _lines_of(text, [str(entry.get("name", "")) for entry in entries])
    return [_package(entry, line) for entry, line in zip(entries, lines, strict=True)]


def _package(entry: Mapping[str, Any], line: int | None) -> Package:
    version = entry.get("version")
    return Package(str(entry.get("name", "")), None if version is None else str(version), line)


def _lines_of(text: str, names: list[str]) -> Iterator[int | None]:
    """Yield the line number of each name; the entries of a lock file are in the same order."""
    lines, last = text.splitlines(), 0
    for name in names:
        said = re.compile(rf"""\s*name\s*=\s*["']{re.escape(name)}["']""")
        found = next((n for n in range(last, len(lines)) if said.match(lines[n])), None)
        last = last if found is None else found + 1
        yield None if found is None else found + 1


def _required(text: str, name: str) -> Iterator[Package]:
    for number, line in _logical_lines(text):
        if line.startswith("-"):
            continue  # an option, an included file, or an editable checkout
        try:
            requirement = Requirement(_OPTION.sub("", line))
        except InvalidRequirement as error:
            reason = str(error).partition("\n")[0]
            raise UsageError(f"{name}:{number} is no requirement: {reason}") from error
        if requirement.marker is None or requirement.marker.evaluate():
            yield Package(requirement.name, _exact(requirement), number)


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield (number of the first line, text) of each entry; a backslash continues a line."""
    waiting, begun = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        begun = begun if waiting else number
        waiting += _COMMENT.sub("", line)
        if waiting.endswith("\\"):
            waiting = waiting[:-1]
            continue
        if waiting.strip():
            yield begun, waiting.strip()
        waiting = ""


def _exact(requirement: Requirement) -> str | None:
    """Return the exact version that a requirement pins; None if it allows several."""
    pins = [s.version for s in requirement.specifier if s.operator in ("==", "===")]
    return next((version for version in pins if not version.endswith(".*")), None)
