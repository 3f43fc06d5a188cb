"""Play the loop for 20,000 generations, watched and alone, and say what the guard kept of it.

Run with ``python -m regression_tests.benchmarks.soak -o reports/soak``; it takes some minutes.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import leakguard
from leakguard.model.units import MB, format_bytes

SETTLED = 1000  # generations after which nothing may grow any more
ALLOWED = MB
SHOWN = (1, 100, 1000, 2000, 5000, 10_000, 15_000, 20_000)


def played(*arguments: str) -> list[dict[str, int]]:
    """Play the loop in a process of its own; return its samples."""
    command = [sys.executable, "-m", "regression_tests.benchmarks.soak.loop", *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def own(watched: list[dict[str, int]], alone: list[dict[str, int]]) -> dict[int, int]:
    """Return the live bytes that are the guard's, by generation: what the loop alone lacks."""
    without = {sample["generation"]: sample["live"] for sample in alone}
    return {s["generation"]: s["live"] - without[s["generation"]] for s in watched}


def page(watched: list[dict[str, int]], kept: dict[int, int], facts: str) -> str:
    """Return the page: a table, and what it says."""
    by_generation = {sample["generation"]: sample for sample in watched}
    rows = [
        f"| {n:,} | {format_bytes(by_generation[n]['live'])} | {format_bytes(kept[n])} "
        f"| {format_bytes(by_generation[n]['file'])} |"
        for n in SHOWN
        if n in by_generation
    ]
    head = "| generation | live bytes | of these the guard's | run file |\n|---|---|---|---|\n"
    return f"# A soak\n\n{facts}\n\n{head}" + "\n".join(rows) + "\n"


def main() -> int:
    """Play both, write the page, and fail where the guard grows or the file has no bound."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--generations", type=int, default=20_000)
    parser.add_argument("--max-file-size", default="8 MB")
    parser.add_argument("-o", "--out", type=Path)
    given = parser.parse_args()
    count = ("--generations", str(given.generations))
    with tempfile.TemporaryDirectory() as folder:
        most = ("--max-file-size", given.max_file_size)
        watched = played("--folder", folder, *most, *count)
        run = leakguard.load(Path(folder) / "run.jsonl")
    kept = own(watched, played(*count))
    settled = [size for generation, size in kept.items() if generation >= SETTLED]
    spread = max(settled) - min(settled)
    largest = max(sample["file"] for sample in watched)
    verdict = leakguard.diagnose(run).verdict
    facts = (
        f"{given.generations:,} generations, {len(run.snapshots):,} snapshots of them in the file. "
        f"After generation {SETTLED:,} the guard's own live bytes stay within "
        f"{format_bytes(spread)}; the file, bounded at {given.max_file_size}, had at most "
        f"{format_bytes(largest)} when it was looked at. The verdict: {verdict}."
    )
    text = page(watched, kept, facts)
    print(text)
    if given.out is not None:
        given.out.mkdir(parents=True, exist_ok=True)
        (given.out / "result.md").write_text(text, encoding="utf-8")
    return int(spread > ALLOWED or verdict != "stable")


if __name__ == "__main__":
    sys.exit(main())
