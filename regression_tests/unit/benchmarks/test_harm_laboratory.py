"""The laboratory of harm: what is planted is found, and its calm twin is the same."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("psutil")
pytest.importorskip("packaging")

from regression_tests.benchmarks.harm.comparison import Row, compared
from regression_tests.benchmarks.harm.laboratory import Laboratory
from regression_tests.benchmarks.harm.playing import Played, Playing
from regression_tests.benchmarks.harm.program import LIMITS, Limit, cases_of, programs
from regression_tests.benchmarks.harm.supervisor import Ended
from regression_tests.benchmarks.harm.table import as_json, from_json, page

if sys.platform != "linux":
    pytest.skip("the laboratory reads /proc", allow_module_level=True)

START = '''"""A kind of harm: what must hold."""
import atexit, os, subprocess, sys, time
from regression_tests.benchmarks.harm.stage import event, measured, watched
harmed = os.environ["HARM_HOW"] == "off"
'''
# Each does something else when it is watched.
PLANTED = {
    "exit 0 -> exit 3": "sys.exit(3 * harmed)",
    "exit 0 -> SIGSEGV": "harmed and os.kill(os.getpid(), 11)",
    "standard output: 'right' -> 'wrong'": "print('wrong' if harmed else 'right')",
    "standard error: nothing -> 'warned'": "harmed and print('warned', file=sys.stderr)",
    "events: 'first' -> 'second'": "event('second' if harmed else 'first')",
    "files: out.txt": "open('out.txt', 'w').write('text' * harmed)",
    "1 processes left behind": "harmed and subprocess.Popen(['sleep', '2'])",
    "peak_mb": "held = b'x' * (200_000_000 * harmed); time.sleep(0.1)",
    "tree_mb": "harmed and subprocess.run([sys.executable, '-c', "
    "'import time; held = b\"x\" * 300_000_000; time.sleep(0.5)'])",
    "seen": "measured('seen', 1 + harmed)",
}


@pytest.fixture
def played(tmp_path: Path) -> Callable[[str], Row]:
    """Return a function that plays a program alone and with a guard that is switched off."""

    def row(text: str) -> Row:
        path = tmp_path / "planted.py"
        path.write_text(START + text)
        (program,) = cases_of(path)
        (told,) = Laboratory(sys.executable).rows(program, ["off"])
        return told

    return row


@pytest.mark.parametrize("what", PLANTED)
def test_what_a_watched_program_does_otherwise_is_a_harm(
    played: Callable[[str], Row], what: str
) -> None:
    row = played(f"LIMITS = {{'seen': (1, 0)}}\n{PLANTED[what]}")

    assert len(row.harms + row.excess) == 1 + (what == "peak_mb"), row.verdict
    assert what in row.verdict
    assert row.is_harmed


def test_what_does_the_same_is_not_harmed(played: Callable[[str], Row]) -> None:
    row = played("event('first'); print('right'); open('out.txt', 'w').write('text')")

    assert row.verdict == "same"
    assert not row.is_harmed


def test_program_that_is_deaf_to_its_end_is_a_harm(tmp_path: Path) -> None:
    path = tmp_path / "deaf.py"
    ignoring = "import signal; signal.signal(15, signal.SIG_IGN)\n"
    path.write_text(f"{START}{ignoring}print('on', flush=True)\nharmed and time.sleep(100)")
    (program,) = cases_of(path)

    alone, deaf = (Playing(how=how, seconds=2).play(program) for how in ("alone", "off"))

    row = compared(program, "off", "", [(alone, deaf)])
    assert row.verdict == "harmed: exit 0 -> does not end in 5 s, nor by SIGTERM"


def test_report_of_the_guard_is_not_the_programs_output(tmp_path: Path) -> None:
    path = tmp_path / "calm.py"
    path.write_text(
        f"{START}with watched() as guard:\n for _ in guard.generations(range(3)): time.sleep(0.01)"
    )
    (program,) = cases_of(path)

    (row,) = Laboratory(sys.executable).rows(program, ["api"])

    assert row.looks > 0
    assert row.harms == ()


def test_program_that_no_guard_looked_at_is_not_called_the_same(tmp_path: Path) -> None:
    path = tmp_path / "unseen.py"
    path.write_text(START)
    (program,) = cases_of(path)

    (row,) = Laboratory(sys.executable).rows(program, ["api"])

    assert row.verdict == "not tried: the guard took no look"


def test_file_with_arguments_and_forms_is_a_case_for_each(tmp_path: Path) -> None:
    path = tmp_path / "many.py"
    path.write_text(
        '"""A kind: what must hold.\n\nMore."""\nARGUMENTS = ["1", "2"]\nHEAVY = ["2"]\n'
        'FORMS = ["file", "zip"]\nLIMITS = {"peak_mb": (1.5, 10), "own": (1, 0)}\n'
    )

    cases = list(cases_of(path))

    assert [case.name for case in cases] == ["many[1]", "many[1,zip]", "many[2]", "many[2,zip]"]
    assert [case.heavy for case in cases] == [False, False, True, True]
    assert cases[0].kind == "A kind: what must hold."
    assert cases[0].limits == {**LIMITS, "peak_mb": Limit(1.5, 10), "own": Limit(1, 0)}


def test_program_that_says_nothing_of_its_kind_is_refused(tmp_path: Path) -> None:
    (tmp_path / "silent.py").write_text("print()\n")

    with pytest.raises(ValueError, match=r"silent\.py has no docstring"):
        programs(corpus=tmp_path)


def test_module_that_is_missing_is_a_reason_and_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "needy.py"
    path.write_text(f'{START}NEEDS = ["no_such_module"]\n')
    (program,) = cases_of(path)

    (row,) = Laboratory(sys.executable).rows(program, ["api"])

    assert row.verdict == "not played: needs no_such_module"


def test_rows_are_read_back_as_they_were_written() -> None:
    numbers = {"peak_mb": 20.0, "wall_s": 1.0}
    row = Row("one", "A kind.", "api", "3.11.7", 2, ("exit 0 -> exit 1",), (), numbers, numbers, 3)

    assert from_json(as_json([row])) == [row]
    assert "| **harmed**: exit 0 -> exit 1 | 20 / 20 (1.00) |" in page([row], "")


@pytest.mark.parametrize(
    ("queued", "verdict"), [(0.0, "harmed: wall_s"), (20.0, "same; not known")]
)
def test_what_the_clock_says_is_a_harm_only_where_the_program_had_a_core(
    tmp_path: Path, queued: float, verdict: str
) -> None:
    path = tmp_path / "timed.py"
    path.write_text(START)
    (program,) = cases_of(path)
    alone, watched = (
        Played(Ended(0), "", "", (), {}, {"wall_s": wall, "cpu_s": 1.0, "queued_s": queued}, 1)
        for wall in (1.0, 20.0)
    )

    assert compared(program, "api", "", [(alone, watched)]).verdict.startswith(verdict)


def test_cpu_time_is_a_harm_however_busy_the_machine_is(tmp_path: Path) -> None:
    path = tmp_path / "timed.py"
    path.write_text(START)
    (program,) = cases_of(path)
    alone, watched = (
        Played(Ended(0), "", "", (), {}, {"wall_s": 1.0, "cpu_s": cpu, "queued_s": 20.0}, 1)
        for cpu in (1.0, 20.0)
    )

    assert compared(program, "api", "", [(alone, watched)]).verdict.startswith("harmed: cpu_s")


def test_every_program_of_the_corpus_says_its_kind_and_is_a_case_once() -> None:
    names = [program.name for program in programs()]

    assert len(names) == len(set(names))
    assert all(": " in program.kind for program in programs())
