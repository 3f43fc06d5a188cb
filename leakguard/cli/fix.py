"""``leakguard fix``: a change that removes a leak, tried by running the program."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import click

from leakguard.cli.output import complain, write_document
from leakguard.cli.report import RunPath, chosen_finding, read_report
from leakguard.errors import UsageError
from leakguard.fixing.clue import clue_of
from leakguard.fixing.command import UserCommand
from leakguard.fixing.edit import Edit
from leakguard.fixing.outcome import Played, first_difference, judged, matched, volatile_lines
from leakguard.fixing.proposals import proposals, why_none
from leakguard.fixing.tree import copied, patched
from leakguard.model.finding import Finding
from leakguard.model.tried_fix import BEST_FIRST, TriedFix
from leakguard.render.tried_fix import told


@click.command("fix", context_settings={"ignore_unknown_options": True})
@click.argument("run", metavar="RUN", type=RunPath())
@click.argument("command", metavar="-- COMMAND...", nargs=-1, required=True,
                type=click.UNPROCESSED)  # fmt: skip
@click.option("--finding", "number", metavar="N", type=click.IntRange(min=1), default=1,
              show_default=True, help="Which finding of RUN; the first is the worst.")  # fmt: skip
@click.option("--patch", metavar="FILE", type=click.Path(path_type=Path, exists=True),
              help="Try this unified diff instead of proposed changes.")  # fmt: skip
@click.option("--run", "writes", metavar="FILE", type=click.Path(path_type=Path),
              help="Where COMMAND writes its run, below its folder. Default: the name of "
              "RUN.")  # fmt: skip
@click.option("--generations", metavar="N", type=click.IntRange(min=5),
              help="Stop each run after N generations. Default: at its end.")  # fmt: skip
@click.option("--limit", metavar="SECONDS", type=click.FloatRange(min=1), default=600.0,
              show_default=True, help="Stop each run after so long.")  # fmt: skip
@click.option("--tries", metavar="N", type=click.IntRange(min=1), default=6, show_default=True,
              help="Try at most so many changes.")  # fmt: skip
@click.option("-o", "--output", metavar="FILE", type=click.Path(path_type=Path),
              help="Write the diff to FILE instead of standard output.")  # fmt: skip
def fix(
    run: Path | str, command: tuple[str, ...], number: int, patch: Path | None,
    writes: Path | None, generations: int | None, limit: float, tries: int, output: Path | None,
) -> int:  # fmt: skip
    """Propose a change for a finding of RUN, and try it by running COMMAND with and without it.

    COMMAND runs in copies of your folder, so your files stay as they are: in a git repository with
    the uncommitted changes, elsewhere with all files. Give data that git ignores by absolute path.
    The diff goes to standard output, and what it did to standard error: fixed, less, not fixed, or
    broke the program (another exit status, or other lines printed). Exit status 1 if it is not
    fixed. Needs LibCST (extra: fix), except with --patch.
    """
    report = read_report(run)
    finding = chosen_finding(report, number, run)
    watched = report.run.info.generation_means is not None
    if writes is not None and writes.is_absolute():
        raise UsageError(f"--run {writes} lies outside of the copy; give a relative path")
    expected = writes or (None if watched else _below_here(run))
    user = UserCommand(command, expected, watched, generations, limit, read_report)
    trials = _Trials(user, finding)
    if patch is None:
        clue = clue_of(finding, report.run)
        with copied(Path.cwd()) as tree:
            proposed = proposals(tree.root, clue, command)
        if not proposed:
            complain(f"no change is proposed: {why_none(clue, finding.library)}. {finding.fix}")
            return 1
        trials.begin()
        tried = list(trials.each(proposed[:tries]))
    else:
        trials.begin()
        tried = [trials.patch(patch)]
    best = min(tried, key=lambda each: BEST_FIRST.index(each.outcome))
    write_document(best.diff, output)
    if len(tried) > 1 and best is not tried[-1]:
        click.echo(f"The best of {len(tried)} changes:\n{told(best)}", err=True)
    return int(best.outcome != "fixed")


def _below_here(run: Path | str) -> Path:
    """Return the place of the run below the working folder; its name if it is elsewhere."""
    path = Path(run)
    try:
        return path.resolve().relative_to(Path.cwd().resolve())
    except ValueError:
        return Path(path.name)


@dataclass
class _Trials:
    """Runs of the command: once without a change, then once with each."""

    user: UserCommand
    finding: Finding
    _before: Played = field(init=False)
    _volatile: frozenset[int] | None = frozenset()
    _is_repeated: bool = False

    def begin(self) -> None:
        """Run the unchanged program, which must show the finding again.

        Raises:
            UsageError: it records no run, or the run does not have the finding.
        """
        complain("running the program without a change")
        with copied(Path.cwd()) as tree:
            self._before = self.user.played(tree)
        if self._before.report is None:
            said = f" ({self._before.complaint})" if self._before.complaint else ""
            raise UsageError(
                f"the command recorded no run{said}; name its file with --run, or give a command "
                "that begins with python SCRIPT"
            )
        again = matched(self.finding, self._before.report)
        if again is None:
            raise UsageError(
                "the command does not show the finding again without a change: "
                f"{self._before.report.headline}"
            )
        self.finding = again

    def each(self, proposed: list[Edit]) -> Iterator[TriedFix]:
        """Try changes until one fixes the finding."""
        for edit in proposed:
            complain(f"trying: {edit.title} ({edit.path})")
            with copied(Path.cwd()) as tree:
                with (tree.root / edit.path).open("w", encoding="utf-8", newline="") as file:
                    file.write(edit.after)
                tried = self._judged(edit, self.user.played(tree))
            yield tried
            if tried.outcome == "fixed":
                return

    def patch(self, patch: Path) -> TriedFix:
        """Try a change that was handed in."""
        complain(f"trying {patch}")
        with copied(Path.cwd()) as tree:
            patched(tree.root, patch)
            edit = Edit("patch", str(patch), "", "", "")
            tried = self._judged(edit, self.user.played(tree))
        return replace(tried, diff=patch.read_text("utf-8"))

    def _judged(self, edit: Edit, after: Played) -> TriedFix:
        self._look_for_volatile_lines(after)
        tried = judged(edit, self.finding, self._before, after, self._volatile)
        click.echo(told(tried), err=True)
        return tried

    def _look_for_volatile_lines(self, after: Played) -> None:
        """Run the unchanged program once more, if the change may not be why the output differs."""
        same_end = after.report is not None and after.status == self._before.status
        if self._is_repeated or not same_end or self._volatile is None:
            return
        if first_difference(self._before, after, self._volatile) is not None:
            self._is_repeated = True
            complain("the output differs: running the program without a change once more")
            with copied(Path.cwd()) as tree:
                again = self.user.played(tree)
            self._volatile = volatile_lines(self._before.lines, again.lines)
            if self._volatile is None:
                complain("the output differs without a change, too, so it is not compared")
