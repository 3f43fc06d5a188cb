"""Attach to programs that know nothing of leakguard, and to their calm twins.

``python -m regression_tests.benchmarks.attach -o reports/attach`` writes the tables; ``--cycles N``
adds so many cycles of attaching and leaving on one process, ``--memray`` memray's attach beside.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from leakguard.launch.attach.attached_run import Timetable
from regression_tests.benchmarks.attach.beside_memray import Memray, memray_attach
from regression_tests.benchmarks.attach.cycles import Counts, cycled
from regression_tests.benchmarks.attach.measure import Outcome, attach_to, temporary_run
from regression_tests.benchmarks.attach.strangers import child_of, interpreters, running
from regression_tests.benchmarks.attach.table import Row, page


def _worded(version: str) -> str:
    other = "the system's Python, stripped" if version == "system" else f"Python {version}"
    return f"a loop, {other}"


# Program, how it is started, and what the table says of that.
CASES = (
    ("loop", "", "a loop"),
    ("threads", "", "a web server with threads"),
    ("tasks", "", "asyncio"),
    ("pool", "", "the parent of a `multiprocessing.Pool`"),
    ("training", "", "a training with torch"),
    ("lock", "", "the main thread waits for a worker"),
    ("busy", "", "four threads that compute without a pause"),
    ("collector", "", "in the middle of the collector"),
    ("loop", "nobody", "another user's"),
    ("loop", "namespaces", "in pid and mount namespaces of its own"),
    ("blocked", "", "blocked in C"),
    *(("loop", version, _worded(version)) for version in interpreters()),
)
_INSIDE = 'mount -t tmpfs none /tmp && exec "$@"'
_UNSHARE = ("unshare", "--pid", "--mount", "--fork", "--mount-proc", "sh", "-c", _INSIDE, "sh")
_COMPARED = ("loop", "threads", "tasks", "lock", "training")


def main() -> int:
    """Measure and write; exit status 1 when a leak was missed, or a calm program accused."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=float, default=0.5)
    parser.add_argument("--looks", type=int, default=8)
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="part of it")
    parser.add_argument("--cycles", type=int, default=0)
    parser.add_argument("--memray", action="store_true")
    parser.add_argument("-o", dest="out", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    rows: list[Row] = []
    memray: dict[str, Memray] = {}
    cycles: list[Counts] = []
    for _ in _steps(options, rows, memray, cycles):
        if options.out is not None:
            _write(options.out, page(rows, memray, cycles))
    print(page(rows, memray, cycles))
    return int(not all(row.right for row in rows))


def _steps(
    options: argparse.Namespace,
    rows: list[Row],
    memray: dict[str, Memray],
    cycles: list[Counts],
) -> Iterator[None]:
    """Measure one thing after the other, so that what is known is written down meanwhile."""
    for program, how, words in CASES:
        if not options.only or any(text in words for text in options.only):
            rows.append(_row(program, how, words, options.every, options.looks))
            print(rows[-1], file=sys.stderr, flush=True)
            yield
    for name in _COMPARED if options.memray else ():
        memray[name] = memray_attach(name, int(options.every * options.looks))
        print(name, memray[name], file=sys.stderr, flush=True)
        yield
    for counts in cycled(sys.executable, options.cycles) if options.cycles else ():
        cycles.append(counts)
        print(counts, file=sys.stderr, flush=True)
        yield


def _write(out: Path, text: str) -> None:
    out.mkdir(parents=True, exist_ok=True)
    (out / "table.md").write_text(text, encoding="utf-8")
    command = shlex.join(["python", "-m", "regression_tests.benchmarks.attach", *sys.argv[1:]])
    (out / "COMMAND").write_text(f"{command}\n", encoding="utf-8")


def _row(program: str, how: str, words: str, every: float, looks: int) -> Row:
    return Row(words, *(_outcome(program, how, twin, every, looks) for twin in ("leak", "calm")))


def _outcome(program: str, how: str, twin: str, every: float, looks: int) -> Outcome:
    with _started(program, how, twin) as pid:
        return attach_to(pid, Timetable(every, looks, temporary_run()))


@contextmanager
def _started(program: str, how: str, twin: str) -> Iterator[int]:
    pythons = interpreters()
    if how == "namespaces":
        with running(program, twin, before=_UNSHARE) as process:
            pid = child_of(process.pid)
            try:
                yield pid
            finally:
                os.kill(pid, 9)
    elif how == "nobody":
        python = pythons.get("system", sys.executable)
        with running(program, twin, python=python, user="nobody", group="nogroup") as process:
            yield process.pid
    else:
        with running(program, twin, python=pythons.get(how, sys.executable)) as process:
            yield process.pid


if __name__ == "__main__":
    sys.exit(main())
