"""Reports as text: one file a format, loaded when it is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from importlib import import_module
from typing import Protocol, cast

from leakguard.errors import UsageError
from leakguard.model.report import Report

__all__ = ["FORMATS", "Layout", "render", "render_many"]


@dataclass(frozen=True, slots=True)
class Layout:
    """What a reader may choose; each renderer takes what it has a use for.

    Attributes:
        width: columns of a terminal.
        color: colours in a terminal.
        redact: hide home folders, user names and secrets of command lines.
        fail_on: the verdict from which a test report counts a finding as failed.
    """

    width: int = 80
    color: bool = False
    redact: bool = False
    fail_on: str = "leak"


class Renderer(Protocol):
    """A renderer module: it lays out one or several reports of the same file."""

    def render(self, reports: Sequence[Report], layout: Layout) -> str:
        """Return the whole document."""
        ...


_MODULES = {
    "terminal": "leakguard.render.terminal",
    "markdown": "leakguard.render.markdown",
    "json": "leakguard.render.json_report",
    "junit": "leakguard.render.junit",
    "github": "leakguard.render.github",
    "issue": "leakguard.render.issue",
}

FORMATS = tuple(_MODULES)


def render(report: Report, format: str = "markdown", **options: object) -> str:  # noqa: A002
    """Return ``report`` laid out in ``format``; ``options`` are the fields of `Layout`.

    Raises:
        UsageError: the format or an option is unknown; the message names the choices.
    """
    return render_many((report,), format, **options)


def render_many(
    reports: Sequence[Report],
    format: str = "markdown",  # noqa: A002
    **options: object,
) -> str:
    """Return several reports, for example the restarts of one log, as one document.

    Raises:
        UsageError: as `render`, or there is no report.
    """
    if not reports:
        raise UsageError("there is no report to render")
    renderer, layout = _renderer(format), _layout(options)
    if layout.redact:
        from leakguard.render.redaction import redacted

        reports = [redacted(report) for report in reports]
    return renderer.render(reports, layout)


def _renderer(name: str) -> Renderer:
    if name not in _MODULES:
        raise UsageError(f"unknown format {name!r}; choose one of {', '.join(FORMATS)}")
    return cast(Renderer, import_module(_MODULES[name]))


def _layout(options: dict[str, object]) -> Layout:
    known = [field.name for field in fields(Layout)]
    unknown = [name for name in options if name not in known]
    if unknown:
        raise UsageError(f"unknown option {unknown[0]!r}; a renderer takes {', '.join(known)}")
    return Layout(**options)  # type: ignore[arg-type]
