"""The bugs of many runs: one line per bug, the most damaging first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict

from leakguard.model.fleet import Bug, Fleet
from leakguard.model.units import format_bytes
from leakguard.render import Layout
from leakguard.render.json_report import finite_json
from leakguard.render.page import Page
from leakguard.render.section import Section
from leakguard.render.text import clean, short_type

_COLUMNS = ("Bug", "Runs", "Damage", "Leaked", "First", "Last", "Held by", "Made at")


def render_fleet(fleet: Fleet, format: str, layout: Layout) -> str:  # noqa: A002
    """Return the bugs laid out in ``format``, one of `FLEET_FORMATS`."""
    return FLEET_FORMATS[format](fleet, layout)


def headline(fleet: Fleet) -> str:
    """Return on one line how many bugs are in how many runs."""
    bugs = f"{fleet.found:,} {'bug' if fleet.found == 1 else 'bugs'}"
    runs = f"{fleet.leaking:,} of {fleet.runs:,} {'run' if fleet.runs == 1 else 'runs'}"
    return f"{bugs} in {runs}" if fleet.found else f"no leak in {fleet.runs:,} runs"


def section(fleet: Fleet) -> Section:
    """Return the bugs as a table; damage is leaked bytes times the hours of the run."""
    rows = tuple(_row(bug, fleet.runs) for bug in fleet.bugs)
    hidden = fleet.found - len(fleet.bugs)
    more = (f"{hidden:,} more; --top shows them",) if hidden else ()
    return Section("fleet", "Bugs by damage", _COLUMNS, rows, sentences=more,
                   texts=frozenset({6, 7}))  # fmt: skip


def _row(bug: Bug, runs: int) -> tuple[str, ...]:
    return (
        _named(bug),
        f"{bug.runs:,} of {runs:,}",
        f"{format_bytes(bug.damage)}·h",
        format_bytes(bug.leaked_bytes),
        "" if bug.first is None else f"{bug.first:%Y-%m-%d}",
        "" if bug.last is None else f"{bug.last:%Y-%m-%d}",
        clean(bug.held_by or ""),
        clean(bug.line or ""),
    )


def _named(bug: Bug) -> str:
    what = short_type(bug.type) if bug.type else bug.kind
    named = f"{bug.group} {what}" if bug.group == bug.fingerprint else f"{bug.group}: {what}"
    return clean(f"{named}, suspect" if bug.certainty == "suspect" else named)


def _terminal(fleet: Fleet, layout: Layout) -> str:
    page = Page(layout.width, layout.color)
    page.line(f"leakguard fleet: {headline(fleet)}", "bold")
    for place, bug in enumerate(fleet.bugs, 1):
        _, runs, damage, leaked, first, last, held, line = _row(bug, fleet.runs)
        page.line()
        page.line(f"{place}. {_named(bug)}: {runs} runs, {damage}, {leaked} leaked", "bold")
        where = ", ".join(
            filter(None, (held and f"held by {held}", line and f"made at {line}",
                          bug.library and f"a known leak of {clean(bug.library)}"))
        )  # fmt: skip
        if where:
            page.prose(where, indent=3, hang=5)
        seen = f"first seen {first}, last {last}; " if first else ""
        hosts = f"on {bug.hosts:,} {'host' if bug.hosts == 1 else 'hosts'}; " if bug.hosts else ""
        lost = f"{bug.unfinished:,} did not finish; " if bug.unfinished else ""
        page.prose(f"{seen}{hosts}{lost}worst: {clean(bug.worst)}", indent=3, hang=5)
        if bug.fix:
            page.prose(f"Fix: {clean(bug.fix)}", indent=3, hang=5)
    for sentence in section(fleet).sentences:
        page.line()
        page.line(sentence, "dim")
    return page.text()


def _markdown(fleet: Fleet, layout: Layout) -> str:
    from leakguard.render.template import environment

    template = environment().get_template("verdicts.md.j2")
    return template.render(parts=[(headline(fleet), section(fleet))])


def _fleet_json(fleet: Fleet, layout: Layout) -> str:
    bugs = [
        {**asdict(bug), "first": _moment(bug.first), "last": _moment(bug.last)}
        for bug in fleet.bugs
    ]
    return finite_json({
        "schema": "leakguard.fleet/1",
        "runs": fleet.runs,
        "leaking": fleet.leaking,
        "found": fleet.found,
        "bugs": bugs,
    })  # fmt: skip


def _moment(value: object) -> str | None:
    return None if value is None else str(value).replace(" ", "T")


FLEET_FORMATS: dict[str, Callable[[Fleet, Layout], str]] = {
    "terminal": _terminal,
    "markdown": _markdown,
    "json": _fleet_json,
}
