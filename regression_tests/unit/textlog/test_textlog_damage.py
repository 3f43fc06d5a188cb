"""Logs that were damaged on the way still say what they said, and nothing else."""

from __future__ import annotations

import random
import re

import pytest
from textlog_stories import LEAK_SERIES, baseline, leak_log, moment, series

from leakguard.errors import UnreadableRun
from leakguard.model import (
    BaselineGrowth,
    Census,
    CountChange,
    LargeObject,
    Snapshot,
    TrendRow,
    TypeCount,
    Watched,
)
from leakguard.render.log_block import growth_block, snapshot_block, trend_block

BAR = "Evaluating agents:  50%|█████     | 8/16 [00:01<00:01,  5.31it/s]"
FULL = Snapshot(
    0,
    "Gen 1: After evaluate_population",
    "phase",
    "evaluate_population",
    1,
    metrics={
        "rss": 8_520_000_000,
        "vms": 18_340_000_000,
        "gpu_allocated": 2_340_000_000,
        "peak": 9_100_000_000,
        "threads": 12,
        "open_files": 345,
    },
    watched={"m.TradingEnvironment": Watched(18, (2, 2)), "m.DDPGAgent": Watched(16, (16, 17))},
    census=Census(
        {"list": TypeCount(15678)},
        complete=False,
        large=(LargeObject("numpy.ndarray", 91_060_000, (3781, 669, 9), "float32"),),
    ),
)

# What the leak log and trend_and_growth() read back as together.
GROWN = {**LEAK_SERIES, None: (4_230_000_000, 2), 4: (23_000_000_000, 50)}


def test_carriage_returns_of_progress_bars(read):
    bars = "".join(f"\rTraining agents: {n}%|{'█' * n}| {n}/16 [00:00<00:09]" for n in range(16))
    log = "".join(f"{line}\n{bars}\r" for line in leak_log().splitlines())
    assert series(read(log)) == LEAK_SERIES


def test_bar_that_is_still_open_when_a_line_is_printed(read):
    log = "".join(f"\r{BAR}{line}\n" for line in leak_log().splitlines())
    assert series(read(log)) == LEAK_SERIES


def test_bar_in_front_of_some_lines(read):
    generator = random.Random(0)
    log = "".join(
        (f"\r{BAR}" if generator.random() < 0.3 else "") + line + "\n"
        for line in leak_log().splitlines()
    )
    assert series(read(log)) == LEAK_SERIES


def test_warnings_between_the_lines_of_a_block(read):
    noise = (
        "/usr/lib/python3/site-packages/torch/x.py:12: UserWarning: step: 5\n"
        "  warnings.warn(message)\n"
        "Epoch: 7\n"
        "RAM is fine: 99\n"
    )
    log = "".join(line + "\n" + noise for line in leak_log().splitlines())
    assert series(read(log)) == LEAK_SERIES


def test_ansi_colours_and_hyperlinks(read):
    log = "".join(
        "\x1b[1m" + re.sub(r"(\S+)", "\x1b[38;5;208m\\1\x1b[0m", line) + "\x1b[K\n"
        for line in leak_log().splitlines()
    )
    assert series(read(log)) == LEAK_SERIES
    linked = log.replace("Trading", "\x1b]8;;https://example.org\x07Trading\x1b]8;;\x1b\\")
    assert series(read(linked)) == LEAK_SERIES
    assert series(read(log.replace("\x1b", "^["))) == LEAK_SERIES


@pytest.mark.parametrize("ending", ["\r\n", "\n", "\r", "\r\r\n", "\n\n"])
def test_line_ends(read, ending):
    assert series(read(leak_log().replace("\n", ending))) == LEAK_SERIES


@pytest.mark.parametrize("page", ["cp1252", "latin-1", "cp437", "cp850", "koi8-r", "mac-roman"])
@pytest.mark.parametrize("times", [1, 2])
def test_pictographs_garbled_by_a_wrong_code_page(read, page, times):
    log = leak_log() + trend_and_growth()
    for _ in range(times):
        log = log.encode().decode(page, "replace")
    run = read(log)
    assert series(run) == GROWN


