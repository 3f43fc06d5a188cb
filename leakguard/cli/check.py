"""``leakguard check``: compare a run with a budget and with the last good run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import click

from leakguard.cli.accepted_file import say_what_expired
from leakguard.cli.budget_file import read_budget
from leakguard.cli.output import append_summary, wants_color, write_document
from leakguard.cli.report import RunPath, read_processes, read_report
from leakguard.errors import UsageError
from leakguard.model import Report
from leakguard.model.budget import Budget, Check
from leakguard.render import Layout
from leakguard.render.text import columns

_FORMATS = ("terminal", "markdown", "json", "junit", "github")


@click.command("check")
@click.argument("run", metavar="RUN", type=RunPath())
@click.option("--budget", metavar="FILE", type=click.Path(path_type=Path),
              help="Limits in TOML. Default: [tool.leakguard.budget] of ./pyproject.toml, "
              "else no leak is allowed.")  # fmt: skip
@click.option("--baseline", metavar="RUN", type=click.Path(path_type=Path),
              help="The last good run; anything worse fails.")  # fmt: skip
@click.option("--format", "format_", type=click.Choice(_FORMATS), default="terminal",
              show_default=True)  # fmt: skip
@click.option("-o", "--output", metavar="FILE", type=click.Path(path_type=Path),
              help="Write to FILE instead of standard output.")  # fmt: skip
@click.option("--color", type=click.Choice(("auto", "always", "never")), default="auto",
              show_default=True)  # fmt: skip
def check(
    run: Path | str, budget: Path | None, baseline: Path | None, format_: str, output: Path | None,
    color: str,
) -> int:  # fmt: skip
    """Check RUN against a memory budget; exit with status 1 if a limit is broken.

    In a run directory (or its URL) each process is checked, in any other folder each file. If RUN
    does not record a limited quantity, the exit status is 2.
    """
    from leakguard.analysis import comparison
    from leakguard.render.checks import render_checks

    limits = read_budget(budget)
    say_what_expired()
    report, processes = read_processes(run)
    several = len(processes) > 1
    checks = tuple(c for process in processes for c in _checks(process, limits, several=several))
    if baseline is not None:
        checks += comparison.regressions(comparison.compare(read_report(baseline), report), limits)
    layout = Layout(width=columns(), color=wants_color(color, output))
    write_document(render_checks(report, checks, format_, layout), output)
    if format_ == "github":
        append_summary(render_checks(report, checks, "markdown", layout))
    return _status(checks)


def _checks(process: Report, limits: Budget, *, several: bool) -> Iterator[Check]:
    """Yield the checks of one process or file, with its name if there are several."""
    from leakguard.analysis import budget as budgets

    info = process.run.info
    for check in budgets.check(process, limits):
        if info.observer is not None and check.outcome == "unknown":
            continue  # a process observed from outside has no counted objects
        named = several or info.job is not None
        subject = f"{info.name}: {check.subject}" if named else check.subject
        yield replace(check, subject=subject)


def _status(checks: tuple[Check, ...]) -> int:
    if any(check.outcome == "broken" for check in checks):
        return 1
    unknown = [check for check in checks if check.outcome == "unknown"]
    if unknown:
        first = unknown[0]
        more = f" (and {len(unknown) - 1} more)" if len(unknown) > 1 else ""
        raise UsageError(f"{first.subject} could not be checked: {first.fact}{more}")
    return 0
