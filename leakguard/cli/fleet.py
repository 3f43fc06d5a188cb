"""``leakguard fleet``: the bugs of many runs, one line per bug, the most damaging first."""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import chain
from pathlib import Path

import click

from leakguard.cli.output import complain, wants_color, write_document
from leakguard.cli.report import RunPath
from leakguard.errors import LeakguardError, UnreadableRun
from leakguard.render import Layout
from leakguard.render.text import columns

_FORMATS = ("terminal", "markdown", "json")
_GROUPS = ("bug", "holder", "type", "line", "kind", "library", "host", "python")
_FILES_AT_ONCE = 8  # files in one task of a process, and files that are copied from a URL together
_NAMED = 3  # unreadable files that are named; the rest are only counted


@click.command("fleet")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=RunPath())
@click.option("--top", metavar="N", type=click.IntRange(min=1), default=20, show_default=True,
              help="How many bugs to show.")  # fmt: skip
@click.option("--since", type=click.DateTime(("%Y-%m-%d", "%Y-%m-%dT%H:%M:%S")), metavar="DATE",
              help="Only runs that began at DATE or later, in UTC.")  # fmt: skip
@click.option("--group-by", "group", type=click.Choice(_GROUPS), default="bug", show_default=True)
@click.option("--format", "format_", type=click.Choice(_FORMATS), default="terminal",
              show_default=True)  # fmt: skip
@click.option("-o", "--output", metavar="FILE", type=click.Path(path_type=Path),
              help="Write to FILE; one that ends in .parquet gets every finding, "
              "and can be given as a PATH later.")  # fmt: skip
@click.option("--jobs", metavar="N", type=click.IntRange(min=1),
              help="Processes that read runs. Default: one per processor.")  # fmt: skip
@click.option("--color", type=click.Choice(("auto", "always", "never")), default="auto",
              show_default=True)  # fmt: skip
def fleet(
    paths: tuple[Path | str, ...], top: int, since: datetime.datetime | None, group: str,
    format_: str, output: Path | None, jobs: int | None, color: str,
) -> int:  # fmt: skip
    """Rank the bugs of all runs below PATH: folders, URLs, run files, tables of an earlier -o.

    A bug is what runs have in common by fingerprint: the same holder and type, on any host and in
    any version. Bugs are ranked by damage: leaked bytes times hours. Needs DuckDB (extra: fleet).
    """
    from leakguard.render.fleet import render_fleet
    from leakguard.store.fleet_files import files_below, local_files
    from leakguard.store.sightings import Sightings

    table = Sightings()
    files = [file for path in paths for file in files_below(path)]
    runs = [file for file in files if not file.endswith(".parquet")]
    for name in files:
        if name.endswith(".parquet"):
            with local_files([name]) as [file]:
                table.read(_there(file), name)
    unusable: list[str] = []
    table.add_encoded(_seen(runs, jobs or os.cpu_count() or 1, unusable))
    _say(unusable)
    layout = Layout(width=columns(), color=wants_color(color, output))
    document = render_fleet(table.fleet(group, since, top), format_, layout)
    if output is not None and output.suffix == ".parquet":
        table.write(output)
        output = None
    write_document(document, output)
    return 2 if unusable else 0


def _seen(files: Sequence[str], jobs: int, unusable: list[str]) -> Iterator[bytes]:
    """Yield the rows of all run files; for each unreadable file, append the reason to ``unusable``.

    Several processes read the files if there are many.
    """
    tasks = [files[i : i + _FILES_AT_ONCE] for i in range(0, len(files), _FILES_AT_ONCE)]
    if jobs == 1 or len(tasks) < 2:
        yield from _readable(map(_of_files, tasks), unusable)
        return
    # What the processes need is loaded here once: those that are forked have it from this one.
    import leakguard.analysis.diagnosis  # noqa: F401

    with ProcessPoolExecutor(min(jobs, len(tasks))) as pool:
        yield from _readable(pool.map(_of_files, tasks), unusable)


def _readable(answers: Iterable[list[bytes | str]], unusable: list[str]) -> Iterator[bytes]:
    for answer in chain.from_iterable(answers):
        if isinstance(answer, str):
            unusable.append(answer)
        else:
            yield answer


def _of_files(names: Sequence[str]) -> list[bytes | str]:
    """Return for each file the encoded rows of its last run, or why it cannot be read."""
    from leakguard.store.fleet_files import local_files

    with local_files(names) as files:
        return [_of_file(name, file) for name, file in zip(names, files, strict=True)]


def _of_file(name: str, file: Path | UnreadableRun) -> bytes | str:
    from leakguard.analysis.diagnosis import diagnose_briefly
    from leakguard.analysis.fleet import sightings
    from leakguard.store import load_runs
    from leakguard.store.sightings import encoded

    try:
        return encoded(sightings(diagnose_briefly(load_runs(_there(file))[-1]), name))
    except LeakguardError as error:
        return str(error)
    except OSError as error:
        return f"cannot read {name}: {error.strerror}"


def _there(file: Path | UnreadableRun) -> Path:
    if isinstance(file, UnreadableRun):
        raise file
    return file


def _say(unusable: Sequence[str]) -> None:
    for message in unusable[:_NAMED]:
        complain(message)
    if len(unusable) > _NAMED:
        complain(f"{len(unusable) - _NAMED:,} more files cannot be read")
