"""CPython's own test modules with the record in every process: which fail that do not without it.

Each module is played without the record, with it, and with it while the record of small blocks goes
and comes at each collection of garbage. All three begin in the same way (a ``sitecustomize`` of a
virtual environment, which isolated processes import, too): what differs is the record alone. A
kilobyte lies between two samples.
"""

from __future__ import annotations

import argparse
import importlib.machinery
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import leakguard

_MODULES = (
    "threading thread gc subprocess fork1 tracemalloc dict list bytes json weakref coroutines"
    " sys_settrace code exceptions atexit ctypes _xxsubinterpreters interpreters"
)
_BEGIN = """
import atexit, gc, importlib.util, random
_how, _compiled, _seen = HOW
try:
    _spec = importlib.util.spec_from_file_location("_births", _compiled)
    _births = importlib.util.module_from_spec(_spec)
    _spec.loader.exec_module(_births)
    if _how != "without" and _births.start(1024.0, 1024.0, 7, False) is None:
        _births.check(True)
        atexit.register(_births.stop)
        with open(_seen, "a", encoding="utf-8") as _file:
            _file.write("x")
    def _at_collection(when, _, how=_how, births=_births, choice=random.Random(1).choice):
        if when == "start" and how == "windows":
            births.check(True)
            births.record_small(choice((0, 3)))
    gc.callbacks.append(_at_collection)
except (ImportError, RuntimeError):  # a sub-interpreter
    pass
"""
_HOWS = ("without", "recorded", "windows")


def environment(folder: Path) -> tuple[str, Path]:
    """Make a virtual environment; return its interpreter, and what its processes begin with."""
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", str(folder / "venv")], check=True
    )
    libraries = next((folder / "venv" / "lib").glob("python*/site-packages"))
    return str(folder / "venv" / "bin" / "python"), libraries / "sitecustomize.py"


def played(module: str, how: str, folder: Path, python: str, begin: Path) -> tuple[str, int]:
    """Return how one test module ended, and how many processes were recorded in it."""
    compiled = Path(leakguard.__file__).parent / "capture" / "births" / "_births"
    seen = folder / "seen"
    seen.write_text("")
    values = (how, f"{compiled}{importlib.machinery.EXTENSION_SUFFIXES[0]}", str(seen))
    begin.write_text(_BEGIN.replace("HOW", repr(values)))
    command = [python, "-m", "test", "-v", f"test_{module}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=900, cwd=folder)
    except subprocess.TimeoutExpired:
        return "no end in 900 s", len(seen.read_text())
    return _verdict(done), len(seen.read_text())


def _verdict(done: subprocess.CompletedProcess[str]) -> str:
    """Return the number of tests, and those that failed by name."""
    ran = sum(int(number) for number in re.findall(r"^Ran (\d+) test", done.stdout, re.M))
    failed = sorted(set(re.findall(r"^(?:FAIL|ERROR): (\S+)", done.stdout + done.stderr, re.M)))
    if done.returncode < 0:
        failed.append(f"signal {-done.returncode}")
    if not ran and not failed:
        return "not in this version" if "No module named" in done.stdout else "no tests run"
    return f"{ran} run" + (f", failed: {', '.join(failed)}" if failed else "")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--modules", default=_MODULES, help="names without test_")
    given = parser.parse_args()
    print(f"CPython {sys.version.split()[0]}\n")
    print("| module | without | recorded | small blocks in windows | processes recorded |")
    print("|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        python, begin = environment(folder)
        for module in given.modules.split():
            ends = [played(module, how, folder, python, begin) for how in _HOWS]
            same = ["as without" if end == ends[0][0] else end for end, _ in ends[1:]]
            cells = " | ".join([ends[0][0], *same, str(ends[1][1])])
            print(f"| test_{module} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
