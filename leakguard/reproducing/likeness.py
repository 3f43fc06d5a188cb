"""Decides whether a test failed because of the finding, or because of something else."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from leakguard.fixing.files import is_same_file
from leakguard.model.code_line import code_line
from leakguard.model.finding import Finding

_NAME = re.compile(r"[A-Za-z_]\w*")
_ENTRY = re.compile(r"\[[^\]]*\]")
_LOCAL = re.compile(r"\blocal (\w+) in \w+\(\)")
Told = Mapping[str, Any]


def holder_name(held_by: str | None) -> str | None:
    """Return the last name of a holder, such as ``callbacks`` of ``__main__.Trainer.callbacks``.

    The name of the module alone is none.
    """
    path = _LOCAL.sub(r"local.\1", _ENTRY.sub("", held_by or ""))
    names = _NAME.findall(path)
    return names[-1] if len(names) > 1 else None


def is_same(finding: Finding, told: Told, line: str | None, told_line: str | None) -> bool:
    """Return whether a finding of a test's report is the finding of the run.

    The holder decides if both have one with a name. Otherwise a class of the program decides, or
    the text of the line that made the objects. Modules differ: what was ``__main__`` is imported or
    copied.

    Args:
        finding: the finding of the run.
        told: the finding of the test, as plain values.
        line: the text of the line that made the objects in the run.
        told_line: the text of the line that made the objects in the test.
    """
    ours, theirs = holder_name(finding.held_by), holder_name(told.get("held_by"))
    if ours is not None and theirs is not None:
        return ours == theirs
    own, other = finding.type or "", str(told.get("type") or "")
    if own and _short(own) == _short(other) and _is_own(own, finding):
        return True
    same_line = line is not None and told_line is not None and _bare(line) == _bare(told_line)
    return same_line and (_short(own) == _short(other) or finding.kind == told.get("kind"))


def line_of(created_at: str | None, texts: Mapping[str, str]) -> str | None:
    """Return the text of a line that a finding names; None if its file is not among ``texts``."""
    found = code_line(created_at)
    if found is None:
        return None
    for path, text in texts.items():
        if is_same_file(path, found.file):
            lines = text.splitlines()
            return lines[found.line - 1] if found.line <= len(lines) else None
    return None


def _is_own(name: str, finding: Finding) -> bool:
    """Return whether a type is a class of the program, so that its name says which."""
    return "." in name and finding.library is None and not name.startswith(("numpy.", "torch."))


def _short(name: str) -> str:
    return name.rpartition(".")[2]


def _bare(line: str) -> str:
    """Return a line without what another layout of the same code changes."""
    return re.sub(r"[\s'\"()]|#.*", "", line)
