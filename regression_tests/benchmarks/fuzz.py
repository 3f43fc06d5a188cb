"""Read mutated inputs of each kind: ``python -m regression_tests.benchmarks.fuzz``.

Every input must be read or refused in one line, in less than a second a megabyte. The inputs that
once were not are in ``regression_tests/unit/store/found_by_fuzzing``, which the suite reads.
"""

from __future__ import annotations

import argparse
import functools
import random
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from leakguard.analysis import diagnose
from leakguard.analysis.budget import check
from leakguard.cli.budget_file import read_budget
from leakguard.errors import LeakguardError
from leakguard.live.project_settings import project_ignores
from leakguard.model import Run
from leakguard.store import load_runs, schema
from leakguard.testing import RunStory, State

# Text that readers care for, thrown in anywhere.
TOKENS = [
    b"MEMORY SNAPSHOT: Gen 3: After x", b"MEMORY TREND", b"MEMORY GROWTH ANALYSIS", b"=" * 70,
    b"RAM: 3 GB", b"Generation 3 / 25", b"[3/25] ", b"Epoch 3:", b"Live agents: 17",
    b"Baseline: x", b"\r", b"\n", b"\n\n", b"\x1b[0m", b"\xff\xfe", b"\x00",
    b"\xe3\x80\x80" * 40, b"9" * 400, b"1e999", b"-1", b"NaN", b"null",
    b'"x":' + b"[" * 5000 + b"]" * 5000 + b",",
    b'{"a":' * 2000, b"{}", b"[]", b'""', b"true", b'{"snapshot":{}}', b'{"run":{}}',
    b'{"end":{}}', b":", b'"', b",", b"   a (1,) b on c:  1 MB", b"   x=1(+1),2(+2); y",
    b"   holder {}", b"[rank1]: ", b"2025-01-07 10:00:00 ",
    b"[tool.leakguard]\n", b"ignore = ", b"[budget]\n", b"growth = ", b"1 GB", b"*" * 40, b"[!",
    b"[a-", b"a." * 200, b"= " + b"[" * 2000, b"\"\"\"", b"=" + b"9" * 5000 + b"\n",
]  # fmt: skip


BUDGET = b"""growth = "1 GB"
peak = "4 GB"
threads = 0
warmup = 2
constant = { TradingEnvironment = 2, DDPGAgent = [16, 17] }
phases.evaluate_population.growth = "10 MB"
"""
PATTERNS = b"""[tool.leakguard]
ignore = ["app.cache.*", "*.TradingEnvironment", "instances:[a-f]?*", "__main__.kept[*]"]
"""


def read_whole_budget(path: Path) -> None:
    """Read a budget as ``leakguard check`` does, and check a run against it."""
    check(diagnose(small_run()), read_budget(path))


def read_patterns(path: Path) -> None:
    """Read the patterns of a project, and judge a run beside them."""
    shutil.copy(path, path.with_name("pyproject.toml"))
    run = small_run()
    diagnose(replace(run, info=replace(run.info, ignore=project_ignores(path.parent))))


def read_log_or_run(path: Path) -> None:
    """Read a log or a run file; what is read has a place."""
    for run in load_runs(path):
        assert all(s.serial >= 0 and isinstance(s.label, str) for s in run.snapshots)


READERS: dict[str, Callable[[Path], None]] = {
    "log": read_log_or_run,
    "run file": read_log_or_run,
    "single lines": read_log_or_run,
    "budget": read_whole_budget,
    "patterns": read_patterns,
}


@functools.cache
def small_run() -> Run:
    """Return four generations, in each of which one object more is left."""
    story = RunStory(watch={"m.Env": (2, 2)})
    for n in range(4):
        state = State(
            {"rss": 10**9 + n * 10**7, "heap_in_use": 10**8}, {"m.Env": 2 + n, "list": 99}
        )
        (story.generation(work=state) if n else story.baseline(state))
    return story.run()


def seeds() -> dict[str, bytes]:
    """Return an input of each kind that is as it should be: what is changed by chance."""
    run = small_run()
    lines = "".join(f"Generation {n} / 9\nRAM: {n}.5 GB\nLive envs: {n}\n" for n in range(1, 6))
    return {
        "log": _log(run),
        "run file": _file(run),
        "single lines": lines.encode(),
        "budget": BUDGET,
        "patterns": PATTERNS,
    }


