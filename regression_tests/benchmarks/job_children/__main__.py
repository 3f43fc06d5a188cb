"""Start children in each way, one of which leaks, and calm twins; write what the job's report says.

``python -m regression_tests.benchmarks.job_children -o reports/job_children`` needs torch,
gymnasium, stable-baselines3, ray and joblib; a way whose package is missing is left out.
"""

from __future__ import annotations

import argparse
import importlib.util
import shlex
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from regression_tests.benchmarks.job_children.table import Seen, page, seen
from regression_tests.benchmarks.job_children.ways import WAYS, Kind, Watcher, play

_KINDS: tuple[Kind, ...] = ("leak", "calm")
_WATCHERS: tuple[Watcher, ...] = ("guard", "run")
_NEEDS = {
    "loky": "joblib", "loader": "torch", "subproc": "stable_baselines3", "vector": "gymnasium",
    "ray_actors": "ray", "ranks": "torch",
}  # fmt: skip


def main() -> int:
    """Play and write; exit status 1 when a leak was missed, or a calm job accused."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=45.0, help="for how long each runs")
    parser.add_argument("--at-once", type=int, default=1, help="programs that run at a time")
    parser.add_argument("--only", action="append", default=[], metavar="WAY")
    parser.add_argument("--watched-by", choices=_WATCHERS, action="append", default=[])
    parser.add_argument("--name", default="ways", help="the page is NAME.md")
    parser.add_argument("-o", dest="out", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    ways = [way for way in WAYS if not options.only or way in options.only]
    there = [way for way in ways if importlib.util.find_spec(_NEEDS.get(way, "os")) is not None]
    rows: list[Seen] = []

    def one(way: str, watcher: Watcher, kind: Kind) -> Seen:
        return seen(way, watcher, kind, play(way, kind, watcher, options.seconds))

    with ThreadPoolExecutor(options.at_once) as executor:
        plays = [
            executor.submit(one, way, watcher, kind)
            for way in there
            for watcher in options.watched_by or _WATCHERS
            for kind in _KINDS
        ]
        for playing in plays:
            rows.append(playing.result())
            print(rows[-1], file=sys.stderr, flush=True)
            if options.out is not None:
                _write(options.out, options.name, page(rows, options.seconds))
    return int(not all(row.right for row in rows))


def _write(out: Path, name: str, text: str) -> None:
    """Write a page, and the command that made it beside those of the others."""
    out.mkdir(parents=True, exist_ok=True)
    (out / f"{name}.md").write_text(text, encoding="utf-8")
    module = "regression_tests.benchmarks.job_children"
    command = shlex.join(["python", "-m", module, *sys.argv[1:]])
    file = out / "COMMAND"
    before = file.read_text("utf-8").splitlines() if file.exists() else []
    file.write_text("".join(f"{line}\n" for line in sorted({*before, command})), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
