"""What a line costs grows with its length and no faster, whatever it holds."""

from __future__ import annotations

import contextlib
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from textlog_stories import baseline

from leakguard.errors import UnreadableRun
from leakguard.model import RunInfo
from leakguard.render.log_block import snapshot_block
from leakguard.store import load_runs, schema
from leakguard.store.textlog import read_runs

FRAME = "=" * 70
# What one pattern or another repeats, alone and in turns.
UNITS = [
    "\u3000", "\u3000?", "? ", " ", "  a", "é", "1", "1 ", "1,", "1,111", "1.", "1.1 ", "a",
    "a ", "a:", "a: ", ": ", "(", ") (", "a(1)", "-", "- 1 ", "+1 ", "1 +1 ", "1 baseline ",
    "it/s", "1it/s", "1it/s]", "]", "[1/2]", "[", "INFO ", "INFO", "x.py:1", "x.py:1 ", "a:b:1",
    "a:b:1 ", "10:00:00 ", "2025-01-07 10:00:00 ", "rank 1 ", "pid=1 ", "MEMORY ",
    "MEMORY TREND A", "MEMORY TREND", "MEMORY SNAPSHOT:", "LEAK DETECTED ", "NO LEAK: ",
    "RAM: ", "RAM: 1", "RAM: 1 GB", "Live a: 1", "Live ", " in memory: ", "Generation ",
    "Generation 1", "Epoch 1: ", "--- Generation 1: ", "Gen 1:", "expected ", "expected 1-",
    "<-", "a <- held by ", ", retains 1 MB", "   x=1(+1); ", "x=1 ", " is ", "\x1b[", "\x1b]",
    "^[[", "\\N{", "&#", ":mag", "\\u2028", "{", '{"log":"', "Upload status: 1", "=",
    "a=1(+1),1", "rss=", "rss=1GB ", "a rss 1 ", "gpu mem ", "process memory: ", "step=1 ",
    "PID RSS ", "NAME  MEM USAGE / LIMIT  ", "Mem: 1 ", "1 Mem: ", "| 0 N", "| 1MiB / 1MiB |",
    "00000000:", "a 1m 1Mi ", "emory on the node (IP: a) was ", '{"a":{"rss":1},', "def a",
]  # fmt: skip
# Characters; rows longer than 2000 are no rows of a block, longer lines are read as single ones.
LENGTHS = [(110, 1760), (400, 6400)]
SIZE = 80_000
CLOCK = 0.1  # seconds; some systems count CPU time in hundredths
PATIENCE = 60  # seconds of CPU after which a reader is taken to hang


def poisoned(unit: str, length: int) -> str:
    """Return a log of lines of this length, the unit repeated wherever a reader looks closely."""
    text = (unit * length)[:length]
    part = "\n".join([
        text, f"{text}{FRAME}", f"{text}MEMORY SNAPSHOT: {text}", FRAME,
        f"{text}MEMORY SNAPSHOT: a", FRAME, "   RSS (actual RAM):  1 GB",
        f"   RSS (actual RAM):  {text}", f"   {text}: 1", f"{text}:", f"   {text}",
        "Object Counts:", f"   {text}: 12", f"   A: 12 <- {text}", "Gauges:", f"   x: {text}",
        f"Large Objects (>= {text}):", f"   {text}:  1 MB", f"   a {text}:  1 MB{text}",
        "Record for leakguard report:", f"   {text}",
        FRAME, "MEMORY TREND", FRAME, f"{text} 1.00 +1 GB", f"a 1 {text}", FRAME,
        "MEMORY GROWTH ANALYSIS", FRAME, f"Baseline: {text}", f"   {text} : 1 -> 2 (+1)",
        f"   a : 1 {text}", FRAME, f"RAM: {text}", f"{text}RAM: 1 GB", f"Live {text}",
        f"Generation {text}", f"[rank{text}", f"Gen 1: {text}", f"--- Generation 1: {text}",
        f"LEAK DETECTED{text}", f"{text} 5it/s] x", f"{text}.py:1", "",
    ])  # fmt: skip
    return part * max(1, SIZE // len(part))


@contextlib.contextmanager
def no_hanging() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TimeoutError(f"still reading after {PATIENCE} s of CPU")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, PATIENCE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def cost(path: Path, text: str) -> float:
    """Return CPU seconds, the best of two."""
    path.write_text(snapshot_block(baseline()) + "\n" + text, encoding="utf-8")
    seconds = []
    for _ in range(2):
        began = time.process_time()
        with contextlib.suppress(UnreadableRun):
            read_runs(path)
        seconds.append(time.process_time() - began)
    return min(seconds)


@pytest.mark.parametrize("unit", UNITS)
def test_long_lines_cost_no_more_a_character_than_short_ones(tmp_path, unit):
    path = tmp_path / "poisoned.log"
    for short, long in LENGTHS:
        with no_hanging():
            # Lines are 16 times as long: what is quadratic takes 16 times as long for all of them.
            few, many = poisoned(unit, short), poisoned(unit, long)
            allowed = 5 * cost(path, few) * len(many) / len(few) + CLOCK
            assert cost(path, many) < allowed


def test_line_of_ideographic_spaces_in_a_block_is_read_at_once(tmp_path):
    block = snapshot_block(baseline())
    with no_hanging():
        for spaces in ("\u3000" * 40, "\u3000" * 4000):
            text = block.replace("Process Memory:", f"{spaces}1\n{spaces}Process Memory:")
            cost(tmp_path / "spaces.log", f"{spaces}{text}\n{spaces}MEMORY TREND\n")


def calls_to_read(path: Path) -> int:
    """Return how many functions a reading calls: a count that no busy machine changes."""
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        load_runs(path)
    finally:
        sys.setprofile(None)
    return calls


def snapshots_of_a_log(count: int) -> bytes:
    return "".join(f"Generation {n} / 9999\nRAM: 3.5 GB\n" for n in range(count)).encode()


def ranks_of_a_log(count: int) -> bytes:
    return "".join(
        f"[rank{n}]: Generation 3 / 9\n[rank{n}]: RAM: 3 GB\n" for n in range(count)
    ).encode()


def snapshots_of_a_run_file(count: int) -> bytes:
    line = schema.encode_snapshot(baseline()).replace(b'"serial":0', b'"serial":%d')
    return schema.encode_header(RunInfo()) + b"".join(line % n for n in range(count))


@pytest.mark.parametrize("written", [snapshots_of_a_log, ranks_of_a_log, snapshots_of_a_run_file])
def test_reading_costs_as_much_a_snapshot_in_a_long_log_as_in_a_short_one(tmp_path, written):
    path = tmp_path / "input"
    calls = []
    for count in (500, 500, 4_000):  # the first one loads modules
        path.write_bytes(written(count))
        calls.append(calls_to_read(path))
    assert calls[2] < 1.3 * 8 * calls[1]
