"""How pytest shows a broken budget: the message alone, at the test that broke it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

_PLUGIN = Path(__file__).parent


def show_failure(report: pytest.TestReport, item: pytest.Item) -> None:
    """Leave the frames of this plugin out of a failure that happened in no line of the test.

    What pytest made is changed in place, since only its own classes cross from a worker.
    """
    trace: Any = getattr(report.longrepr, "reprtraceback", None)
    crash: Any = getattr(report.longrepr, "reprcrash", None)
    if trace is None or crash is None or not trace.reprentries:
        return
    trace.extraline = None
    last = trace.reprentries[-1]
    place, line, _ = item.location
    if last.reprfileloc is not None and _is_users(last.reprfileloc.path, item):
        return  # a line of the test is shown
    message = crash.message.split("\n")
    last.lines = [f"E   {text}".rstrip() for text in message]
    trace.reprentries = [last]
    crash.path, crash.lineno = os.fspath(item.path), (line or 0) + 1
    if last.reprfileloc is not None:
        last.reprfileloc.path, last.reprfileloc.lineno = place, (line or 0) + 1


def _is_users(path: str, item: pytest.Item) -> bool:
    """True unless the frame is of leakguard or of pytest itself."""
    file = item.config.invocation_params.dir / path
    return _PLUGIN not in file.parents and "_pytest" not in file.parts
