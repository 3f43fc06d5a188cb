"""Read mutated logs and run files: ``python -m regression_tests.benchmarks.fuzz``.

Every input must give runs or a refusal in one line, in less than a second a megabyte.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from leakguard.errors import LeakguardError
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
]  # fmt: skip


def seeds() -> dict[str, bytes]:
    """Return a guard's log, its run file and a log of single lines, all of the same small run."""
    story = RunStory(watch={"m.Env": (2, 2)})
    for n in range(4):
        state = State(
            {"rss": 10**9 + n * 10**7, "heap_in_use": 10**8}, {"m.Env": 2 + n, "list": 99}
        )
        (story.generation(work=state) if n else story.baseline(state))
    run = story.run()
    lines = "".join(f"Generation {n} / 9\nRAM: {n}.5 GB\nLive envs: {n}\n" for n in range(1, 6))
    return {"log": _log(run), "run file": _file(run), "single lines": lines.encode()}


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
    """Read one input; None when it gives runs or a refusal."""
    path.write_bytes(data)
    began = time.process_time()
    try:
        runs = load_runs(path)
        if any(s.serial < 0 or not isinstance(s.label, str) for r in runs for s in r.snapshots):
            return Failure(kind, "a snapshot without a place", data)
    except LeakguardError as refusal:
        if "\n" in str(refusal):
            return Failure(kind, f"refused in several lines: {refusal}", data)
    except Exception:
        return Failure(kind, traceback.format_exc(limit=-3), data)
    seconds = time.process_time() - began
    if seconds > max(1.0, len(data) / 1e6):
        return Failure(kind, f"{seconds:.1f} s for {len(data):,} bytes", data)
    return None


def failures(examples: int, seed: int, path: Path) -> Iterator[Failure]:
    """Yield what goes wrong among so many mutated inputs of each kind."""
    generator = random.Random(seed)
    for kind, data in seeds().items():
        for _ in range(examples):
            failure = tried(kind, mutated(data, generator), path)
            if failure is not None:
                yield failure


def main() -> int:
    """Try many inputs, print each failure once by its reason, and keep its input."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=10_000, help="of each kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="folder for the inputs that failed")
    arguments = parser.parse_args()
    seen: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for failure in failures(arguments.examples, arguments.seed, Path(folder) / "input"):
            seen[failure.reason] += 1
            if seen[failure.reason] == 1:
                print(f"{failure.kind}: {failure.reason}\n{failure.data[:200]!r}\n", flush=True)
                if arguments.keep is not None:
                    arguments.keep.mkdir(parents=True, exist_ok=True)
                    (arguments.keep / f"{len(seen)}").write_bytes(failure.data)
    print(f"{arguments.examples:,} inputs of each kind, {sum(seen.values())} failed")
    return int(bool(seen))


if __name__ == "__main__":
    sys.exit(main())
