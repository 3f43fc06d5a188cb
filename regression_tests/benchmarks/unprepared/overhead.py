"""What ``leakguard run`` costs scripts that take 40 s of CPU, and its fixed cost apart.

``python -m regression_tests.benchmarks.unprepared.overhead FOLDER -o reports/unprepared``. The two
runs of a pair run at the same time, so that other programs slow both down alike.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from statistics import median

from regression_tests.benchmarks.unprepared.play import Played, play
from regression_tests.benchmarks.unprepared.script import Script, scripts

HERE = Path(__file__).resolve().parent
LEGEND = """
Each pair is the script alone and under `leakguard run`, started together, with one thread each; CPU
seconds are user and system time of the whole process tree. **Fixed** is what the same takes of a
training of forty steps that imports what trainers do and idles for four seconds: start, the first
looks, the last one and the report. **Beyond** is the rest, as a share of the script's CPU time.
**Own clock** is what the guard charged itself with while the script ran, looks of the fixed part
included.
"""


def main() -> int:
    """Play, compare, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="part of it")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=60.0, help="begin no pair after so many")
    parser.add_argument("-o", dest="out", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    began = time.monotonic()
    start = play(Script("start.py", ""), HERE, options.rounds + 1, None, together=True)
    all_played: list[Played] = []
    for script in scripts(HERE / "long.toml"):
        in_time = time.monotonic() - began < 60 * options.minutes
        if in_time and (not options.only or any(text in script.path for text in options.only)):
            folder = options.folder.resolve()
            all_played.append(play(script, folder, options.rounds, None, together=True))
            print(row(all_played[-1], start.extra_seconds), file=sys.stderr, flush=True)
            if options.out is not None:
                (options.out / "overhead.md").write_text(page(start, all_played), encoding="utf-8")
    print(page(start, all_played))
    return int(not all(played.same for played in all_played))


def page(start: Played, all_played: list[Played]) -> str:
    """Return the table and its sums."""
    fixed = start.extra_seconds
    each = ", ".join(f"{one:.1f}" for one in _extras(start))
    shares = [share for played in all_played for share in _shares(played, fixed)]
    head = "| script | verdict | generations | CPU alone | extra, each pair | beyond | own clock |"
    return "\n".join(
        [
            f"Fixed: {fixed:.1f} s of CPU ({each}). Beyond it, in {len(shares)} pairs: "
            f"{median(shares):+.1%} of the script's CPU time (median; {min(shares):+.1%} to "
            f"{max(shares):+.1%}).",
            f"Made on {os.cpu_count()} cores under a load of {os.getloadavg()[2]:.0f}, "
            "the pair included.",
            LEGEND,
            head,
            "|---" * 7 + "|",
            *(row(played, fixed) for played in all_played),
            "",
        ]
    )


def row(played: Played, fixed: float) -> str:
    """Return one line of the table."""
    run, report = played.run, played.report
    alone = median(one.cpu_seconds for one in played.alone)
    own = played.own_seconds
    cells = (
        f"`{played.script.command}`",
        report.verdict if report else "-",
        str(len(run.generations)) if run else "0",
        f"{alone:.1f} s",
        ", ".join(f"{extra:+.1f} s" for extra in _extras(played)),
        ", ".join(f"{share:+.1%}" for share in _shares(played, fixed)),
        "-" if own is None else f"{own:.1f} s ({own / alone:.1%})",
    )
    return f"| {' | '.join(cells)} |"


def _extras(played: Played) -> list[float]:
    pairs = zip(played.alone, played.watched, strict=True)
    return [watched.cpu_seconds - alone.cpu_seconds for alone, watched in pairs]


def _shares(played: Played, fixed: float) -> list[float]:
    pairs = zip(_extras(played), played.alone, strict=True)
    return [(extra - fixed) / alone.cpu_seconds for extra, alone in pairs]


if __name__ == "__main__":
    sys.exit(main())
