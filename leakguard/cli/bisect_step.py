"""Judges the commit checked out in the working folder, for ``git bisect run``.

Exit status: 0 good, 1 bad, 125 if the commit cannot be judged. Usage::

    python -m leakguard.cli.bisect_step KEPT RUN [--budget FILE] -- COMMAND...
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import click

from leakguard.cli.bisect import BAD, GOOD, SKIP
from leakguard.errors import LeakguardError


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("kept", type=click.Path(path_type=Path))
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option("--budget", type=click.Path(path_type=Path))
def step(kept: Path, run: Path, command: tuple[str, ...], budget: Path | None) -> None:
    """Run COMMAND, keep its RUN under KEPT by the commit's name, and exit with the judgement."""
    _remove(run)
    # The exit status is ignored: a run that was killed because of its leak can still be judged.
    subprocess.run(command, check=False, stdout=sys.stderr)
    if not run.exists():
        sys.exit(SKIP)
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], check=True, capture_output=True, text=True
    )
    place = kept / f"{commit.stdout.strip()}{run.suffix}"
    _remove(place)
    shutil.move(run, place)
    sys.exit(_judgement(place, budget))


def _judgement(run: Path, budget: Path | None) -> int:
    """Return the status of ``leakguard check`` for a run; SKIP if the run is too short to judge."""
    from leakguard.cli import main
    from leakguard.cli.report import read_report

    try:
        if budget is None and read_report(run).verdict == "inconclusive":
            return SKIP
    except LeakguardError:
        return SKIP
    limits = [] if budget is None else ["--budget", str(budget)]
    status = main(["check", str(run), *limits, "-o", "/dev/null"])
    return status if status in (GOOD, BAD) else SKIP


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


if __name__ == "__main__":
    step()
