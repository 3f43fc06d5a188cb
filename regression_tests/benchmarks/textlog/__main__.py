"""Time a report on a 1 GB log beside grep: ``python -m regression_tests.benchmarks.textlog``."""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from leakguard.model.units import GB, KB, MB
from regression_tests.benchmarks.textlog.big_log import made_logs

READ = "import sys; from pathlib import Path; from leakguard.store.textlog import read_runs; "
READ += "print(sum(len(run.snapshots) for run in read_runs(Path(sys.argv[1]))))"
GREP = ["grep", "-A", "15", "MEMORY SNAPSHOT"]


@dataclass(frozen=True)
class Timing:
    """One run of one command: wall and CPU seconds, peak RSS in bytes, its output."""

    seconds: float
    cpu: float
    peak: int
    output: str


def run(command: list[str], output: Path, locale: str | None = None) -> Timing:
    """Run a command with its output in a file; grep stops early when it writes to /dev/null."""
    environment = {**os.environ, **({"LC_ALL": locale} if locale else {})}
    with output.open("wb") as sink:
        began = time.perf_counter()
        actions = [(os.POSIX_SPAWN_DUP2, sink.fileno(), 1)]
        pid = os.posix_spawnp(command[0], command, environment, file_actions=actions)
        _, _, usage = os.wait4(pid, 0)
        seconds = time.perf_counter() - began
    scale = 1 if sys.platform == "darwin" else 1024
    text = output.read_bytes()[-20_000:].decode("utf-8", "replace")
    return Timing(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * scale, text)


def commands(log: Path) -> dict[str, tuple[list[str], str | None]]:
    """Return what is timed, by name, each with the locale it runs in."""
    python = sys.executable
    return {
        "leakguard report": ([python, "-m", "leakguard", "report", str(log)], None),
        "read_runs alone": ([python, "-c", READ, str(log)], None),
        "grep -A 15, UTF-8": ([*GREP, str(log)], "C.UTF-8"),
        "grep -A 15, C": ([*GREP, str(log)], "C"),
    }


def measure(log: Path, repeat: int, folder: Path) -> dict[str, list[Timing]]:
    """Run the commands in turn, so that a busy moment of the machine hits all of them."""
    run(["cat", str(log)], Path(os.devnull))  # all of them find the file in the page cache
    timings: dict[str, list[Timing]] = {name: [] for name in commands(log)}
    for _ in range(repeat):
        for name, (command, locale) in commands(log).items():
            timings[name].append(run(command, folder / "output", locale))
    return timings


def rows(kind: str, size: int, blocks: int, timings: dict[str, list[Timing]]) -> list[str]:
    """Return the table's lines: medians, the ratio to both greps, the peak."""
    median = {name: statistics.median(t.seconds for t in all_) for name, all_ in timings.items()}
    lines = []
    for name, all_ in timings.items():
        ratios = [
            statistics.median(
                a.seconds / b.seconds for a, b in zip(all_, timings[grep], strict=True)
            )
            for grep in ("grep -A 15, UTF-8", "grep -A 15, C")
        ]
        lines.append(
            f"| {kind}, {size / GB:.2f} GB, {blocks:,} of them | {name} | {median[name]:.2f} "
            f"| {min(t.seconds for t in all_):.2f} | {statistics.median(t.cpu for t in all_):.2f} "
            f"| {ratios[0]:.2f} | {ratios[1]:.2f} "
            f"| {max(t.peak for t in all_) / MB:.0f} |"
        )
    return lines


def main() -> None:
    """Make the logs in a temporary folder, measure, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=float, default=1.0, help="GB a log (default 1)")
    parser.add_argument("--spacing", type=float, default=300, help="kB between blocks")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("-o", "--out", type=Path, help="write the result here, too")
    arguments = parser.parse_args()
    load = os.getloadavg()[0]
    table = [
        "| log | command | s, median | s, best | CPU s | x grep in UTF-8 | x grep in C "
        "| peak RSS, MB |",
        "|---|---|---|---|---|---|---|---|",
    ]
    with tempfile.TemporaryDirectory() as folder:
        for kind, make in made_logs():
            log = Path(folder) / "training.log"
            count = make(log, int(arguments.size * GB), int(arguments.spacing * KB))
            timings = measure(log, arguments.repeat, Path(folder))
            found = timings["read_runs alone"][0].output.strip()
            assert int(found) == count, f"{found} moments read, {count} written"
            table += rows(kind, log.stat().st_size, count, timings)
    text = "\n".join(
        [
            f"A report on a large log beside grep; {arguments.repeat} runs each, in turn, file in "
            f"the page cache, CPython {platform.python_version()}, {os.cpu_count()} cores, load "
            f"average {load:.1f} when it began. The peak of a child that needs less than this "
            "script is the script's own.",
            "",
            *table,
            "",
        ]
    )
    print(text)
    if arguments.out is not None:
        arguments.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