@pytest.mark.parametrize(
    "errors", ["ignore", "replace", "backslashreplace", "xmlcharrefreplace", "namereplace"]
)
def test_pictographs_replaced_by_ascii(read, errors):
    log = (leak_log() + trend_and_growth()).encode("ascii", errors)
    assert series(read(log)) == GROWN


def trend_and_growth() -> str:
    rows = [
        TrendRow("Trainer initialized (baseline)", None, None, 4_230_000_000, None),
        TrendRow("Gen 4: After evaluate_population", 4, "evaluate_population", 23_000_000_000, 1),
    ]
    growth = BaselineGrowth(
        rows[0].label,
        rows[1].label,
        4_230_000_000,
        23_000_000_000,
        (CountChange("TradingEnvironment", 2, 50),),
    )
    return trend_block(rows) + "\n" + growth_block(growth) + "\n"


def test_bytes_that_are_no_utf8(read):
    log = leak_log().encode().replace(b"\n", b"\xff\xfe caf\xe9 \x80\n\n")
    clean = leak_log().encode().replace(b"Generation", b"\xff\xc3\x28 Generation")
    assert series(read(clean)) == LEAK_SERIES
    assert {None, 1, 2, 3} >= set(series(read(b"x\xe9\n" + log + leak_log().encode())))


def test_next_line_and_form_feed_characters_end_no_line(read):
    log = leak_log().replace("Generation", "a\x85b\x0cc\u2028d Generation")
    assert series(read(log)) == LEAK_SERIES


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-8-sig"])
def test_logs_redirected_by_powershell(read, encoding):
    assert series(read(leak_log().encode(encoding))) == LEAK_SERIES


def test_gzipped_log(read):
    import gzip

    assert series(read(gzip.compress(leak_log().encode()))) == LEAK_SERIES


@pytest.mark.parametrize("width", [20, 40, 200])
def test_frames_of_other_widths(read, width):
    assert series(read(leak_log().replace("=" * 70, "=" * width))) == LEAK_SERIES


def test_units_and_separators(read):
    log = leak_log().replace("4.23 GB", "4,230.0 MB").replace("15.34 GB", "14.286 GiB")
    log = log.replace("22.67 GB", "22,670,000,000 B").replace("   34", "0,034")
    values = [s.metrics["rss"] for s in read(log).snapshots]
    assert values == [4_230_000_000, 8_520_000_000, round(14.286 * 2**30), 22_670_000_000]


def test_lines_printed_twice_by_two_handlers(read):
    log = leak_log()
    doubled = "".join(f"{line}\n{line}\n" for line in log.splitlines())
    assert [s.label for s in read(doubled).snapshots] == [s.label for s in read(log).snapshots]
    assert series(read(doubled)) == LEAK_SERIES
    formatted = "".join(f"INFO:trainer:{line}\n{line}\n" for line in log.splitlines())
    assert series(read(formatted)) == LEAK_SERIES


def test_blocks_printed_twice_by_two_handlers(read):
    blocks = leak_log().replace("\nGeneration", "\0Generation").split("\0")
    run = read("".join(block + "\n" + block + "\n" for block in blocks))
    assert len(run.snapshots) == 4
    assert series(run) == LEAK_SERIES


def test_changes_printed_behind_the_values(read):
    log = leak_log().replace(" GB\n", " GB (+0.60 GB)\n").replace("  <- expected 2\n", " (+0)\n")
    assert series(read(log)) == LEAK_SERIES


def test_lines_that_lost_their_indentation(read):
    whole = snapshot_block(FULL)
    log = "\n".join(line.strip() for line in whole.splitlines())
    assert read(log + "\n").snapshots == read(whole + "\n").snapshots


