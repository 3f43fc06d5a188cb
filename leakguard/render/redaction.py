"""Removes home folders, user names and secrets from a report, so that it can be published."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, cast

from leakguard.model.report import Report
from leakguard.model.secrets import without_secrets

_HOME = re.compile(r"(?:/home/|/Users/|/export/home/|[A-Za-z]:\\Users\\)([^/\\\s:'\"]+)")
_ROOT_HOME = re.compile(r"(?<![\w/])/root(?=/|\b)")
_MAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")


# Only a text with one of these can need a rule; most texts are labels without any.
_HINT = re.compile(
    r"(?i)[/\\@=]|token|secret|passw|passphrase|key|credential|auth|bearer|basic|hf_|gh[pousr]_"
    r"|github_pat|glpat|[sp]k-|xox|akia|asia|aiza|ya29|eyj"
)

_PLAIN = frozenset({int, float, bool, type(None)})


def redacted(report: Report) -> Report:
    """Return ``report`` with all texts safe to publish; numbers stay."""
    shots = report.run.snapshots
    rest = replace(report, run=replace(report.run, snapshots=()))
    inside = [_texts(shot) for shot in shots]
    changed = _changed(_texts(rest).union(*inside))
    if not changed:
        return report
    rest = cast(Report, _replaced(rest, changed))
    shown = (
        shot if texts.isdisjoint(changed) else _replaced(shot, changed)
        for shot, texts in zip(shots, inside, strict=True)
    )
    return replace(rest, run=replace(rest.run, snapshots=tuple(shown)))


def redact(text: str) -> str:
    """Return ``text`` with home folders as ``~`` and secrets as ``***``."""
    if _HINT.search(text) is None:
        return text
    text = _MAIL.sub("***@***", without_secrets(text))
    return _ROOT_HOME.sub("~", _HOME.sub("~", text))


def _changed(texts: set[str]) -> dict[str, str]:
    """Return the unsafe texts with their replacements."""
    shown = {text: redact(text) for text in texts}
    users = sorted({user for text in texts for user in _HOME.findall(text) if len(user) > 2})
    if users:  # a user name from a home folder may occur elsewhere without the folder
        named = re.compile(rf"(?<![\w.-])(?:{'|'.join(map(re.escape, users))})(?![\w-])")
        shown = {text: named.sub("user", kept) for text, kept in shown.items()}
    return {text: kept for text, kept in shown.items() if kept != text}


def _texts(value: Any) -> set[str]:
    """Return every string inside of ``value``; a set, because a run repeats most of them."""
    found: set[str] = set()
    pending = [value]
    while pending:
        item = pending.pop()
        kind = type(item)
        if kind is str:
            found.add(item)
        elif kind is tuple:
            pending.extend(item)
        elif kind not in _PLAIN:
            if isinstance(item, Mapping):
                pending.extend(item)
                pending.extend(item.values())
            else:
                pending.extend(_values(item))
    return found


def _replaced(value: Any, changed: Mapping[str, str]) -> Any:
    """Return ``value`` with strings replaced; the same object if there are none to replace."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is str:
        return changed.get(value, value)
    if kind is tuple:
        items = tuple(_replaced(item, changed) for item in value)
        return items if any(a is not b for a, b in zip(items, value, strict=True)) else value
    if isinstance(value, Mapping):
        return _replaced_mapping(value, changed)
    moved = {}
    for name, old in zip(_field_names(value), _values(value), strict=True):
        new = _replaced(old, changed)
        if new is not old:
            moved[name] = new
    return replace(value, **moved) if moved else value


def _replaced_mapping(value: Mapping[Any, Any], changed: Mapping[str, str]) -> Mapping[Any, Any]:
    pairs = {}
    same = True
    for key, old in value.items():
        name, new = changed.get(key, key), _replaced(old, changed)
        same = same and name is key and new is old
        pairs[name] = new
    return value if same else pairs


def _field_names(value: object) -> Iterable[str]:
    # The names that dataclasses.fields gives, without a new tuple for each value of a run.
    return getattr(value, "__dataclass_fields__", ())


def _values(value: object) -> list[Any]:
    return [getattr(value, name) for name in _field_names(value)]
