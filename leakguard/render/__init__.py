"""Renders reports: one file per format, loaded on demand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

from leakguard.errors import UsageError

if TYPE_CHECKING:
    from leakguard.model.report import Report

__all__ = ["FORMATS", "TEXT_FORMATS", "Layout", "document", "render", "render_many"]


@dataclass(frozen=True, slots=True)
class Layout:
    """Options of a reader; each renderer uses those that it needs.

    Attributes:
        width: columns of a terminal.
        color: whether a terminal shows colours.
        redact: whether to hide home folders, user names and secrets of command lines.
        fail_on: the least verdict for which a test report counts a finding as failed.
        detail: how much a terminal shows: ``brief`` (verdict, fix, holder, line), ``usual`` (also
            the findings and what was cleared) or ``full`` (every table).
        sources: the folder below which files may be quoted as source lines; None to quote nothing.
    """

    width: int = 80
    color: bool = False
    redact: bool = False
    fail_on: str = "leak"
    detail: Literal["brief", "usual", "full"] = "usual"
    sources: Path | None = None


Renderer = Callable[[Sequence["Report"], Layout], "str | bytes"]

_RENDERERS = {
    "terminal": "terminal:render",
    "markdown": "markdown:render",
    "html": "html:render",
    "json": "json_report:render",
    "junit": "junit:render",
    "github": "github:render",
    "issue": "issue:render",
    "sarif": "sarif:render",
    "pprof": "pprof:render",
    "speedscope": "speedscope:render",
    "svg": "picture:svg",
    "png": "picture:png",
}

FORMATS = tuple(_RENDERERS)
BINARY_FORMATS = ("png", "pprof")
TEXT_FORMATS = tuple(name for name in FORMATS if name not in BINARY_FORMATS)


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
        UsageError: as for `render`; also if there is no report, or the format is not text.
    """
    drawn = document(reports, format, **options)
    if isinstance(drawn, bytes):
        raise UsageError(f"{format} is no text; call leakguard.render.document for its bytes")
    return drawn


def document(
    reports: Sequence[Report],
    format: str,  # noqa: A002
    **options: object,
) -> str | bytes:
    """Return the document of `render_many`, or the bytes of a picture or a pprof file.

    Raises:
        UsageError: as for `render_many`, except that bytes are allowed; also if a package that
            the format needs is not installed.
    """
    if not reports:
        raise UsageError("there is no report to render")
    renderer, layout = _renderer(format), _layout(options)
    if layout.redact:
        from leakguard.render.redaction import redacted

        reports = [redacted(report) for report in reports]
    return renderer(reports, layout)


def _renderer(name: str) -> Renderer:
    if name not in _RENDERERS:
        raise UsageError(f"unknown format {name!r}; choose one of {', '.join(FORMATS)}")
    module, function = _RENDERERS[name].split(":")
    return cast(Renderer, getattr(import_module(f"leakguard.render.{module}"), function))


def _layout(options: dict[str, object]) -> Layout:
    known = [field.name for field in fields(Layout)]
    unknown = [name for name in options if name not in known]
    if unknown:
        raise UsageError(f"unknown option {unknown[0]!r}; a renderer takes {', '.join(known)}")
    return Layout(**options)  # type: ignore[arg-type]
