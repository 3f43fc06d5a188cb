"""Train the reference trainer healthy and with its leaks, and write every report into a folder.

``python -m regression_tests.benchmarks.gallery -o reports`` makes all of them, and with names (such
as ``healthy env-per-episode``) only those. Each folder holds report.md, report.json, a picture and
the COMMAND that made it. The page report.html is a megabyte, so only some get one; run.jsonl is
kept where it is small.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from reference_trainer.leaks import LEAKS

#: A training that takes seconds a generation: the shapes of the reports are those of a large one.
SMALL = {
    "days": "200", "stocks": "6", "context_days": "20", "trading_days": "8",
    "settlement_days": "3", "validation_days": "40", "hidden": "16,16", "batch_size": "16",
    "gradient_steps": "8", "accumulation_steps": "2", "buffer_capacity": "600",
    "buffer_ready": "100",
}  # fmt: skip
SIZE = "20 MB"
#: What does not grow must stand out from the process, which has 350 MB, or be a large object.
SIZES = {"deepcopy-clone": "400 MB", "buffer-save-spike": "400 MB", "env-data-copy": "200 MB"}
REPOSITORY = Path(__file__).parents[3]
FORMATS = ("report.md", "report.json", "memory.svg")
WITH_PAGE = ("env-per-episode", "long")
KEPT_RUN = 300_000  # bytes
PAIR = ("env-per-episode", "loss-graph")


def settings(leaks: Collection[str]) -> list[str]:
    """Return the options of a small training; only one that leaks figures plots.

    Plotting also collects garbage, which would hide the leak through cycles.
    """
    plots = {"plot_every": "1" if "figures" in leaks else "1000"}
    return [part for item in (SMALL | plots).items() for part in ("--set", "=".join(item))]


def planted(leaks: Iterable[str]) -> str:
    """Return leaks with their sizes, as ``--leak`` takes them."""
    return ",".join(f"{leak}={SIZES.get(leak, SIZE)}" for leak in leaks)


@dataclass(frozen=True)
class Training:
    """One folder of the gallery."""

    name: str
    generations: int = 6
    leaks: tuple[str, ...] = ()

    @property
    def run(self) -> str:
        """The run file, below the folder of the whole gallery."""
        return f"runs/{self.name}/run.jsonl"

    @property
    def command(self) -> list[str]:
        """The command that trains it; all paths are relative, since reports show them."""
        leaks = ["--leak", planted(self.leaks)] if self.leaks else []
        return ["python", "-m", "reference_trainer", "--generations", str(self.generations),
                "--no-progress", "--out", f"runs/{self.name}", "--data-dir", "market", *leaks,
                *settings(self.leaks)]  # fmt: skip


GALLERY = (
    Training("healthy"),
    Training("env-per-episode", leaks=("env-per-episode",)),
    Training("pair", leaks=PAIR),
    *(Training(name, leaks=(name,)) for name in LEAKS if name != "env-per-episode"),
    Training("long", generations=40, leaks=("loss-history",)),
)


def main() -> int:
    """Make the folders asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="default: all")
    parser.add_argument("-o", dest="out", type=Path, required=True)
    options = parser.parse_args()
    known = {training.name: training for training in GALLERY}
    unknown = [name for name in options.names if name not in known]
    if unknown:
        parser.error(f"no {unknown[0]!r} in the gallery; it has {', '.join(known)}")
    with tempfile.TemporaryDirectory() as place:
        for name in options.names or known:
            print(f"{name} ...", file=sys.stderr, flush=True)
            make(known[name], options.out.absolute() / name, Path(place))
    return 0


def make(training: Training, folder: Path, place: Path) -> None:
    """Train in ``place``, report into ``folder``, and keep the run where it is small."""
    folder.mkdir(parents=True, exist_ok=True)
    call(training.command, place)
    pages = ("report.html",) if training.name in WITH_PAGE else ()
    for file in (*FORMATS, *pages):
        report = ["python", "-m", "leakguard", "report", "--redact", training.run]
        call([*report, "-o", str(folder / file)], place)
    run = place / training.run
    if run.stat().st_size <= KEPT_RUN:
        (folder / "run.jsonl").write_bytes(run.read_bytes())
    text = f"python -m regression_tests.benchmarks.gallery -o reports {training.name}\n"
    (folder / "COMMAND").write_text(text, encoding="utf-8")


def call(command: list[str], place: Path) -> None:
    """Run a command with the Python that runs this, found by its bare name."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(REPOSITORY)}
    ran = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True)
    if ran.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {ran.returncode}:\n{ran.stderr[-2000:]}")


if __name__ == "__main__":
    sys.exit(main())
