"""Kill programs at a limit of memory, and write what their reports say to ``reports/black_box``.

A cgroup below that of this process is made for each kill at a limit; where that is not allowed, a
process that reads the memory sends SIGKILL, and the table says so.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import leakguard
from leakguard.capture.process import memory_groups

HERE = Path(__file__).parent
REPORTS = Path("reports/black_box")
KINDS = ("buffers", "arrays", "dict", "objects", "tensors", "views")
HOLDERS = {
    "buffers": "__main__.history[*]", "arrays": "__main__.trainer.rows[*]",
    "dict": "__main__.cache[*]", "tensors": "__main__.history[*]",
    "objects": "__main__.history[*]", "views": "__main__.population[*].rows[*]",
}  # fmt: skip
LIMIT, WITH_TORCH = 400_000_000, 900_000_000
SPACE = 900_000_000
PATIENCE = 150


@dataclass(frozen=True)
class Row:
    """One program, what became of it, and what its report says."""

    what: str
    kind: str
    pace: str
    end: str
    said: str
    held: str
    right: bool
    look: str


def limit_of(kind: str) -> int:
    """Return the limit for a program of this kind; torch alone takes a few hundred megabytes."""
    return WITH_TORCH if kind == "tensors" else LIMIT


@contextmanager
def group(limit: int) -> Iterator[Path | None]:
    """Make a cgroup with a limit below this process's own; None if that is not allowed."""
    own = [limit_ for limit_, _ in memory_groups() if limit_.exists()]
    own.sort(key=lambda path: len(path.parts))
    made = own[-1].parent / f"leakguard-{os.getpid()}-{time.monotonic_ns()}" if own else None
    try:
        if made is not None:
            made.mkdir()
            (made / own[-1].name).write_text(str(limit))
    except OSError:
        made = None
    try:
        yield made
    finally:
        for _ in range(100):
            try:
                if made is not None and made.exists():
                    made.rmdir()
                break
            except OSError:
                time.sleep(0.05)


def started(kind: str, pace: str, out: Path, *, within: Path | None = None, space: int = 0,
            healthy: int = 0, box: bool = True) -> subprocess.Popen[str]:  # fmt: skip
    """Start a program in a cgroup, or with a limit of its address space."""
    command = [sys.executable, str(HERE / "program.py"), kind, pace, str(out),
               "box" if box else "none", "healthy" if healthy else "leak",
               str(healthy)]  # fmt: skip
    if within is not None:
        enter = f'echo $$ > {within}/cgroup.procs && exec "$0" "$@"'
        command = ["sh", "-c", enter, *command]
    limits: Callable[[], None] | None = None
    if space:
        limits = lambda: resource.setrlimit(resource.RLIMIT_AS, (space, space))  # noqa: E731
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, preexec_fn=limits,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
             "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )  # fmt: skip


def ended(process: subprocess.Popen[str], out: Path, *, kill_at: int = 0, limit: int = 0) -> str:
    """Wait for the end; kill after so many generations, or where RSS passes a limit."""
    assert process.stdout is not None
    if limit:
        while process.poll() is None and _resident(process.pid) < limit:
            time.sleep(0.002)
        process.kill()
    for line in process.stdout:
        if kill_at and int(line) >= kill_at:
            process.kill()
            break
    process.stdout.close()
    code = process.wait(PATIENCE)
    return {-9: "SIGKILL", 0: "ended", 1: "exception"}.get(code, str(code))


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096
    except (OSError, IndexError):
        return 0


def told(what: str, kind: str, pace: str, end: str, out: Path, wanted: bool | None) -> Row:
    """Return the row of one run; ``wanted``: it died of memory, or was killed; None: neither."""
    run = leakguard.load(out)
    report = leakguard.diagnose(run)
    death = report.death
    looks = [s for s in run.snapshots if s.brink is not None and s.brink.threshold is not None]
    held = "" if death is None or death.holder is None else death.holder
    if wanted is None:
        right = death is None
        said = "not accused" if death is None else death.kind
    elif wanted:
        right = death is not None and death.of_memory is True and held == HOLDERS[kind]
        said = "nothing" if death is None else f"{death.kind}: {_memory(death.of_memory)}"
    else:
        right = death is not None and death.of_memory is not True
        said = "nothing" if death is None else f"{death.kind}: {_memory(death.of_memory)}"
    look = ", ".join(f"{100 * (s.brink.threshold or 0):.0f} %" for s in looks if s.brink)
    return Row(what, kind, pace, end, said, held, right, look)


def _memory(of_memory: bool | None) -> str:
    return {True: "died of memory", False: "not of memory", None: "not known"}[of_memory]


