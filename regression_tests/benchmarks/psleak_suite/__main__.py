"""Run psleak's suite of leaks under the guard: who is found, with the right kind, who is accused?

``python -m regression_tests.benchmarks.psleak_suite -o reports/psleak_suite`` fetches psleak's
source release, builds its test extension in an environment outside of this checkout, and plays each
leak and its clean twin in a process of its own: 60 generations under the guard as it comes. Exit
status 1 when a leak was missed or told as another kind, or a twin was accused.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from leakguard.model import Finding
from regression_tests.benchmarks.packages.environment import Unbuildable
from regression_tests.benchmarks.packages.said import Said, listen, type_name
from regression_tests.benchmarks.psleak_suite.cases import LEAKS, LOOK_ALIKES, Leak
from regression_tests.benchmarks.psleak_suite.suite import RELEASE, Suite, obtain

COMMAND = "python -m regression_tests.benchmarks.psleak_suite -o reports/psleak_suite\n"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was said about one side of a leak: ``leak``, ``twin`` or ``look-alike``."""

    leak: Leak
    side: str
    said: Said

    @property
    def right(self) -> bool:
        """Whether a finding says leak with a right kind, and names no wrong type."""
        return any(_fits(finding, self.leak) for finding in self.said.leaks)

    @property
    def wrong(self) -> bool:
        """Whether anything about it is not as it should be."""
        good = self.right if self.side == "leak" else not self.said.accused
        return bool(self.said.failure) or not good


def _fits(finding: Finding, leak: Leak) -> bool:
    return finding.kind in leak.kinds and (not finding.type or type_name(finding) in leak.types)


def outcome(suite: Suite, leak: Leak, side: str, runs: Path) -> Outcome:
    """Play one side and judge the run."""
    out = runs / f"{leak.name}-{side}.jsonl"
    return Outcome(leak, side, listen(suite.child(leak.test, side, str(out)), out))


LEGEND = """
60 generations of 50 ms under the guard as it comes, each side in a process of its own. A generation
calls the function so often that about 160 kB are lost, at least twice; threads twice. Where cycles
are the leak, Python's collector is off; in the twin it is on, and what it takes is no leak.
**Right**: a finding says leak, with a right kind and either no type or a right one. **Accused**:
leak or suspect.
"""


def page(outcomes: Sequence[Outcome], unlisted: Sequence[str]) -> str:
    """Return the table and its sums in Markdown."""
    leaks = [o for o in outcomes if o.side == "leak"]
    calm = {o.leak.test: o for o in outcomes if o.side != "leak"}
    alike = [o for o in outcomes if o.side == "look-alike"]
    accused = [o for o in calm.values() if o.said.accused]
    lines = [
        f"psleak's own suite ({RELEASE}): {sum(bool(o.said.leaks) for o in leaks)} of {len(leaks)} "
        f"leaks found, {sum(o.right for o in leaks)} of them right; {len(accused)} of {len(calm)} "
        "clean twins and look-alikes accused.",
        LEGEND,
        "| function | calls | right kinds | the leak | judged | the twin |",
        "|---|---|---|---|---|---|",
        *(_row(o, calm.get(o.leak.test)) for o in leaks),
        *(f"| {o.leak.name} | {o.leak.calls} | none | - | - | {o.said.told} |" for o in alike),
        "",
        *(f"- the suite has {test}, which this table does not know" for test in unlisted),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _row(leak: Outcome, twin: Outcome | None) -> str:
    found = "wrong kind or type" if leak.said.leaks else "missed"
    cells = (
        leak.leak.name,
        str(leak.leak.calls),
        ", ".join(sorted(leak.leak.kinds)),
        leak.said.told,
        "right" if leak.right else found,
        twin.said.told if twin else "-",
    )
    return f"| {' | '.join(cells)} |"


def sides(only: Sequence[str]) -> list[tuple[Leak, str]]:
    """Return what is to be played."""
    both = [(leak, side) for leak in LEAKS for side in ("leak", "twin")]
    every = both + [(leak, "look-alike") for leak in LOOK_ALIKES]
    return [(leak, side) for leak, side in every if not only or any(o in leak.test for o in only)]


def main() -> int:
    """Fetch, build, play, judge, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", default=[], metavar="NAME")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--checkout", type=Path, help="of psleak, instead of its release")
    parser.add_argument("--runs", type=Path, metavar="FOLDER", help="keep the runs")
    parser.add_argument("-o", dest="out", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    try:
        suite = obtain(options.checkout)
        unlisted = sorted(suite.tests() - {leak.test for leak in (*LEAKS, *LOOK_ALIKES)})
    except Unbuildable as reason:
        print(reason, file=sys.stderr)
        return 2
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(options.jobs) as pool:
        runs = (options.runs or Path(scratch)).resolve()
        runs.mkdir(parents=True, exist_ok=True)
        for one in pool.map(lambda its: outcome(suite, *its, runs), sides(options.only)):
            outcomes.append(one)
            print(f"{one.leak.name} ({one.side}): {one.said.told}", file=sys.stderr, flush=True)
    text = page(outcomes, unlisted)
    if options.out is not None:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "table.md").write_text(text, encoding="utf-8")
        (options.out / "COMMAND").write_text(COMMAND, encoding="utf-8")
    print(text)
    return int(any(o.wrong for o in outcomes) or bool(unlisted))


if __name__ == "__main__":
    sys.exit(main())
