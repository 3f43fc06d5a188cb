"""A report without home folders, user names and secrets, for posting where strangers read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, cast

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
    texts = _texts(report)
    shown = {text: redact(text) for text in texts}
    users = sorted({user for text in texts for user in _HOME.findall(text) if len(user) > 2})
    if users:  # a name that a home folder gives away may stand elsewhere without it
        named = re.compile(rf"(?<![\w.-])(?:{'|'.join(map(re.escape, users))})(?![\w-])")
        shown = {text: named.sub("user", kept) for text, kept in shown.items()}
    changed = {text: kept for text, kept in shown.items() if kept != text}
    return cast(Report, _replaced(report, changed)) if changed else report


def redact(text: str) -> str:
    """Return ``text`` with home folders as ``~`` and secrets as ``***``."""
    for pattern, shown in _RULES:
        text = pattern.sub(shown, text)
    return _ROOT_HOME.sub("~", _HOME.sub("~", text))


def _texts(value: Any) -> set[str]:
    """Return every string inside of ``value``; the same ones come again and again in a run."""
    found: set[str] = set()
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            found.add(item)
        else:
            pending.extend(_inside(item))
    return found


def _inside(value: Any) -> Iterable[Any]:
    if isinstance(value, tuple):
        return value
    if isinstance(value, Mapping):
        return (*value.keys(), *value.values())
    return [getattr(value, name) for name in _fields(value)]


def _replaced(value: Any, changed: Mapping[str, str]) -> Any:
    """Return ``value`` with the changed strings; what holds none of them stays the same object."""
    if isinstance(value, str):
        return changed.get(value, value)
    if isinstance(value, tuple):
        items = tuple(_replaced(item, changed) for item in value)
        return items if any(a is not b for a, b in zip(items, value, strict=True)) else value
    if isinstance(value, Mapping):
        pairs = {_replaced(k, changed): _replaced(v, changed) for k, v in value.items()}
        same = all(k in pairs and pairs[k] is v for k, v in value.items())
        return value if same else pairs
    old = {name: getattr(value, name) for name in _fields(value)}
    new = {name: _replaced(item, changed) for name, item in old.items()}
    moved = {name: item for name, item in new.items() if item is not old[name]}
    return replace(value, **moved) if moved else value


def _fields(value: object) -> Iterable[str]:
    # What dataclasses.fields reads, without building a tuple for each of a run's many values.
    return getattr(value, "__dataclass_fields__", ())