def main() -> None:
    """Run all programs, and write the table."""
    rows: list[Row] = []
    emulated = False
    with tempfile.TemporaryDirectory() as folder:
        outs = (Path(folder) / f"{number}.jsonl" for number in range(1000))
        plan = [(kind, pace) for kind in KINDS for pace in ("slow", "fast", "one")]
        for kind, pace in [*plan, ("buffers", "one"), ("objects", "one")]:
            out = next(outs)
            with group(limit_of(kind)) as made:
                emulated = emulated or made is None
                process = started(kind, pace, out, within=made)
                end = ended(process, out, limit=0 if made else limit_of(kind))
            rows.append(told("cgroup limit", kind, pace, end, out, True))
            print(rows[-1], flush=True)
        spaced = ("buffers", "arrays", "dict", "objects", "views")
        for kind, pace in [(kind, pace) for kind in spaced for pace in ("slow", "one")]:
            out = next(outs)
            end = ended(started(kind, pace, out, space=SPACE), out)
            rows.append(told("RLIMIT_AS", kind, pace, end, out, True))
            print(rows[-1], flush=True)
        for number, (kind, pace) in enumerate(
            [(k, p) for k in KINDS[:5] for p in ("slow", "fast")]
        ):
            out = next(outs)
            with group(2 * limit_of(kind)) as made:
                end = ended(started(kind, pace, out, within=made), out, kill_at=3 + number % 3)
            rows.append(told("kill far from it", kind, pace, end, out, False))
            print(rows[-1], flush=True)
        for kind, share in [(k, s) for k in KINDS[:5] for s in (0.88, 0.93)]:
            out = next(outs)
            with group(limit_of(kind)) as made:
                process = started(
                    kind, "fast", out, within=made, healthy=int(share * limit_of(kind))
                )
                end = ended(process, out)
            rows.append(told("healthy", kind, f"{share:.0%}", end, out, None))
            print(rows[-1], flush=True)
    REPORTS.mkdir(parents=True, exist_ok=True)
    (REPORTS / "table.md").write_text(table(rows, emulated, costs(), calm()))
    (REPORTS / "COMMAND").write_text("python -m regression_tests.benchmarks.black_box\n")


def costs() -> list[tuple[str, float, float, float]]:
    """Return what a look takes beside some heaps: CPU seconds, bytes, and seconds of a count."""
    program = """
import json, sys, time, resource
from leakguard.capture.heap import census
from leakguard.capture.sampled_walk import estimate
if sys.argv[2] == "torch": import torch
class Sample:
    def __init__(self, n): self.n, self.name = n, f"sample {n}"
kept = [Sample(n) for n in range(int(sys.argv[1]))]
def high():
    text = open("/proc/self/status").read()
    return int(text.split("VmHWM:")[1].split()[0]) * 1024
estimate({})
open("/proc/self/clear_refs", "w").write("5")
before, began = high(), time.process_time()
found = estimate({})
spent, more = time.process_time() - began, high() - before
began = time.perf_counter(); census(); counted = time.perf_counter() - began
print(json.dumps([spent, more, counted]))
"""
    rows = []
    for count, beside in ((10_000, ""), (1_000_000, ""), (3_000_000, ""), (10_000, "torch")):
        runs = []
        for _ in range(3):
            done = subprocess.run(
                [sys.executable, "-c", program, str(count), beside], text=True, check=True,
                capture_output=True,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )  # fmt: skip
            runs.append(json.loads(done.stdout))
        name = f"{count:,} instances" + (" and torch" if beside else "")
        rows.append((name, *(median(run[i] for run in runs) for i in range(3))))
    return rows


def calm() -> float:
    """Return the CPU of a calm program with the black box, as a multiple of that without it."""
    spent: dict[bool, list[float]] = {True: [], False: []}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(10):
            box = number % 2 == 0
            out = Path(folder) / f"{number}.jsonl"
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            ended(started("objects", "slow", out, healthy=150_000_000, box=box), out)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            spent[box].append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return median(spent[True]) / median(spent[False])


def table(
    rows: list[Row], emulated: bool, prices: list[tuple[str, float, float, float]], calm: float
) -> str:
    """Return the page."""
    how = (
        "No cgroup may be made here: a process that reads RSS sent SIGKILL at the limit."
        if emulated
        else "Kills at a limit are the kernel's own, in a cgroup made for each program."
    )
    lines = ["# Runs that died of memory, and what their reports say", "", how, ""]
    lines += ["| What happened | Runs | Right |", "|---|---:|---:|"]
    for what in dict.fromkeys(row.what for row in rows):
        of = [row for row in rows if row.what == what]
        lines.append(f"| {_MEANS[what]} | {len(of)} | {sum(row.right for row in of)} |")
    lines += ["", "## What a look at the brink takes", ""]
    lines += [
        "The second walk of a process: the first one, half way to the limit, is not counted.",
        "",
    ]
    lines += [
        "| Beside | CPU, ms | memory, MB | times a count of all objects |",
        "|---|---:|---:|---:|",
    ]
    lines += [
        f"| {name} | {1e3 * spent:.0f} | {more / 1e6:.1f} | {spent / counted:.2f} |"
        for name, spent, more, counted in prices
    ]
    lines += [
        "",
        f"A calm program far from its limits takes {calm:.3f} times the CPU that it takes",
    ]
    lines += ["with a guard without the black box (medians of five runs each).", ""]
    lines += ["## Each run", ""]
    lines += [
        "| Limit | Keeps | Pace | End | Report | Held by | Looks at | Right |",
        "|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {r.what} | {r.kind} | {r.pace} | {r.end} | {r.said} | `{r.held}` | {r.look} | "
        f"{'yes' if r.right else '**no**'} |"
        for r in rows
    ]
    return "\n".join(lines) + "\n"


_MEANS = {
    "cgroup limit": "killed at the limit of a cgroup: died of memory, with the right holder",
    "RLIMIT_AS": "`MemoryError` at a limit of the address space: the same",
    "kill far from it": "SIGKILL far from the limit: killed, and not of memory",
    "healthy": "healthy at 88 and 93 % of its limit, ended: nothing is said of a death",
}


if __name__ == "__main__":
    main()
