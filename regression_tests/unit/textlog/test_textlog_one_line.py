"""Logs that only have single lines still give a trend, and say what they lack."""

from __future__ import annotations

from itertools import pairwise

import pytest
from textlog_stories import LEAK_SERIES, leak_log, series

from leakguard.errors import UnreadableRun
from leakguard.model import Gauge, Snapshot, Watched
from leakguard.model.units import GB
from leakguard.render.log_block import snapshot_block
from leakguard.store.textlog.one_line import PENDING

LOG = """\
Generation 13 / 25
--- Generation 13: Evaluating Population ---
🔍 RAM: 35.23 GB
DEBUG: Live environments: 0, Live agents: 17
Envs in memory: 2
--- Generation 13: Training Population ---
DEBUG: RAM usage: 36.00 GB
Generation 14 / 25
RAM:  34.2G / 175.0G
Upload status: 50+ pending
"""


def test_single_lines_give_moments_by_generation_and_phase(read):
    run = read(LOG)
    assert [(s.label, s.generation, s.phase, dict(s.metrics)) for s in run.snapshots] == [
        ("Gen 13: Evaluating Population", 13, "Evaluating Population", {"rss": 35_230_000_000}),
        ("Gen 13: Training Population", 13, "Training Population", {"rss": 36 * GB}),
        ("Gen 14", 14, None, {"rss": 34_200_000_000}),
    ]
    assert run.snapshots[0].watched == {
        "environments": Watched(0),
        "agents": Watched(17),
        "Envs": Watched(2),
    }
    assert run.snapshots[2].gauges == {"uploads pending": Gauge(50)}
    assert run.info.memory_limit == 175 * GB


def test_single_lines_say_what_is_missing(read):
    notes = " ".join(read("RAM: 35.23 GB\nRAM: 36.23 GB\n").notes)
    assert "no MEMORY SNAPSHOT blocks" in notes
    assert "no line counts objects" in notes
    assert "no line names a generation" in notes


def test_counts_alone_are_a_trend_of_counts(read):
    log = "".join(f"Generation {n} / 9\nLive environments: {16 * n}\n" for n in range(1, 4))
    run = read(log)
    assert [s.watched["environments"].count for s in run.snapshots] == [16, 32, 48]
    assert all("rss" not in s.metrics for s in run.snapshots)
    assert any("growth in bytes is not known" in note for note in run.notes)


def test_last_line_of_a_phase_counts(read):
    log = "Generation 1 / 9\nRAM: 1.00 GB\nRAM: 2.00 GB\nGeneration 2 / 9\nRAM: 3.00 GB\n"
    assert [s.metrics["rss"] for s in read(log).snapshots] == [2 * GB, 3 * GB]


def test_single_lines_that_go_back_are_a_restart(read_all):
    one = "".join(f"Generation {n} / 25\nRAM: {n}.00 GB\n" for n in range(1, 11))
    two = "".join(f"Generation {n} / 25\nRAM: {n}.50 GB\n" for n in range(8, 12))
    assert [run.generations for run in read_all(one + two)] == [
        tuple(range(1, 11)),
        tuple(range(8, 12)),
    ]


def test_single_lines_of_ranks_are_kept_apart(read_all):
    log = "".join(
        f"[rank{rank}]: Generation {n} / 9\n[rank{rank}]: RAM: {n + rank}.00 GB\n"
        for n in range(1, 4)
        for rank in (0, 1)
    )
    assert [[s.metrics["rss"] for s in run.snapshots] for run in read_all(log)] == [
        [1 * GB, 2 * GB, 3 * GB],
        [2 * GB, 3 * GB, 4 * GB],
    ]


def test_long_log_without_generations_is_thinned_evenly(read):
    run = read("".join(f"RAM: {n}.00 MB\n" for n in range(1, 20_001)))
    values = [s.metrics["rss"] for s in run.snapshots]
    assert 4000 < len(values) <= 10_000
    steps = {b - a for a, b in pairwise(values)}
    assert len(steps) == 1


def test_blocks_count_and_single_lines_beside_them_do_not(read):
    log = leak_log().replace("Generation", "RAM: 99.00 GB\nGeneration")
    assert series(read(log)) == LEAK_SERIES


def test_blocks_without_a_generation_take_the_one_that_runs(read):
    log = leak_log()
    for n in (1, 2, 3):
        log = log.replace(f"Gen {n}: After", "After")
    assert series(read(log)) == LEAK_SERIES
    assert read(log).phases == ("evaluate_population",)


@pytest.mark.parametrize(
    "line",
    ["RAM: 35.23 GB", "Live environments: 17", "Envs in memory: 21", "RAM:  34.2G / 175.0G"],
)
def test_cut_line_never_invents_a_number(read, line):
    log = f"Generation 1 / 9\n{line}\nGeneration 2 / 9\n{line}"
    whole = read(log + "\n")
    for length in range(len(log) - len(line), len(log)):
        cut = read(log[:length])
        for short, full in zip(cut.snapshots, whole.snapshots, strict=False):
            assert short.metrics.items() <= full.metrics.items()
            assert short.watched.items() <= full.watched.items()
        assert cut.info.memory_limit in (None, whole.info.memory_limit)


@pytest.mark.parametrize(
    "line",
    ["RAMP: 3.5 GB", "RAM: lots", "RAM: 35.23", "Live: 5", "Generation of 5 / 6", "PROGRAM: 5 GB"],
)
def test_lines_that_only_look_alike_are_no_moments(read_all, line):
    with pytest.raises(UnreadableRun):
        read_all(line + "\n")


def test_single_lines_beside_blocks_tell_the_limit_and_the_queue(read):
    said = "RAM:  34.2G / 175.0G\nUpload status: 50+ pending\n"
    head, tail = leak_log().rsplit("Generation", 1)
    run = read(head + said + "Generation" + tail)
    assert series(run) == LEAK_SERIES
    assert run.info.memory_limit == 175 * GB
    assert [dict(s.gauges) for s in run.snapshots] == [{}, {}, {}, {PENDING: Gauge(50)}]


def test_announced_generation_is_not_put_on_labels_beside_others_that_name_theirs(read):
    mark = snapshot_block(Snapshot(0, "After saving", metrics={"rss": GB}))
    run = read(leak_log() + "Generation 3 / 25\n" + mark + "\n")
    assert run.snapshots[-1].generation is None


def test_large_log_is_read_the_same(read, monkeypatch):
    small = [read(LOG), read(leak_log()), read(leak_log().replace("Gen ", "Phase "))]
    monkeypatch.setattr("leakguard.store.textlog._LARGE", 100)
    assert [read(LOG), read(leak_log()), read(leak_log().replace("Gen ", "Phase "))] == small
