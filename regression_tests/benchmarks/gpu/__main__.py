"""Play each training with its mistake and without.

``python -m regression_tests.benchmarks.gpu -o FOLDER``: what is told of a leak is compared with
what was planted: holder, phase, line, and the bytes that live on the device by torch's own count.
Without CUDA ``--device cpu`` plays the same programs, as a test of this table.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import torch

import leakguard
from leakguard.model import Report
from regression_tests.benchmarks.playing.ended import ended
from regression_tests.benchmarks.playing.page import keep_page

PROGRAM = Path(__file__).with_name("program.py")
_ROOT = Path(__file__).parents[3]
_PATIENCE = 300.0
_ALARMS = ("leak", "suspect")
# Kind, and what its way to the holder has.
KINDS = {
    "losses": r"\.kept\[\*\]", "hidden": r"\.hidden", "rollouts": r"\.kept\[\*\]",
    "activations": r"\.kept\[\*\]", "optimizers": r"\.kept\[\*\]", "pinned": r"\.kept\[\*\]",
    "weights": r"\.kept\[\*\]", "batches": r"\.kept\[\*\]", "sizes": r"\.kept\[\*\]",
    "out_of_memory": r"\.kept\[\*\]",
}  # fmt: skip


def play(kind: str, twin: str, device: str, folder: Path) -> Report | str:
    """Return the report of one training, or why there is none."""
    run = folder / f"{kind}-{twin}.jsonl"
    command = [sys.executable, str(PROGRAM), kind, twin, str(run), device]
    paths = os.pathsep.join([str(_ROOT), *sys.path])
    failure = ended(command, _PATIENCE, variables={"PYTHONPATH": paths}).failure
    expected = kind == "out_of_memory" and twin == "leak"
    if failure is not None and not (expected and "OutOfMemoryError" in failure):
        return failure
    return leakguard.diagnose(leakguard.load(run))


def cells(kind: str, twin: str, told: Report | str) -> list[str]:
    """Return a row of the table."""
    if isinstance(told, str):
        return [kind, twin, f"failed: {told}", "", "", "", "", "", "no"]
    alarms = [finding for finding in told.findings if finding.verdict in _ALARMS]
    held = [finding for finding in alarms if re.search(KINDS[kind], finding.held_by or "")]
    best = next(iter(held or alarms), None)
    grown = _grown(told)
    if best is None:
        right = twin == "calm" and told.verdict == "stable"
        return [kind, twin, told.verdict, "", "", "", "", grown, _word(right)]
    line = (best.created_at or "").partition(" ")[0].rpartition(":")[2]
    rate = "" if best.bytes_per_generation is None else f"{best.bytes_per_generation / 1e6:.2f}"
    right = twin == "leak" and bool(held) and best.phase == "keep" and line == str(_line(kind))
    where = f"program.py:{line}" if line else ""
    return [kind, twin, told.verdict, best.held_by or "", best.phase or "", where, rate, grown,
            _word(right and len(alarms) == 1)]  # fmt: skip


def _line(kind: str) -> int:
    lines = PROGRAM.read_text(encoding="utf-8").splitlines()
    return next(number for number, text in enumerate(lines, 1) if f"# MADE HERE {kind}" in text)


def _grown(told: Report) -> str:
    """Return the megabytes a generation by which what is allocated on the device grew, by torch."""
    ends = [end for end in told.run.generation_ends() if "gpu_allocated" in end.metrics]
    late = ends[len(ends) // 2 :]
    if len(late) < 2:
        return ""
    grown = late[-1].metrics["gpu_allocated"] - late[0].metrics["gpu_allocated"]
    return f"{grown / ((late[-1].generation or 0) - (late[0].generation or 0)) / 1e6:.2f}"


def _word(right: bool) -> str:
    return "yes" if right else "no"


def main() -> None:
    """Play what is asked for and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("kinds", nargs="*", metavar="KIND")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--at-once", type=int, default=1)
    parser.add_argument("--runs", type=Path, help="where the run files are kept")
    parser.add_argument("-o", "--out", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    plays = [(kind, twin) for kind in options.kinds or KINDS for twin in ("leak", "calm")]
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.runs or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        with ThreadPoolExecutor(options.at_once) as pool:
            told = list(pool.map(lambda play_: play(*play_, options.device, folder), plays))
    rows = [cells(kind, twin, one) for (kind, twin), one in zip(plays, told, strict=True)]
    text = "\n".join([*_head(options.device, rows), *(f"| {' | '.join(row)} |" for row in rows)])
    print(text)
    if options.out:
        keep_page(options.out / "table.md", text + "\n", __spec__.parent)


def _head(device: str, rows: list[list[str]]) -> list[str]:
    name = torch.cuda.get_device_name() if device == "cuda" else "CPU"
    right = sum(row[-1] == "yes" for row in rows)
    return [
        "# Trainings on a GPU",
        "",
        f"{name}, torch {torch.__version__}, CPython {sys.version.split()[0]}: {right} of "
        f"{len(rows)} rows right. A leak is right with holder, phase and line, and nothing else "
        "accused; a calm twin is right if it is stable. *By torch* is what "
        "`torch.cuda.memory_allocated` grew by in the second half of the run.",
        "",
        "| keeps | twin | verdict | held by | phase | made at | told, MB a generation "
        "| by torch, MB | right |",
        "|---" * 9 + "|",
    ]  # fmt: skip


if __name__ == "__main__":
    main()
