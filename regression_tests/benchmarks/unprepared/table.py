"""The table of scripts, in Markdown."""

from __future__ import annotations

import os
from collections.abc import Sequence

from regression_tests.benchmarks.unprepared.play import Played

LEGEND = """
Each script runs alone and under `leakguard run`, in turns, with the same arguments. **Same**
compares standard output byte for byte (words that differ between two plain runs too, such as steps
per second, left out) and the exit status. **CPU alone** and **extra** are seconds of the whole
process, start and end report included: leakguard has a fixed cost (its start, the first
looks, the report), whose share is large in scripts as short as these. **While it ran**
is what the guard charged itself with, as a share of the script's CPU time. What looks may cost is
a share of the time that passes: where other programs have most of the machine, that is several
times as much of the script's own CPU time.
"""
_COLUMNS = ("script", "generations", "found as", "verdict", "same", "CPU alone", "extra",
            "while it ran")  # fmt: skip
HEAD = f"| {' | '.join(_COLUMNS)} |\n{'|---' * len(_COLUMNS)}|"


def page(all_played: Sequence[Played]) -> str:
    """Return the table and its sums."""
    same = sum(played.same for played in all_played)
    verdicts = [played.report.verdict if played.report else "none" for played in all_played]
    accused = sum(
        verdict in ("leak", "suspect") and played.script.grows is None
        for verdict, played in zip(verdicts, all_played, strict=True)
    )
    origins = sorted({played.script.origin for played in all_played})
    return "\n".join(
        [
            f"{len(all_played)} scripts: {same} with the same output and status, "
            f"{len(verdicts) - verdicts.count('none')} with generations, "
            f"{verdicts.count('stable')} stable, {accused} accused of what nobody planted.",
            f"Made on {os.cpu_count()} cores under a load of {os.getloadavg()[2]:.0f}.",
            LEGEND,
            HEAD,
            *map(row, all_played),
            "",
            *_told(all_played),
            *(f"- {origin}" for origin in origins),
            "",
        ]
    )


def row(played: Played) -> str:
    """Return one line of the table."""
    run, report = played.run, played.report
    alone = sorted(one.cpu_seconds for one in played.alone)[len(played.alone) // 2]
    own = played.own_seconds
    cells = (
        f"`{played.script.command}`",
        str(len(run.generations)) if run else "0",
        (run.info.generation_means if run else None) or "-",
        report.verdict if report else "-",
        f"{'yes' if played.same else '**no**'}, {played.watched[-1].status}",
        f"{alone:.1f} s",
        f"{played.extra_seconds:+.1f} s ({played.extra_seconds / alone:+.1%})",
        "-" if own is None else f"{own / alone:.1%}",
    )
    return f"| {' | '.join(cells)} |"


def _told(all_played: Sequence[Played]) -> list[str]:
    """Return what was said of the scripts that something was said of."""
    lines = []
    for played in all_played:
        findings = played.report.findings if played.report else ()
        for finding in findings:
            where = ", ".join(filter(None, (finding.type, finding.held_by, finding.created_at)))
            known = f"; {played.script.grows}" if played.script.grows else ""
            lines.append(
                f"- `{played.script.path}`: {finding.verdict}, {finding.kind}: {where}{known}"
            )
    return [*lines, ""] if lines else []
