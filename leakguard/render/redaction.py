"""A report without home folders, user names and secrets, for posting where strangers read."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from leakguard.model.report import Report

_HOME = re.compile(r"(?:/home/|/Users/|/export/home/|[A-Za-z]:\\Users\\)([^/\\\s:'\"]+)")
_ROOT_HOME = re.compile(r"(?<![\w/])/root(?=/|\b)")
_SECRET_NAME = (
    r"(?:[\w-]*[_-])?(?:token|secret|passw(?:or)?d|passphrase|api[_-]?key|access[_-]?key"
    r"|secret[_-]?key|credentials?|auth)"
)
_VALUE = r"(?:\"[^\"]*\"|'[^']*'|[^\s\"',;]+)"
_RULES = (
    (re.compile(rf"(?i)(?<![\w-])(--?{_SECRET_NAME}\s+)(?!-){_VALUE}"), r"\1***"),
    (re.compile(rf"(?i)(?<![\w-])(-{{0,2}}{_SECRET_NAME}\s*[=:]\s*){_VALUE}"), r"\1***"),
    (re.compile(r"(?i)\b(bearer|basic)\s+[\w.~+/=-]{8,}"), r"\1 ***"),
    (re.compile(r"(?<=://)[^/\s@]+@"), "***@"),
    # The prefixes that well-known services give their keys.
    (re.compile(r"\b(?:hf_|gh[pousr]_|github_pat_|glpat-|[sp]k-|xox[abprs]-|A[KS]IA|AIza|ya29\.|eyJ)"
                r"[\w.-]{8,}"), "***"),
    (re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"), "***@***"),
)  # fmt: skip


def redacted(report: Report) -> Report:
    """Return ``report`` with every text in it made fit to show; numbers stay as they are."""
    users = _users(report)
    named = re.compile(rf"(?<![\w.-])(?:{'|'.join(map(re.escape, users))})(?![\w-])")

    def hide(text: str) -> str:
        shown = redact(text)
        return named.sub("user", shown) if users else shown

    result = _walk(report, hide)
    assert isinstance(result, Report)
    return result


def redact(text: str) -> str:
    """Return ``text`` with home folders as ``~`` and secrets as ``***``."""
    for pattern, shown in _RULES:
        text = pattern.sub(shown, text)
    return _ROOT_HOME.sub("~", _HOME.sub("~", text))


def _users(report: Report) -> list[str]:
    """Return the account names that home folders give away, to hide them elsewhere too."""
    found: dict[str, None] = {}

    def collect(text: str) -> str:
        found.update(dict.fromkeys(_HOME.findall(text)))
        return text

    _walk(report, collect)
    return [name for name in found if len(name) > 2]


def _walk(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, tuple):
        return tuple(_walk(item, change) for item in value)
    if isinstance(value, Mapping):
        return {_walk(key, change): _walk(item, change) for key, item in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        old = {field.name: getattr(value, field.name) for field in fields(value)}
        new = {name: _walk(item, change) for name, item in old.items()}
        return replace(value, **new)
    return value
