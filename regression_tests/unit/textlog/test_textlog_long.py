"""Logs of any length are read in bounded memory: what is left out is spread evenly, and noted."""

from __future__ import annotations

from itertools import pairwise

import pytest
from textlog_stories import moment

from leakguard.model import Snapshot
from leakguard.model.units import GB, MB
from leakguard.render.log_block import snapshot_block

MOST = 60


@pytest.fixture(autouse=True)
def short_limits(monkeypatch):
    monkeypatch.setattr("leakguard.store.textlog.runs._MOST_EVENTS", MOST)
    monkeypatch.setattr("leakguard.store.textlog.runs._ROUNDS_ENOUGH", 10)


def blocks(snapshots: list[Snapshot]) -> str:
    return "".join(snapshot_block(snapshot) + "\n" for snapshot in snapshots)


def test_many_generations_keep_every_phase_of_evenly_spaced_ones(read):
    log = blocks(
        [
            moment(n, GB + n * MB, 2, phase)
            for n in range(1, 201)
            for phase in ("evaluate", "train", "evolve")
        ]
    )
    run = read(log)
    assert len(run.snapshots) <= MOST
    assert len({b - a for a, b in pairwise(run.generations)}) == 1
    assert len(run.snapshots) == 3 * len(run.generations)
    assert "long log: of 16 generations one is kept" in run.notes


def test_many_marks_without_a_generation_keep_every_label(read):
    labels = ["After epoch", "After save"]
    log = blocks(
        [
            Snapshot(0, label, metrics={"rss": GB + 10 * n * MB})
            for n in range(500)
            for label in labels
        ]
    )
    run = read(log)
    assert len(run.snapshots) <= MOST
    for label in labels:
        sizes = [s.metrics["rss"] for s in run.snapshots if s.label == label]
        assert len(sizes) > MOST // 8
        assert len({b - a for a, b in pairwise(sizes)}) == 1
    assert any("snapshots of a label one is kept" in note for note in run.notes)


def test_labels_that_never_come_again_are_thinned_too(read):
    log = blocks([Snapshot(0, f"x{'ab'[n % 2] * n}", metrics={"rss": GB}) for n in range(300)])
    assert 0 < len(read(log).snapshots) <= MOST


def test_short_log_is_kept_whole(read):
    log = blocks([moment(n, GB, 2) for n in range(1, MOST)])
    run = read(log)
    assert run.generations == tuple(range(1, MOST))
    assert not any("long log" in note for note in run.notes)


@pytest.mark.parametrize("shift", range(-40, 40, 3))
def test_blocks_across_the_border_of_a_chunk_are_read_whole(read, monkeypatch, shift):
    monkeypatch.setattr("leakguard.store.textlog.file._WINDOW", 2048)
    block = snapshot_block(moment(1, 8 * GB, 2)) + "\n"
    noise = ("progress " * 20 + "\r") * 60
    log = "x" * (2048 - 300 + shift) + "\n" + block + noise + block.replace("Gen 1", "Gen 2")
    run = read(log)
    assert run.generations == (1, 2)
    assert all(s.watched["TradingEnvironment"].count == 2 for s in run.snapshots)


def test_line_without_an_end_is_no_burden(read):
    block = snapshot_block(moment(1, 8 * GB, 2)) + "\n"
    run = read("x" * 3_000_000 + block + "y" * 3_000_000 + "\n" + block.replace("Gen 1", "Gen 2"))
    assert 2 in run.generations
