"""Findings that a project accepts until a date: ``leakguard-accepted.toml`` in its folder."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from leakguard.cli.output import complain
from leakguard.errors import UsageError
from leakguard.live.project_settings import read_toml
from leakguard.model.accepted import Accepted
from leakguard.model.finding import Ignored
from leakguard.model.report import Report
from leakguard.model.run import Run

NAME = "leakguard-accepted.toml"
_KEYS = ("fingerprint", "reason", "until")
_FINGERPRINT = re.compile(r"[0-9a-f]{12}")


def read_accepted(folder: Path | None = None) -> tuple[Accepted, ...]:
    """Return the entries of the nearest file in ``folder`` or above it; empty if there is none.

    Raises:
        UsageError: the file cannot be read, or an entry lacks a fingerprint, a reason or a date.
    """
    path = _nearest(folder)
    if path is None:
        return ()
    try:
        content = read_toml(path)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not TOML: {error}") from error
    entries = content.get("accepted", [])
    if not isinstance(entries, list):
        raise UsageError(f"{path}: accepted is no list; write [[accepted]] above each entry")
    return tuple(_entry(entry, f"{path}: entry {n}") for n, entry in enumerate(entries, 1))


def _nearest(folder: Path | None) -> Path | None:
    """Return the nearest file in a folder or above it; None if there is no file or no folder."""
    try:
        start = Path.cwd() if folder is None else folder
        return next((f / NAME for f in (start, *start.parents) if (f / NAME).is_file()), None)
    except OSError:
        return None


def _entry(entry: Any, where: str) -> Accepted:
    if not isinstance(entry, Mapping) or sorted(entry) != sorted(_KEYS):
        raise UsageError(f"{where}: give {', '.join(_KEYS)}, and nothing else")
    fingerprint, reason, until = (entry[key] for key in _KEYS)
    if not isinstance(fingerprint, str) or not _FINGERPRINT.fullmatch(fingerprint):
        raise UsageError(f"{where}: fingerprint is that of a finding, as --format json prints it")
    if not isinstance(reason, str) or not reason.strip():
        raise UsageError(f"{where}: reason is no text; say why the finding is accepted")
    if not isinstance(until, datetime.date) or isinstance(until, datetime.datetime):
        raise UsageError(f"{where}: until is no date; write until = 2030-12-31 without quotes")
    return Accepted(fingerprint, reason.strip(), until)


def accepted_now(run: Run) -> Run:
    """Return the run such that the findings accepted today are ignored.

    They are accepted by the project of the working folder.
    """
    today = datetime.date.today()
    now = (entry.fingerprint for entry in read_accepted() if entry.holds(today))
    ignore = tuple(dict.fromkeys((*run.info.ignore, *now)))
    return replace(run, info=replace(run.info, ignore=ignore))


def with_reasons(report: Report) -> Report:
    """Add to the report, for each finding left out as accepted, the reason for accepting it."""
    reasons = {entry.fingerprint: entry for entry in read_accepted()}
    if not report.ignored or not reasons:
        return report
    return replace(report, ignored=tuple(_with_reason(item, reasons) for item in report.ignored))


def _with_reason(item: Ignored, reasons: Mapping[str, Accepted]) -> Ignored:
    entry = reasons.get(item.pattern)
    if entry is None:
        return item
    return replace(item, reason=f"accepted until {entry.until}: {entry.reason}")


def say_what_expired() -> None:
    """Name on standard error the entries whose date has passed; their findings count again."""
    today = datetime.date.today()
    for entry in read_accepted():
        if not entry.holds(today):
            complain(
                f"{NAME}: {entry.fingerprint} was accepted until {entry.until} ({entry.reason}) "
                "and counts again; fix it, or remove the entry"
            )
