"""The blocks that trainers already print, read word by word."""

from __future__ import annotations

from leakguard.model import TypeCount, Watched

SNAPSHOT = """\
======================================================================
🔍 MEMORY SNAPSHOT: Gen 1: After evaluate_population
======================================================================
💾 Process Memory:
   RSS (actual RAM):      8.52 GB
   VMS (virtual):        18.34 GB
🎮 GPU Memory:
   Allocated:             2.34 GB
   Reserved:              3.00 GB
📊 Object Counts:
   TradingEnvironment:      2  <- MUST STAY AT 2!
   DDPGAgent:              16
   ReplayBuffer:            1
   Lists:               15678
   Dicts:               10234
   NumPy arrays:         2456
   PyTorch Tensors:       891
======================================================================
"""
TREND = """\
======================================================================
📊 MEMORY TREND ACROSS GENERATIONS
======================================================================
Label                          RAM (GB)       Change
------------------------------ ------------ ------------
Trainer initialized (baseline)         4.23     baseline
Gen 1: After evaluate_population       8.52    +4.29 GB
Gen 1: After train_population          9.12    +0.60 GB
Gen 1: After evolve_population         9.45    +0.33 GB
======================================================================
"""
GROWTH = """\
======================================================================
📈 MEMORY GROWTH ANALYSIS
======================================================================
Baseline: Trainer initialized (baseline)
Current:  Gen 1: After evolve_population

RAM Usage:
   Baseline:      4.23 GB
   Current:       9.45 GB
   Growth:       +5.22 GB (+123.4%)

Object Count Changes:
   TradingEnvironment :      2 →      2 (+0)
   DDPGAgent          :     16 →     17 (+1)
   ReplayBuffer       :      1 →      1 (+0)
   ndarray            :   1234 →   3456 (+2222)
   Tensor             :    567 →    891 (+324)
======================================================================
"""


def test_snapshot_block_gives_every_number_it_prints(read):
    (snapshot,) = read(SNAPSHOT).snapshots
    assert (snapshot.moment, snapshot.phase, snapshot.generation) == (
        "phase",
        "evaluate_population",
        1,
    )
    assert snapshot.metrics == {
        "rss": 8_520_000_000,
        "vms": 18_340_000_000,
        "gpu_allocated": 2_340_000_000,
        "gpu_reserved": 3_000_000_000,
    }
    assert snapshot.watched == {
        "TradingEnvironment": Watched(2, (2, 2)),
        "DDPGAgent": Watched(16),
        "ReplayBuffer": Watched(1),
    }
    assert snapshot.census is not None
    assert not snapshot.census.complete
    assert snapshot.census.types == {
        "list": TypeCount(15678),
        "dict": TypeCount(10234),
        "numpy.ndarray": TypeCount(2456),
        "torch.Tensor": TypeCount(891),
    }


def test_trend_alone_gives_a_point_for_each_row(read):
    run = read(TREND)
    assert [(s.label, s.moment, s.metrics["rss"]) for s in run.snapshots] == [
        ("Trainer initialized (baseline)", "baseline", 4_230_000_000),
        ("Gen 1: After evaluate_population", "phase", 8_520_000_000),
        ("Gen 1: After train_population", "phase", 9_120_000_000),
        ("Gen 1: After evolve_population", "phase", 9_450_000_000),
    ]
    assert any("tables only" in note for note in run.notes)


def test_growth_alone_gives_two_points_with_counts(read):
    before, after = read(GROWTH).snapshots
    assert (before.metrics, after.metrics) == ({"rss": 4_230_000_000}, {"rss": 9_450_000_000})
    assert (before.count("DDPGAgent"), after.count("DDPGAgent")) == (16, 17)
    assert (before.count("numpy.ndarray"), after.count("numpy.ndarray")) == (1234, 3456)
    assert (before.count("torch.Tensor"), after.count("torch.Tensor")) == (567, 891)


def test_the_three_blocks_of_a_generation_tell_each_moment_once(read):
    run = read(SNAPSHOT + TREND + GROWTH)
    assert [s.label for s in run.snapshots] == [
        "Trainer initialized (baseline)",
        "Gen 1: After evaluate_population",
        "Gen 1: After train_population",
        "Gen 1: After evolve_population",
    ]
    assert [s.serial for s in run.snapshots] == [0, 1, 2, 3]
    assert run.snapshots[1].metrics["vms"] == 18_340_000_000
    assert run.snapshots[3].watched["DDPGAgent"] == Watched(17)


def test_run_says_that_it_comes_from_a_log_and_how_fine_it_is(read):
    run = read(SNAPSHOT)
    assert run.info.source == "log"
    assert "the log prints RSS in steps of 10.0 MB; less is not visible" in run.notes