def test_unknown_sections_and_rows_are_kept(read):
    added = "🧠 Arenas:\n   In use:       7.10 GB\n   Arenas:  many\n" + "=" * 70
    log = snapshot_block(moment(1, 8_520_000_000, 2)).removesuffix("=" * 70) + added
    (snapshot,) = read(log).snapshots
    assert snapshot.extra == {"Arenas": ("In use:       7.10 GB", "Arenas:  many")}
    assert snapshot.watched["TradingEnvironment"].count == 2


def test_unknown_units_are_no_numbers(read):
    log = leak_log().replace("15.34 GB", "15.34 GBit").replace("22.67 GB", "22,67 GB")
    assert set(series(read(log))) == {None, 1}


def test_cut_anywhere_never_invents_a_number(read_all):
    log = (snapshot_block(baseline()) + "\n" + snapshot_block(FULL) + "\n").encode()
    whole = read_all(log)[0].snapshots[1]
    for length in range(len(log)):
        try:
            (run,) = read_all(log[:length])
        except UnreadableRun:
            continue
        assert run.snapshots[0].metrics == {"rss": 4_230_000_000}
        for cut in run.snapshots[1:]:
            assert cut.label == whole.label
            assert cut.metrics.items() <= whole.metrics.items()
            assert cut.watched.items() <= whole.watched.items()
            assert cut.census is None or cut.census.types.items() <= whole.census.types.items()
            assert cut.census is None or set(cut.census.large) <= set(whole.census.large)
            assert not cut.extra


def test_start_cut_off_anywhere_never_invents_a_number(read_all):
    log = (snapshot_block(baseline()) + "\n" + snapshot_block(FULL) + "\n").encode()
    known = {s.label: s.metrics for s in read_all(log)[0].snapshots}
    for start in range(len(log)):
        try:
            runs = read_all(log[start:])
        except UnreadableRun:
            continue
        for snapshot in runs[0].snapshots:
            complete = known.get(snapshot.label)
            assert complete is None or snapshot.metrics.items() <= complete.items()
            assert snapshot.metrics["rss"] in (4_230_000_000, 8_520_000_000)


def test_tables_cut_anywhere_never_invent_a_number(read_all):
    log = trend_and_growth().encode()
    whole = {s.label: s for s in read_all(log)[0].snapshots}
    for length in range(len(log)):
        try:
            (run,) = read_all(log[:length])
        except UnreadableRun:
            continue
        for cut in run.snapshots:
            assert cut.metrics == whole[cut.label].metrics
            assert cut.watched.items() <= whole[cut.label].watched.items()


def test_killed_in_a_block_and_started_again_on_the_same_line(read_all):
    log = leak_log()
    cut = log[: log.rindex("34")] + "3"
    first, second = read_all(cut + log)
    assert first.snapshots[-1].metrics["rss"] == 22_670_000_000
    assert not first.snapshots[-1].watched
    assert series(second) == LEAK_SERIES


def test_block_without_its_frames(read):
    log = "\n".join(line for line in leak_log().splitlines() if not line.startswith("==="))
    assert series(read(log + "\n")) == LEAK_SERIES


def test_cut_blocks_are_noted(read):
    log = leak_log() + snapshot_block(FULL).split("💾")[0]
    notes = read(log).notes
    assert "1 snapshot blocks were cut before their RSS and left out" in notes


def test_output_of_grep_keeps_what_it_shows(read):
    lines = leak_log().splitlines()
    out = []
    for index, line in enumerate(lines):
        if "MEMORY SNAPSHOT" in line:
            out += [*lines[index : index + 4], "--"]
    run = read("\n".join(out) + "\n")
    assert [s.metrics["rss"] for s in run.snapshots] == [v[0] for v in LEAK_SERIES.values()]


def test_commands_and_code_that_name_a_block_are_no_block(read):
    log = '+ grep -A 15 "MEMORY SNAPSHOT" training.log\nprint("MEMORY SNAPSHOT: " + label)\n'
    assert series(read(log + leak_log())) == LEAK_SERIES
