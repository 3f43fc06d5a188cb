"""One playing of a program, unwatched or watched: what it did, and what it used."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipapp
from collections import defaultdict
from dataclasses import asdict, dataclass
from pathlib import Path

import leakguard
from leakguard.errors import LeakguardError
from regression_tests.benchmarks.harm.program import Program
from regression_tests.benchmarks.harm.supervisor import Ended

ROOT = Path(__file__).parents[3]
_SUPERVISOR = "regression_tests.benchmarks.harm.supervisor"
# What the guard says on standard error by design: its report, and a line where something is amiss.
_REPORT = re.compile(r"^leakguard: .*\n?(?:^ +\S.*\n?)*", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Played:
    """What one playing came to.

    Attributes:
        numbers: what was measured from outside, and by the program itself.
        looks: how often a guard looked at the heap: without a look nothing was tried.
    """

    ended: Ended
    out: str
    err: str
    events: tuple[str, ...]
    files: dict[str, str]
    numbers: dict[str, float]
    looks: int


@dataclass(frozen=True, slots=True)
class Playing:
    """How programs are played: by which interpreter, watched how, for how long at most.

    Attributes:
        how: ``alone``, without leakguard; ``off``, with a guard that LEAKGUARD=off switches off;
            ``api``, with one that watches; or ``run``, alone under ``leakguard run``.
        threads: what OMP_NUM_THREADS says, for torch and NumPy.
    """

    python: str = sys.executable
    how: str = "alone"
    seconds: float = 120.0
    threads: int = 1

    def play(self, program: Program) -> Played:
        """Play a program in an empty folder and return what it came to."""
        with tempfile.TemporaryDirectory(prefix="harm-") as name:
            folder = Path(name)
            for each in ("here", "told", "tmp", "modules"):
                (folder / each).mkdir()
            ended = self._supervised(program, folder)
            return _played(ended, folder, program.volatile)

    def _supervised(self, program: Program, folder: Path) -> Ended:
        given = _given(program, folder)
        watch = ["-m", "leakguard", "run", "-o", os.fspath(folder / "told" / "run.jsonl")]
        watch += program.options
        command = [self.python, *(watch if self.how == "run" else []), *given]
        outputs = [os.fspath(folder / "out"), os.fspath(folder / "err")]
        supervised = [sys.executable, "-m", _SUPERVISOR, str(self.seconds), *outputs, *command]
        with (folder / "in").open("rb") as stdin:
            done = subprocess.run(
                supervised, stdin=stdin, stdout=subprocess.PIPE, check=True,
                cwd=folder / "here", env=self._environment(program, folder),
            )  # fmt: skip
        return Ended(**json.loads(done.stdout))

    def _environment(self, program: Program, folder: Path) -> dict[str, str]:
        own = {name: text for name, text in os.environ.items() if name != "LEAKGUARD"}
        if self.how in ("alone", "off"):
            own["LEAKGUARD"] = "off"
        if program.heartbeat:
            own["HARM_HEARTBEAT"] = "1"
        paths = [os.fspath(ROOT), os.fspath(folder / "modules"), own.get("PYTHONPATH", "")]
        return own | {
            "HARM_FOLDER": os.fspath(folder / "told"),
            "HARM_HOW": self.how,
            "OMP_NUM_THREADS": str(self.threads),
            "PYTHONHASHSEED": "0",
            "PYTHONPATH": os.pathsep.join(filter(None, paths)),
            "TMPDIR": os.fspath(folder / "tmp"),
        }


def _given(program: Program, folder: Path) -> list[str]:
    """Return what follows ``python`` on the command line, for the form that is wanted."""
    (folder / "in").write_bytes(b"")
    return [*_form(program, folder), *([] if program.argument is None else [program.argument])]


def _form(program: Program, folder: Path) -> list[str]:
    modules = folder / "modules"
    match program.form:
        case "folder" | "zip":
            (modules / "app").mkdir()
            shutil.copyfile(program.path, modules / "app" / "__main__.py")
            if program.form == "folder":
                return ["../modules/app"]
            zipapp.create_archive(modules / "app", modules / "app.pyz")
            return ["../modules/app.pyz"]
        case "module":
            shutil.copyfile(program.path, modules / program.path.name)
            return ["-m", program.path.stem]
        case "text":
            return ["-c", program.path.read_text(encoding="utf-8")]
        case "input":
            shutil.copyfile(program.path, folder / "in")
            return ["-"]
    return [os.fspath(program.path)]


def _played(ended: Ended, folder: Path, volatile: str) -> Played:
    numbers = {name: value for name, value in asdict(ended).items() if name.endswith(("_mb", "_s"))}
    told = folder / "told"
    for peak in _lines(told / "peak"):
        numbers["peak_mb"] = max(numbers["peak_mb"], float(peak))
    sums: dict[str, float] = defaultdict(float)
    for line in _lines(told / "measured"):
        name, value = json.loads(line)
        sums[name] += value
    out, err = (_text(folder / each, folder, volatile) for each in ("out", "err"))
    return Played(
        ended=ended,
        out=out,
        err=err,
        events=tuple(_lines(told / "events")),
        files=_files(folder / "here"),
        numbers=numbers | sums,
        looks=_looks(told / "run.jsonl"),
    )


def _looks(path: Path) -> int:
    try:
        return sum(shot.census is not None for shot in leakguard.load(path).snapshots)
    except LeakguardError:
        return 0


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def _text(path: Path, folder: Path, volatile: str) -> str:
    """Return an output without the guard's report, this playing's folder and the program's own."""
    text = path.read_text(encoding="utf-8", errors="replace")
    text = _REPORT.sub("", text).replace(os.fspath(folder), "FOLDER")
    environment = os.path.realpath(sys.prefix)
    for place, name in ((ROOT, "ROOT"), (environment, "VENV"), (sys.base_prefix, "PYTHON")):
        text = text.replace(os.fspath(place), name)
    return re.sub(volatile, "", text) if volatile else text


def _files(folder: Path) -> dict[str, str]:
    """Return a digest of every file by its path: what the program has written."""
    return {
        os.fspath(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()[:16]
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
