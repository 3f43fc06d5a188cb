"""``leakguard diff``: what changed from one run to another."""

from __future__ import annotations

from pathlib import Path

import click

from leakguard.cli.accepted_file import say_what_expired
from leakguard.cli.output import wants_color, write_document
from leakguard.cli.report import read_report
from leakguard.model.finding import SEVERITY, Verdict
from leakguard.render import Layout
from leakguard.render.text import columns

_FORMATS = ("terminal", "markdown", "json", "comment")


@click.command("diff")
@click.argument("before", metavar="A", type=click.Path(path_type=Path))
@click.argument("after", metavar="B", type=click.Path(path_type=Path))
@click.option("--format", "format_", type=click.Choice(_FORMATS),
              default="terminal", show_default=True,
              help="comment: for a pull request, A without the change and B with it.")  # fmt: skip
@click.option("-o", "--output", metavar="FILE", type=click.Path(path_type=Path),
              help="Write to FILE instead of standard output.")  # fmt: skip
@click.option("--fail-on", type=click.Choice(("leak", "suspect")),
              help="Exit with status 1 if a new finding has this verdict or worse.")  # fmt: skip
@click.option("--color", type=click.Choice(("auto", "always", "never")), default="auto",
              show_default=True)  # fmt: skip
def diff(
    before: Path, after: Path, format_: str, output: Path | None, fail_on: Verdict | None,
    color: str,
) -> int:  # fmt: skip
    """Compare run A with run B: findings, growth, peaks, counts."""
    from leakguard.analysis.comparison import compare
    from leakguard.render.comparison import render_comparison

    say_what_expired()
    comparison = compare(read_report(before), read_report(after))
    layout = Layout(width=columns(), color=wants_color(color, output))
    write_document(render_comparison(comparison, format_, layout), output)
    worst = max((SEVERITY[finding.verdict] for finding in comparison.new), default=-1)
    return int(fail_on is not None and worst >= SEVERITY[fail_on])
