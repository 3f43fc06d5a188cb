"""What ``leakguard run`` costs scripts that take minutes of CPU, and its fixed cost apart.

``python -m regression_tests.benchmarks.unprepared.overhead FOLDER -o reports/unprepared``. The two
runs of a pair share a core, so that it is as fast for one as for the other; each core has a pair.
With ``--table short``, healthy programs of 10 s; FOLDER is the folder of these strangers' programs.
"""

from __future__ import annotations

import argparse
import os
import queue
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

from regression_tests.benchmarks.unprepared.play import Played, play
from regression_tests.benchmarks.unprepared.script import Script, scripts

HERE = Path(__file__).resolve().parent
# Tables of scripts, and the page of each.
_OUT = {"long": "overhead.md", "short": "overhead_short.md"}
LEGEND = """
Each pair is the script alone and under `leakguard run`, started together on one core; CPU
seconds are user and system time of the whole process tree. **Fixed** is what the same takes of a
training of forty steps that imports what trainers do and idles for four seconds: start, the first
looks, the last one and the report. **Beyond** is the rest, as a share of the script's CPU time.
**In all** is both. **Own clock** is what the guard charged itself with while the script ran, looks
of the fixed part included. **Same** compares what the script printed, but for what differs between
two plain runs, and the exit status.
"""


def main() -> int:
    """Play, compare, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--table", choices=_OUT, default="long")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="part of it")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=60.0, help="begin no pair after so many")
    parser.add_argument("-o", dest="out", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    ends = time.monotonic() + 60 * options.minutes
    cores: queue.SimpleQueue[int] = queue.SimpleQueue()
    for core in os.sched_getaffinity(0):
        cores.put(core)

    def pairs(script: Script) -> Played | None:
        if time.monotonic() >= ends:
            return None
        core = cores.get()
        try:
            return play(script, options.folder.resolve(), options.rounds, None, core=core)
        finally:
            cores.put(core)

    wanted = [
        script
        for script in scripts(HERE / f"{options.table}.toml")
        if not options.only or any(text in script.path for text in options.only)
    ]
    start = play(
        Script("start.py", ""), HERE, options.rounds + 1, None, core=min(os.sched_getaffinity(0))
    )
    all_played: list[Played] = []
    with ThreadPoolExecutor(cores.qsize()) as pool:
        for played in filter(None, pool.map(pairs, wanted)):
            all_played.append(played)
            print(row(played, start.extra_seconds), file=sys.stderr, flush=True)
            if options.out is not None:
                out = options.out / _OUT[options.table]
                out.write_text(page(start, all_played), encoding="utf-8")
    print(page(start, all_played))
    return int(not all(played.same for played in all_played))


def page(start: Played, all_played: list[Played]) -> str:
    """Return the table and its sums."""
    fixed = start.extra_seconds
    each = ", ".join(f"{one:.1f}" for one in _extras(start))
    shares = [share for played in all_played for share in _shares(played, fixed)]
    in_all = [share for played in all_played for share in _shares(played, 0.0)]
    head = (
        "| script | verdict | generations | same | CPU alone | extra, each pair | in all | beyond "
        "| own clock |"
    )
    return "\n".join(
        [
            f"In all, in {len(shares)} pairs: {_spread(in_all)}. Fixed: {fixed:.1f} s of CPU "
            f"({each}). Beyond it: {_spread(shares)}.",
            f"Made on {os.cpu_count()} cores under a load of {os.getloadavg()[2]:.0f}, "
            "the pair included.",
            LEGEND,
            head,
            "|---" * 9 + "|",
            *(row(played, fixed) for played in all_played),
            "",
        ]
    )


def _spread(shares: list[float]) -> str:
    return (
        f"{median(shares):+.1%} of the script's CPU time in the median, {min(shares):+.1%} to "
        f"{max(shares):+.1%}"
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
        "yes" if played.same else "no",
        f"{alone:.1f} s",
        ", ".join(f"{extra:+.1f} s" for extra in _extras(played)),
        ", ".join(f"{share:+.1%}" for share in _shares(played, 0.0)),
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
