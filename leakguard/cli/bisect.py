"""``leakguard bisect``: find the commit that introduced a leak, and how it changed the report."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import click

from leakguard.cli.output import wants_color, write_document
from leakguard.cli.report import read_report
from leakguard.errors import UsageError
from leakguard.render import Layout
from leakguard.render.text import columns

#: Exit statuses of the judging process, as git bisect reads them.
GOOD, BAD, SKIP = 0, 1, 125
_SHOWN = 12  # hexadecimal digits of a commit


@dataclass(frozen=True, slots=True)
class _Trial:
    """How one commit is judged.

    Attributes:
        command: the command that writes a run.
        run: the path, in the checkout, to which the command writes the run.
        kept: the folder in which the runs of judged commits are kept.
        budget: the file with the limits; None allows no leak.
    """

    command: tuple[str, ...]
    run: Path
    kept: Path
    budget: Path | None

    def words(self) -> list[str]:
        """Return the command line that judges the commit that is checked out."""
        budget = [] if self.budget is None else ["--budget", str(self.budget.absolute())]
        return [
            sys.executable, "-m", "leakguard.cli.bisect_step", str(self.kept), str(self.run),
            *budget, "--", *self.command,
        ]  # fmt: skip


@click.command("bisect", context_settings={"ignore_unknown_options": True})
@click.argument("good", metavar="GOOD")
@click.argument("bad", metavar="BAD")
@click.argument("command", metavar="-- COMMAND...", nargs=-1, required=True,
                type=click.UNPROCESSED)  # fmt: skip
@click.option("--run", "run", metavar="FILE", default="run.jsonl", show_default=True,
              type=click.Path(path_type=Path),
              help="Where COMMAND writes its run: a file, a folder or a log.")  # fmt: skip
@click.option("--budget", metavar="FILE", type=click.Path(path_type=Path, exists=True),
              help="Limits in TOML. Default: no leak is allowed.")  # fmt: skip
@click.option("-o", "--output", metavar="FILE", type=click.Path(path_type=Path),
              help="Write to FILE instead of standard output.")  # fmt: skip
def bisect(
    good: str, bad: str, command: tuple[str, ...], run: Path, budget: Path | None,
    output: Path | None,
) -> int:  # fmt: skip
    """Find the first commit after GOOD, up to BAD, in which COMMAND leaks, and compare its report
    with that of the commit before.

    COMMAND runs in a separate checkout, so your working tree stays as it is; give data outside the
    repository by absolute paths. A commit that writes no run, or whose run is too short to judge,
    is skipped.
    """
    from leakguard.analysis.comparison import compare
    from leakguard.render.comparison import render_comparison

    if run.is_absolute():
        raise UsageError(f"--run {run} lies outside of the checkout; give a relative path")
    with _checkout(bad) as tree:
        trial = _Trial(command, run, tree.parent / "kept", budget)
        first = _first_bad(tree, _commit(good), _commit(bad), trial)
        before = _judged_parent(tree, first, trial)
        reports = [read_report(_kept(trial, commit)) for commit in (before, first)]
        layout = Layout(width=columns(), color=wants_color("auto", output))
        compared = render_comparison(compare(*reports), "terminal", layout)
        said = _git(tree, "log", "-1", f"--abbrev={_SHOWN}", "--format=%h %an, %ad: %s",
                    "--date=short", first)  # fmt: skip
        write_document(f"The first commit that leaks: {said}\n\n{compared}", output)
    return 0


@contextmanager
def _checkout(commit: str) -> Iterator[Path]:
    """Yield a second working tree of this repository, which is removed after the block."""
    with tempfile.TemporaryDirectory(prefix="leakguard-bisect-") as folder:
        tree = Path(folder) / "tree"
        (Path(folder) / "kept").mkdir()
        _git(Path(), "worktree", "add", "--detach", "--quiet", str(tree), _commit(commit))
        try:
            yield tree
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(tree)], check=False,
                           capture_output=True)  # fmt: skip


def _first_bad(tree: Path, good: str, bad: str, trial: _Trial) -> str:
    """Return the first bad commit.

    Raises:
        UsageError: GOOD leaks, BAD does not leak, or commits that cannot be judged leave the
            answer open.
    """
    if _judge_commit(tree, good, trial) != GOOD:
        raise UsageError(f"{good[:_SHOWN]} is not a good commit: {_why(trial, good)}")
    if _judge_commit(tree, bad, trial) in (GOOD, SKIP):
        raise UsageError(f"{bad[:_SHOWN]} is not a bad commit: {_why(trial, bad)}")
    _git(tree, "bisect", "start", bad, good)
    done = subprocess.run(["git", "bisect", "run", *trial.words()], cwd=tree, check=False,
                          capture_output=True, text=True, env=_environment(tree))  # fmt: skip
    if done.returncode:
        left = [line for line in done.stdout.splitlines() if "skipped" in line]
        reason = left[-1] if left else (done.stderr.strip().splitlines() or ["git gave up"])[-1]
        raise UsageError(f"no single commit could be found: {reason.strip()}")
    return _git(tree, "rev-parse", "refs/bisect/bad")


def _judged_parent(tree: Path, commit: str, trial: _Trial) -> str:
    """Return the first parent of a commit; judge it if the search has not judged it yet."""
    parent = _git(tree, "rev-parse", f"{commit}^1")
    if not _has_run(trial, parent):
        _judge_commit(tree, parent, trial)
    return parent


def _judge_commit(tree: Path, commit: str, trial: _Trial) -> int:
    _git(tree, "checkout", "--quiet", "--force", "--detach", commit)
    click.echo(f"leakguard: judging {commit[:_SHOWN]}", err=True)
    return subprocess.run(trial.words(), cwd=tree, check=False, env=_environment(tree)).returncode


def _why(trial: _Trial, commit: str) -> str:
    if not _has_run(trial, commit):
        command = shlex.join(trial.command)
        return f"{command} wrote no run to {trial.run}; leakguard run -o {trial.run} SCRIPT does"
    return read_report(_kept(trial, commit)).headline


def _has_run(trial: _Trial, commit: str) -> bool:
    return _kept(trial, commit).exists()


def _kept(trial: _Trial, commit: str) -> Path:
    return trial.kept / f"{commit}{trial.run.suffix}"


def _commit(name: str) -> str:
    return _git(Path(), "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}", about=name)


def _git(folder: Path, *words: str, about: str | None = None) -> str:
    """Run git and return what it printed.

    Raises:
        UsageError: git failed or is not installed.
    """
    try:
        done = subprocess.run(["git", *words], cwd=folder, check=False, capture_output=True,
                              text=True)  # fmt: skip
    except FileNotFoundError:
        raise UsageError("bisect needs git, and the PATH has none") from None
    if done.returncode:
        said = (
            done.stderr.strip().splitlines() or [f"git knows no commit {about or words[-1]!r}"]
        )[-1]
        raise UsageError(said)
    return done.stdout.strip()


def _environment(tree: Path) -> dict[str, str]:
    """Return an environment in which modules of the checkout take precedence over others."""
    places = [str(tree), str(tree / "src")] if (tree / "src").is_dir() else [str(tree)]
    inherited: Sequence[str] = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    own = str(Path(__file__).parents[2])
    search = os.pathsep.join(filter(None, (*places, *inherited, own)))
    return {**os.environ, "PYTHONPATH": search}
