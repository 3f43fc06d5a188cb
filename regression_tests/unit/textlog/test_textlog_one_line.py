"""Logs that only have single lines still give a trend, and say what they lack."""

from __future__ import annotations

from itertools import pairwise

import pytest
from textlog_stories import LEAK_SERIES, leak_log, series

from leakguard.analysis import diagnose
from leakguard.errors import UnreadableRun
from leakguard.model import Gauge, Run, Snapshot, Watched
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


SIZES = {n: 8 * GB + n * GB for n in range(1, 9)}
ROUNDS = {
    "Generation n / N": "Generation {n} / 25\nRAM: {ram}\n",
    "Gen n:": "Gen {n}: RAM: {ram}\n",
    "Gen n: above": "Gen {n}:\nRAM: {ram}\n",
    "Gen n |": "2025-01-07 10:{n:02d}:00,123 INFO trainer: Gen {n} | best 3.2 | RSS: {ram}\n",
    "Epoch n": "Epoch {n}\nloss 0.3\nRAM: {ram}\n",
    "Epoch n:": "Epoch {n}: RAM usage: {ram}\n",
    "Epoch n/N of Keras": "Epoch {n}/8\n9/9 [=====] - 1s 2ms/step - loss: 0.3\nRAM: {ram}\n",
    "Epoch [n/N]": "Epoch [{n}/8], Step [100/600], Loss: 0.3\nMemory usage: {ram}\n",
    "bar of Lightning": "\rEpoch {n}: 50%|██  | 5/10 [00:05<00:05, 18.5it/s, loss=0.3, RAM={ram}]",
    "record of a Trainer": "{{'loss': 0.7, 'learning_rate': 5e-05, 'epoch': {n}.0}}\nRAM: {ram}\n",
    "[n/N]": "[{n}/25] RAM: {ram}\n",
    "[n/N] above": "[{n}/25] training\nloss=0.3\nRAM: {ram}\n",
    "epochs within generations": (
        "Generation {n} / 8\nEpoch 1/2\nRAM: 1 GB\nEpoch 2/2\nRAM: {ram}\n"
    ),
    "a heading": "=== Generation {n} ===\nRAM: 1 GB\nRAM: {ram}\n",
    "a sentence": "INFO Starting epoch {n} of 8\nRAM: 1 GB\nRAM: {ram}\n",
    "only the order": "RAM: {ram}\n",
    "several lines": "Generation {n} / 9\nRAM: 1 GB\nDEBUG: RAM usage: 2 GB\n🔍 RAM: {ram}\n",
    "limit": "Generation {n} / 25\nRAM:  {ram} / 175.0G\n",
}


def printed(form: str) -> str:
    return "".join(form.format(n=n, ram=f"{size / GB:.2f} GB") for n, size in SIZES.items())


def ends(run: Run) -> dict[int | None, float]:
    return {s.generation: s.metrics["rss"] for s in run.generation_ends()}


@pytest.mark.parametrize("form", ROUNDS)
def test_rounds_are_found_in_whatever_words_they_are_told(read, form):
    assert ends(read(printed(ROUNDS[form]))) == SIZES


@pytest.mark.parametrize("form", ROUNDS)
def test_single_lines_that_grow_without_end_are_never_stable(read, form):
    report = diagnose(read(printed(ROUNDS[form])))
    assert report.verdict in ("leak", "suspect")
    assert len(report.trend) >= len(SIZES)


def test_log_of_the_original_trainer_names_type_phase_and_start(read):
    counts = [2, 2, 18, 34, 50, 66, 82, 98, 114]
    log = "".join(
        f"Generation {n} / 25\n🔍 RAM: {8 + 7 * n}.00 GB\n"
        f"--- Generation {n}: Evaluating Population ---\n"
        f"🔍 DEBUG: RAM usage: {15 + 7 * n}.00 GB\n"
        f"🔍 DEBUG: Live environments: {count}, Live agents: 17\n"
        f"--- Generation {n}: Training Population ---\n🔍 RAM: {15 + 7 * n}.10 GB\n"
        for n, count in enumerate(counts, 1)
    )
    run = read(log)
    assert run.generations == tuple(range(1, 10))
    assert run.phases == ("Evaluating Population", "Training Population")
    finding = diagnose(run).findings[0]
    assert (finding.verdict, finding.type) == ("leak", "environments")
    assert finding.phase == "Evaluating Population"


def test_healthy_single_lines_are_no_leak(read):
    log = "".join(
        f"Generation {n} / 25\nRAM: {8 + n % 2}.00 GB\nLive environments: 2\n" for n in range(1, 25)
    )
    assert diagnose(read(log)).verdict == "stable"


def test_lines_before_the_first_round_are_the_baseline(read):
    run = read("RAM: 4.20 GB\n" + printed(ROUNDS["Generation n / N"]))
    assert run.baseline.generation is None
    assert run.baseline.metrics["rss"] == 4_200_000_000
    assert ends(run) == SIZES


def test_one_epoch_with_many_lines_is_read_in_their_order(read):
    run = read("Epoch 1/1\n" + printed(ROUNDS["only the order"]))
    assert ends(run) == SIZES
    assert any("no line names a generation that goes on" in note for note in run.notes)


def test_counts_hold_to_the_end_of_their_round_and_not_beyond(read):
    log = "Generation 1 / 9\nRAM: 1 GB\nEnvs in memory: 2\nRAM: 2 GB\nGeneration 2 / 9\nRAM: 3 GB\n"
    first, second = read(log).generation_ends()
    assert first.watched == {"Envs": Watched(2)}
    assert second.watched == {}


@pytest.mark.parametrize(
    "prose",
    [
        "loaded the best of epoch 99",
        "Generation 98 was best",
        "as good as Generation 1",
        "Gen X: 5",
    ],
)
def test_prose_about_rounds_announces_none(read, prose):
    log = printed("Generation {n} / 25\nRAM: 1 GB\n" + prose + "\nRAM: {ram}\n")
    assert ends(read(log)) == SIZES


@pytest.mark.parametrize("line", ["GPU RAM: 1 GB", "VRAM: 1 GB", "Memory: 1 GB", "RAM: 40%"])
def test_other_memory_is_not_taken_for_the_rss(read, line):
    log = printed(ROUNDS["Generation n / N"]).replace("Generation", f"{line}\nGeneration")
    assert ends(read(log)) == SIZES


def test_mark_in_a_block_and_generations_in_single_lines_go_together(read):
    mark = snapshot_block(Snapshot(0, "Trainer initialized", metrics={"rss": 4 * GB}))
    run = read(mark + "\n" + printed(ROUNDS["Generation n / N"]))
    assert run.baseline.label == "Trainer initialized"
    assert ends(run) == SIZES


def test_many_lines_in_each_of_many_rounds_keep_the_last(read):
    lines = "".join(f"RAM: {k}.00 GB\n" for k in range(1, 31))
    run = read("".join(f"Generation {n} / 50\n{lines}" for n in range(1, 51)))
    assert set(ends(run).values()) == {30 * GB}
    assert len(run.snapshots) < 50 * 15
    assert any("left out" in note for note in run.notes)


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
    assert ends(read(log)) == {1: 2 * GB, 2: 3 * GB}


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
    monkeypatch.setattr("leakguard.store.textlog._LARGE_LOG", 100)
    assert [read(LOG), read(leak_log()), read(leak_log().replace("Gen ", "Phase "))] == small
