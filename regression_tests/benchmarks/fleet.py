"""Rank the bugs of many runs: seconds and memory beside DuckDB reading the same files as they are.

``python -m regression_tests.benchmarks.fleet -o reports/fleet [--runs 1000]`` makes run files,
three of ten with one of three planted leaks, on a hundred hosts over a year, and compares. Exit
status 1 when the three are not the first three, in order of what they leak. Needs DuckDB. With
``--s3`` the files are also read from an S3 server on this machine; that needs moto and s3fs.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from leakguard.model import RunInfo
from leakguard.store import schema
from leakguard.store.jsonl import RunWriter
from leakguard.testing import RunStory, State

COMMAND = """\
python -m regression_tests.benchmarks.fleet -o reports/fleet --runs 10000
python -m regression_tests.benchmarks.fleet -o reports/fleet --runs 10000 --s3
"""
GENERATIONS = 12
#: Type that piles up, share of the runs that have it, bytes of one.
PLANTED = (("app.Rollout", 0.2, 2_000_000), ("app.Frame", 0.07, 2_000_000),
           ("app.Batch", 0.03, 1_000_000))  # fmt: skip
_PLAIN = """
import duckdb
duckdb.sql("SELECT snapshot.metrics.rss FROM read_json('{}/*/*.jsonl', format="
           "'newline_delimited', union_by_name=true, maximum_object_size=100000000)").fetchall()
"""


_SERVER = """
import moto.server, threading
server = moto.server.ThreadedMotoServer("127.0.0.1", 0, verbose=False)
server.start()
print("http://%s:%d" % server.get_host_and_port(), flush=True)
threading.Event().wait()
"""


@dataclass(frozen=True)
class Cost:
    """What a command took: seconds on the clock and on processors, the most memory of a process."""

    seconds: float
    processor: float
    bytes: int


def write_runs(folder: Path, number: int) -> None:
    """Write run files into fifty folders; who leaks what is drawn with a fixed seed."""
    draw = random.Random(20)
    for place in range(number):
        drawn, planted = draw.random(), None
        for leak in PLANTED:
            drawn -= leak[1]
            if drawn < 0:
                planted = leak
                break
        day = f"2026-{draw.randrange(1, 13):02d}-{draw.randrange(1, 29):02d}T10:00:00+00:00"
        info = RunInfo(name="train", host=f"node{draw.randrange(100)}", started=day)
        path = folder / f"{place % 50:02d}" / f"{place}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        _write(path, info, planted)


def _write(path: Path, info: RunInfo, planted: tuple[str, float, int] | None) -> None:
    name, _, size = planted or ("app.Rollout", 0.0, 2_000_000)
    story = RunStory(info=replace(info, source="guard"))
    for generation in range(1, GENERATIONS + 1):
        kept = generation if planted else 1
        used = kept * size
        metrics = {"rss": 90_000_000 + used, "heap_in_use": 30_000_000 + used}
        story.generation(train=State(metrics, {name: kept}, {name: used}))
    writer = RunWriter(path, story.info)
    for snapshot in story.run().snapshots:
        writer.write(schema.encode_snapshot(snapshot))
    writer.close()


def cost(command: list[str]) -> tuple[Cost, str]:
    """Run a command; return what it took, its own children included, and what it printed."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as said:
        began = time.perf_counter()
        process = subprocess.Popen(command, stdout=said)
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        if status:
            raise RuntimeError(f"{command} ended with {status}")
        said.seek(0)
        printed = said.read()
    return Cost(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss * 1_024), printed


@contextlib.contextmanager
def bucket(folder: Path) -> Iterator[str]:
    """Serve the files of a folder by an S3 server, a process of its own; yield their URL."""
    server = subprocess.Popen(
        [sys.executable, "-c", _SERVER], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert server.stdout is not None
    known = {"AWS_ACCESS_KEY_ID": "nobody", "AWS_SECRET_ACCESS_KEY": "nobody",
             "AWS_DEFAULT_REGION": "us-east-1",
             "AWS_ENDPOINT_URL": server.stdout.readline().decode().strip()}  # fmt: skip
    os.environ.update(known)
    try:
        import fsspec

        files = fsspec.filesystem("s3")
        files.mkdir("fleet")
        files.put(f"{folder}/", "fleet/runs/", recursive=True)
        yield "s3://fleet/runs/"
    finally:
        server.kill()
        server.wait()


def page(runs: int, size: int, costs: dict[str, Cost], types: list[str], lines: int) -> str:
    """Return the table in Markdown."""
    plain = costs["DuckDB alone, one column of every line"]
    return "\n".join((
        f"{runs:,} run files, {size / 1e6:,.1f} MB, three planted bugs. In order of damage: "
        f"{', '.join(types[:3])}. Printed: {lines} lines.",
        "",
        "| what | seconds | processor seconds | times DuckDB (processor) | memory of a process |",
        "|---|---:|---:|---:|---:|",
        *(f"| {name} | {c.seconds:.1f} | {c.processor:.1f} | {c.processor / plain.processor:.1f} "
          f"| {c.bytes / 1e6:.0f} MB |" for name, c in costs.items()),
        "",
    ))  # fmt: skip


def main() -> int:
    """Make the runs, rank, compare, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1_000)
    parser.add_argument("-o", dest="out", type=Path)
    parser.add_argument("--s3", action="store_true", help="read from an S3 server, too")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fleet-") as place:
        folder, table = Path(place) / "runs", Path(place) / "fleet.parquet"
        write_runs(folder, options.runs)
        size = sum(path.stat().st_size for path in folder.rglob("*.jsonl"))
        fleet = [sys.executable, "-m", "leakguard", "fleet"]
        costs = {}
        costs["leakguard fleet"], told = cost([*fleet, str(folder), "-o", str(table)])
        costs["leakguard fleet, from the table it wrote"], said = cost(
            [*fleet, str(table), "--format", "json"]
        )
        costs["DuckDB alone, one column of every line"], _ = cost(
            [sys.executable, "-c", _PLAIN.format(folder)]
        )
        if options.s3:
            with bucket(folder) as url:
                costs["leakguard fleet, from an S3 server"], _ = cost([*fleet, url])
    types = [bug["type"] for bug in json.loads(said)["bugs"]]
    document = page(options.runs, size, costs, types, len(told.splitlines()))
    print(document)
    if options.out is not None:
        options.out.mkdir(parents=True, exist_ok=True)
        name = "s3.md" if options.s3 else "table.md"
        (options.out / name).write_text(document, encoding="utf-8")
        (options.out / "COMMAND").write_text(COMMAND, encoding="utf-8")
    return int(types[:3] != [name for name, _, _ in PLANTED])


if __name__ == "__main__":
    sys.exit(main())
