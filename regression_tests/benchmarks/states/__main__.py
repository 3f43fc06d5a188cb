"""Ask what may go in each state, follow the advice, and write what came free beside the promise.

python -m regression_tests.benchmarks.states [-o FOLDER] [--name NAME] [STATE ...]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regression_tests.benchmarks.states.key import STATES, Planted, State

PATIENCE = 300
# An answer keeps its promise if what came free is within these bounds of what was promised.
LEAST, MOST = 0.8, 1.25
_HEAD = (
    "State", "In its place", "Held", "Statement", "Promised", "Came free", "Ratio", "Resident",
    "Seconds",
)  # fmt: skip


@dataclass(frozen=True)
class Row:
    """One entry of a state's key, and the entry of the ranking in its place."""

    state: State
    place: int
    planted: Planted
    told: dict[str, Any] | None
    freed: dict[str, int] | None
    seconds: float

    @property
    def right(self) -> bool:
        """Whether the entry in this place is the one of the key."""
        told = self.told
        words = f"{told['what']} {told['statement']}" if told else ""
        return bool(told and told["kind"] == self.planted.kind and self.planted.word in words)

    @property
    def ratio(self) -> float | None:
        """What came free for each byte promised; None if nothing was promised."""
        return self.freed["freed"] / self.told["bytes"] if self.told and self.freed else None


def asked(state: State) -> dict[str, Any]:
    """Return what a process in this state says and frees."""
    count = str(max(1, len(state.planted)) if not state.clean else 0)
    module = "regression_tests.benchmarks.states.asked"
    done = subprocess.run(
        [sys.executable, "-m", module, state.program, count], timeout=PATIENCE, text=True,
        stdout=subprocess.PIPE, check=True, env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def rows_of(state: State, answer: dict[str, Any]) -> Iterator[Row]:
    """Yield a row for each entry of the key."""
    for place, planted in enumerate(state.planted):
        told = answer["ranked"][place] if place < len(answer["ranked"]) else None
        freed = answer["freed"][place] if place < len(answer["freed"]) else None
        yield Row(state, place, planted, told, freed, answer["seconds"])


def line(row: Row) -> str:
    """Return a row of the table."""
    name = row.state.program
    if len(row.state.planted) > 1:
        name += f" ({row.place + 1} of {len(row.state.planted)})"
    held = f"{row.planted.bytes / 1e6:.1f}" if row.planted.bytes else "not counted"
    cells = [name, "yes" if row.right else "**no**", held]
    if row.told is None or row.freed is None:
        cells += ["none", "", "", "", "", f"{row.seconds:.1f}"]
    else:
        said = f"`{row.told['statement']}`" + (" **failed**" if row.freed["failed"] else "")
        cells += [said, f"{row.told['bytes'] / 1e6:.1f}", f"{row.freed['freed'] / 1e6:.1f}",
                  f"{row.ratio:.2f}", f"{row.freed['resident'] / 1e6:.1f}",
                  f"{row.seconds:.1f}"]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def wrong_advice(answer: dict[str, Any]) -> list[str]:
    """Return the statements of a clean state that say that something may go."""
    return [h["statement"] for h in answer["ranked"] if h["kind"] not in ("variable", "cycles")]


def page(rows: list[Row], clean: dict[str, dict[str, Any]]) -> str:
    """Return the page with both tables."""
    right = sum(row.right for row in rows)
    kept = sum(row.ratio is not None and LEAST <= row.ratio <= MOST for row in rows)
    lines = [
        "# What may go, now: what was promised and what came free",
        "",
        f"{right} of {len(rows)} entries are in their place. Of {kept} what came free is {LEAST} "
        f"to {MOST} times what was promised.",
        "",
        "Each state is a program of its own in a process of its own. The statement of the entry "
        "was run, then the collector. Free is what the allocators of C and Python have less in "
        "use, and resident what the kernel counts less; all in MB. Held is what the program made, "
        "by construction.",
        "",
        f"| {' | '.join(_HEAD)} |",
        "|---|---|---:|---|---:|---:|---:|---:|---:|",
        *map(line, rows),
        "",
        "## Where nothing may go",
        "",
        "Each statement that frees anything but a variable in use, or garbage, would be wrong "
        "advice.",
        "",
        "| State | Wrong advice | Seconds |",
        "|---|---|---:|",
    ]
    for program, answer in clean.items():
        said = ", ".join(f"`{statement}`" for statement in wrong_advice(answer)) or "none"
        lines.append(f"| {program} | {said} | {answer['seconds']:.1f} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Ask in each state and write the page; return 1 if an entry or a promise is wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("-o", "--out", type=Path, default=Path("reports/states"))
    parser.add_argument("--name", default="table")
    parser.add_argument("states", nargs="*")
    arguments = parser.parse_args()
    chosen = [state for state in STATES if state.program in (arguments.states or [state.program])]
    rows: list[Row] = []
    clean: dict[str, dict[str, Any]] = {}
    for state in chosen:
        answer = asked(state)
        rows += rows_of(state, answer)
        if state.clean:
            clean[state.program] = answer
        print(state.program, json.dumps(answer), flush=True)
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / f"{arguments.name}.md").write_text(page(rows, clean), encoding="utf-8")
    kept = all(row.ratio is not None and LEAST <= row.ratio <= MOST for row in rows)
    advised = any(map(wrong_advice, clean.values()))
    return int(advised or not kept or not all(row.right for row in rows))


if __name__ == "__main__":
    sys.exit(main())