def _file(run: Run) -> bytes:
    body = b"".join(map(schema.encode_snapshot, run.snapshots))
    return schema.encode_header(run.info) + body + schema.encode_end(len(run.snapshots))


def _log(run: Run) -> bytes:
    from leakguard.analysis import growth, trend
    from leakguard.render.log_block import growth_block, snapshot_block, trend_block

    first = run.snapshots[0].census
    blocks = [snapshot_block(s, first=first, exact=True) for s in run.snapshots]
    change = growth(run)
    blocks += [trend_block(trend(run)), *([] if change is None else [growth_block(change)])]
    return ("\n".join(blocks) + "\n").encode()


def _place(data: bytes, generator: random.Random) -> int:
    """Return a place to change: anywhere, or behind a sign that readers look for."""
    start = generator.randrange(len(data) + 1)
    if generator.random() < 0.5:
        start = data.find(generator.choice([b"\n", b"{", b":", b",", b" ", b"="]), start) + 1
    return start


def mutated(data: bytes, generator: random.Random) -> bytes:
    """Return the data after one to eight changes: bytes, tokens, lines, numbers."""
    for _ in range(generator.randint(1, 8)):
        start = _place(data, generator)
        stop = min(len(data), start + generator.choice([0, 1, 1, 4, 40, 400]))
        change = generator.randrange(6)
        if change == 0:
            middle = generator.randbytes(generator.choice([1, 1, 2, 8]))
        elif change == 1:
            middle = generator.choice(TOKENS)
        elif change == 2:
            middle = data[start:stop] * generator.choice([0, 2, 3, 100])
        elif change == 3:
            other = generator.randrange(len(data) + 1)
            middle = data[other : other + generator.choice([10, 100, 1000])]
        elif change == 4:
            middle = bytes(
                generator.choice(b"0123456789-.e") for _ in range(generator.randint(1, 25))
            )
            stop = min(len(data), start + 1)
        else:
            data, start, stop, middle = data[:start], start, start, b""
        data = data[:start] + middle + data[stop:]
    return data


@dataclass(frozen=True)
class Failure:
    """An input that gave a traceback, a refusal of several lines, or took too long."""

    kind: str
    reason: str
    data: bytes


def tried(kind: str, data: bytes, path: Path) -> Failure | None:
    """Read one input; None when it is read or refused."""
    path.write_bytes(data)
    began = time.process_time()
    try:
        READERS[kind](path)
    except LeakguardError as refusal:
        if "\n" in str(refusal):
            return Failure(kind, f"refused in several lines: {refusal}", data)
    except Exception:
        return Failure(kind, traceback.format_exc(limit=-3), data)
    seconds = time.process_time() - began
    if seconds > max(1.0, len(data) / 1e6):
        return Failure(kind, f"{seconds:.1f} s for {len(data):,} bytes", data)
    return None


def failures(
    examples: int,
    seed: int,
    path: Path,
    kinds: Collection[str] = (*READERS,),
    seconds: float = float("inf"),
) -> Iterator[Failure]:
    """Yield what goes wrong among so many inputs of each kind, or in so many seconds of CPU."""
    generator = random.Random(seed)
    for kind in kinds:
        end, data, done = time.process_time() + seconds, seeds()[kind], 0
        while done < examples and time.process_time() < end:
            done += 1
            failure = tried(kind, mutated(data, generator), path)
            if failure is not None:
                yield failure
        print(f"{kind}: {done:,} inputs", flush=True)


def main() -> int:
    """Try many inputs, print each failure once by its reason, and keep its input."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=10_000, help="of each kind")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="of CPU, for each kind")
    parser.add_argument(
        "--kind", action="append", choices=READERS, help="only this one; repeatable"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="folder for the inputs that failed")
    arguments = parser.parse_args()
    seen: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        found = failures(
            arguments.examples,
            arguments.seed,
            Path(folder) / "input",
            arguments.kind or READERS,
            arguments.seconds,
        )
        for failure in found:
            seen[failure.reason] += 1
            if seen[failure.reason] == 1:
                print(f"{failure.kind}: {failure.reason}\n{failure.data[:200]!r}\n", flush=True)
                if arguments.keep is not None:
                    arguments.keep.mkdir(parents=True, exist_ok=True)
                    (arguments.keep / f"{len(seen)}").write_bytes(failure.data)
    print(f"{sum(seen.values())} failed")
    return int(bool(seen))


if __name__ == "__main__":
    sys.exit(main())
