"""Attach to programs that know nothing of leakguard, and to their calm twins.

``python -m regression_tests.benchmarks.attach programs -o reports/attach`` writes the table of
programs, ``cycles`` that of attaching to one process and leaving it again and again, ``memray``
that of ``memray attach`` on some of them. The notebook's kernel needs ipykernel.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from leakguard.launch.attach.attached_run import Timetable
from regression_tests.benchmarks.attach.beside_memray import Memray, memray_attach
from regression_tests.benchmarks.attach.cycles import Counts, cycled
from regression_tests.benchmarks.attach.measure import Outcome, attach_to, temporary_run
from regression_tests.benchmarks.attach.strangers import child_of, interpreters, running
from regression_tests.benchmarks.attach.table import Row, cycles_page, memray_page, programs_page


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
    *((("kernel", "", "a notebook's kernel"),) if find_spec("ipykernel") else ()),
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
    parser.add_argument("what", choices=("programs", "cycles", "memray"))
    parser.add_argument("--every", type=float, default=0.5)
    parser.add_argument("--looks", type=int, default=8)
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="part of it")
    parser.add_argument("--cycles", type=int, default=1000)
    parser.add_argument("-o", dest="out", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    rows: list[Row] = []
    for text in _MEASURED[options.what](options, rows):
        print(text, file=sys.stderr, flush=True)
        if options.out is not None:
            _write(options.out, options.what, text)
    return int(not all(row.right for row in rows))


def _programs(options: argparse.Namespace, rows: list[Row]) -> Iterator[str]:
    for program, how, words in CASES:
        if not options.only or any(text in words for text in options.only):
            rows.append(_row(program, how, words, options.every, options.looks))
            yield programs_page(rows)


def _cycles(options: argparse.Namespace, rows: list[Row]) -> Iterator[str]:
    told: list[Counts] = []
    for counts in cycled(sys.executable, options.cycles):
        told.append(counts)
        yield cycles_page(told)


def _memray(options: argparse.Namespace, rows: list[Row]) -> Iterator[str]:
    told: dict[str, Memray] = {}
    for name in _COMPARED:
        told[name] = memray_attach(name, max(2, int(options.every * options.looks)))
        yield memray_page(told)


# What is measured: each yields its page as far as it is known.
_MEASURED = {"programs": _programs, "cycles": _cycles, "memray": _memray}


def _write(out: Path, what: str, text: str) -> None:
    """Write a page, and the command that made it beside those of the others."""
    out.mkdir(parents=True, exist_ok=True)
    (out / f"{what}.md").write_text(text, encoding="utf-8")
    command = shlex.join(["python", "-m", "regression_tests.benchmarks.attach", *sys.argv[1:]])
    file = out / "COMMAND"
    before = file.read_text("utf-8").splitlines() if file.exists() else []
    others = [line for line in before if f"attach {what}" not in line]
    file.write_text("\n".join(sorted([*others, command])) + "\n", encoding="utf-8")


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
