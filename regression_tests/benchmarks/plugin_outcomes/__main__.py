"""Run the known tests again and again, alone and on two workers, and count their outcomes.

``python -m regression_tests.benchmarks.plugin_outcomes --runs 20 -o reports/plugin`` writes the
table. The order is shuffled anew in every run where pytest-randomly is installed. Exit status 1
when an outcome was not the expected one.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from xml.etree import ElementTree as ET

HERE = Path(__file__).parent
GROUPS = (("known_good", "known_leaking"), ("known_good_torch", "known_leaking_torch"))
MODES = {"alone": (), "-n 2": ("-n", "2")}
BROKEN = "\nmemory budget: "
COMMAND = "python -m regression_tests.benchmarks.plugin_outcomes --runs {runs} -o reports/plugin\n"

Tally = dict[tuple[str, str], Counter[str]]


def main() -> int:
    """Run, count, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--mode", choices=MODES, action="append", help="default: all")
    parser.add_argument("-k", dest="chosen", default="", help="as of pytest: some tests only")
    parser.add_argument("-o", dest="out", type=Path)
    options = parser.parse_args()
    modes = options.mode or list(MODES)
    tally: dict[str, Tally] = {mode: {} for mode in modes}
    began = time.monotonic()
    for run in range(1, options.runs + 1):
        for mode in modes:
            count(tally[mode], mode, options.chosen)
            took = (time.monotonic() - began) / 60
            print(f"run {run}, {mode}: {unexpected(tally[mode])} unexpected, {took:.0f} min",
                  file=sys.stderr, flush=True)  # fmt: skip
            text = table(tally, (time.monotonic() - began) / 60)
            if options.out is not None:
                write(options.out, text, options.runs)
    print(text)
    return int(any(map(unexpected, tally.values())))


def count(tally: Tally, mode: str, chosen: str) -> None:
    """Run every known test once and add its outcome."""
    for group in GROUPS:
        for module, test, outcome in outcomes(group, mode, chosen):
            tally.setdefault((module, test), Counter())[outcome] += 1


def outcomes(group: tuple[str, ...], mode: str, chosen: str) -> Iterator[tuple[str, str, str]]:
    """Yield (module, test, outcome) of one run of pytest."""
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "results.xml"
        files = [HERE / f"{module}.py" for module in group]
        command = [
            sys.executable, "-m", "pytest", "-q", "-o", "addopts=", "-p", "no:cacheprovider",
            "-p", "no:memray", "-p", "no:hypothesispytest", f"--junitxml={results}", "-k", chosen,
            *MODES[mode], *files,
        ]  # fmt: skip
        ran = subprocess.run(command, cwd=HERE.parents[2], capture_output=True, text=True)
        if ran.returncode not in (0, 1, 5):
            raise SystemExit(f"pytest ended with {ran.returncode}:\n{ran.stdout}{ran.stderr}")
        for case in ET.parse(results).iter("testcase"):
            module = case.get("classname", "").rsplit(".", 1)[-1]
            yield module, case.get("name", ""), outcome_of(module, case)


def outcome_of(module: str, case: ET.Element) -> str:
    """Return passed, broken, misnamed (broken, with another culprit), skipped or error."""
    failure = case.find("failure")
    if failure is not None:
        if BROKEN not in failure.get("message", ""):
            return "error"
        return "broken" if culprit(module, case.get("name", "")) in failure.text else "misnamed"
    if case.find("error") is not None:
        return "error"
    return "passed" if case.find("skipped") is None else "skipped"


def culprit(module: str, test: str) -> str:
    """Return what the failure of a leaking test must name."""
    source = import_module(f"{__package__}.{module}")
    return getattr(source, "CULPRIT", {}).get(test, "")


def expected(module: str) -> str:
    """Return the outcome of every test in a module."""
    return "passed" if module.startswith("known_good") else "broken"


def unexpected(tally: Tally) -> int:
    """Return how many outcomes were not the expected ones."""
    return sum(c.total() - c[expected(module)] for (module, _), c in tally.items())


def table(tally: dict[str, Tally], minutes: float) -> str:
    """Return the outcomes as Markdown, one test a row."""
    modes = list(tally)
    tests = sorted({key for counted in tally.values() for key in counted})
    lines = [
        "# Outcomes of known tests under memory budgets",
        "",
        *(summary(mode, tally[mode]) for mode in modes),
        f"Wall time {minutes:.0f} min on a shared machine.",
        "",
        f"| Test | Expected | {' | '.join(modes)} |",
        f"|---|---|{'---|' * len(modes)}",
    ]
    for key in tests:
        module, test = key
        cells = [shown(tally[mode].get(key, Counter())) for mode in modes]
        lines.append(f"| {module}: {test} | {expected(module)} | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def summary(mode: str, tally: Tally) -> str:
    """Return the totals of one mode in a sentence."""
    good = [c for (module, _), c in tally.items() if expected(module) == "passed"]
    leaking = [c for (module, _), c in tally.items() if expected(module) == "broken"]
    flaky = sum(len(counted) > 1 for counted in tally.values())
    runs = max((counted.total() for counted in tally.values()), default=0)
    return (
        f"- {mode}: {len(good)} good tests passed {sum(c['passed'] for c in good)} of "
        f"{sum(c.total() for c in good)} runs, {len(leaking)} leaking tests failed "
        f"{sum(c['broken'] for c in leaking)} of {sum(c.total() for c in leaking)} with the right "
        f"culprit; {flaky} tests had different outcomes in {runs} runs."
    )


def shown(counted: Counter[str]) -> str:
    """Return ``20 passed``, or all outcomes where there were several."""
    return ", ".join(f"{number} {outcome}" for outcome, number in counted.most_common()) or "–"


def write(folder: Path, text: str, runs: int) -> None:
    """Write the table and the command that made it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "table.md").write_text(text, encoding="utf-8")
    (folder / "COMMAND").write_text(COMMAND.format(runs=runs), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
