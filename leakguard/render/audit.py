"""Known leaks of an environment, for people and for programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from leakguard.model.known_leak import Audit, Exposure, KnownLeak
from leakguard.render import Layout
from leakguard.render.json_report import Json, finite_json
from leakguard.render.page import Page
from leakguard.render.section import Section
from leakguard.render.text import clean

_LEAK = "id kind trigger looks fix fixed unsure source"
_UNNAMED = 5  # packages without an exact version that a line names


def render_audit(audits: Sequence[Audit], format: str, layout: Layout) -> str:  # noqa: A002
    """Return the audits laid out in ``format``, one of `AUDIT_FORMATS`."""
    return AUDIT_FORMATS[format](audits, layout)


def verdict_line(audit: Audit) -> str:
    """Return on one line how many known leaks were found."""
    found, packages = len(audit.exposures), len({e.package.name for e in audit.exposures})
    looked = f"{audit.packages:,} {_several(audit.packages, 'package')}"
    if not found:
        return f"NONE: no known leak in {looked}"
    leaks = f"{found} known {_several(found, 'leak')}"
    return f"FOUND: {leaks} in {packages} of {looked}"


def explanation(leak: KnownLeak) -> str:
    """Return a known leak as Markdown: when it leaks, how it looks, the fix, the source."""
    versions = " or ".join(clean(text) for text in leak.versions)
    lines = [
        f"Releases: {'all' if versions == '>=0' else versions}",
        f"Leaks by: {clean(leak.trigger)}",
        f"How it looks: {clean(leak.looks)} ({leak.kind})",
        f"How to fix it: {clean(leak.fix)}",
    ]
    lines += [f"Not certain: {clean(leak.unsure)}"] if leak.unsure else []
    return "\n".join(f"- {line}" for line in (*lines, f"Source: {leak.source}"))


def _several(number: int, noun: str) -> str:
    return noun if number == 1 else f"{noun}s"


def _terminal(audits: Sequence[Audit], layout: Layout) -> str:
    page = Page(layout.width, layout.color)
    for place, audit in enumerate(audits):
        if place:
            page.rule()
        page.line(f"leakguard audit: {clean(audit.place)}", "dim")
        page.line(verdict_line(audit), "bold red" if audit.exposures else "bold green")
        for exposure in audit.exposures:
            _write_exposure(page, exposure)
        if audit.unjudged:
            page.line()
            page.prose(_unjudged(audit))
    return page.text()


def _write_exposure(page: Page, exposure: Exposure) -> None:
    leak = exposure.leak
    page.line()
    page.line(f"{_named(exposure)}: {leak.id}", "bold")
    page.prose(f"Leaks by: {clean(leak.trigger)}", indent=2, hang=4)
    page.prose(f"Looks: {clean(leak.looks)}", indent=2, hang=4)
    page.prose(f"Fix: {clean(leak.fix)}", indent=2, hang=4)
    if leak.unsure:
        page.prose(f"Not certain: {clean(leak.unsure)}", indent=2, hang=4)
    page.line(f"  Source: {leak.source}")


def _named(exposure: Exposure) -> str:
    package = exposure.package
    line = "" if package.line is None else f" (line {package.line})"
    return f"{clean(package.name)} {clean(package.version or '')}{line}"


def _unjudged(audit: Audit) -> str:
    names = [clean(name) for name in audit.unjudged]
    shown = ", ".join(names[:_UNNAMED])
    more = f" and {len(names) - _UNNAMED} more" if len(names) > _UNNAMED else ""
    return f"Without one exact version, so not looked at: {shown}{more}"


def section(audit: Audit) -> Section:
    """Return the known leaks as a table; packages that could not be judged are named below it."""
    rows = tuple(
        (_named(e), clean(e.leak.trigger), clean(e.leak.fix), e.leak.source)
        for e in audit.exposures
    )
    return Section(
        "audit",
        f"Known leaks: {clean(audit.place)}",
        ("Release", "Leaks by", "Fix", "Source"),
        rows,
        sentences=(_unjudged(audit),) if audit.unjudged else (),
        texts=frozenset({1, 2, 3}),
    )


def _markdown(audits: Sequence[Audit], layout: Layout) -> str:
    from leakguard.render.template import environment

    template = environment().get_template("verdicts.md.j2")
    return template.render(parts=[(verdict_line(audit), section(audit)) for audit in audits])


def _audit_json(audits: Sequence[Audit], layout: Layout) -> str:
    return finite_json({"schema": "leakguard.audit/1", "audits": [_value(a) for a in audits]})


def _value(audit: Audit) -> Json:
    return {
        "place": audit.place,
        "packages": audit.packages,
        "found": [
            {
                "package": exposure.package.name,
                "version": exposure.package.version,
                "line": exposure.package.line,
                **{name: getattr(exposure.leak, name) for name in _LEAK.split()},
            }
            for exposure in audit.exposures
        ],
        "without_version": list(audit.unjudged),
    }


def _sarif(audits: Sequence[Audit], layout: Layout) -> str:
    from leakguard.render.sarif import render_audits

    return render_audits(audits)


AUDIT_FORMATS: dict[str, Callable[[Sequence[Audit], Layout], str]] = {
    "terminal": _terminal,
    "markdown": _markdown,
    "json": _audit_json,
    "sarif": _sarif,
}
