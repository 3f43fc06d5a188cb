"""The memory blocks, compared whole: their words and order are an interface."""

from __future__ import annotations

from dataclasses import replace

from leakguard.model import (
    BaselineGrowth,
    Census,
    CountChange,
    Finding,
    Gauge,
    LargeObject,
    Snapshot,
    TrendRow,
    TypeCount,
    Watched,
)
from leakguard.render.log_block import growth_block, leak_block, snapshot_block, trend_block

SNAPSHOT = Snapshot(
    1,
    "Gen 1: After evaluate_population",
    "phase",
    "evaluate_population",
    1,
    metrics={
        "rss": 8_520_000_000,
        "vms": 18_340_000_000,
        "gpu_allocated": 2_340_000_000,
        "gpu_reserved": 3_000_000_000,
    },
    watched={
        "trader.environment.TradingEnvironment": Watched(2, (2, 2)),
        "trader.ddpg.DDPGAgent": Watched(18, (16, 17)),
        "trader.buffer.ReplayBuffer": Watched(1),
    },
    census=Census(
        {
            "dict": TypeCount(10234),
            "list": TypeCount(15678),
            "numpy.ndarray": TypeCount(2456),
            "torch.Tensor": TypeCount(891),
            "str": TypeCount(99999),
        }
    ),
)


def test_snapshot_block_word_for_word():
    assert (
        snapshot_block(SNAPSHOT)
        == """\
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
   TradingEnvironment:      2  <- expected 2
   DDPGAgent:              18  <- expected 16-17, found 18
   ReplayBuffer:            1
   Lists:               15678
   Dicts:               10234
   NumPy arrays:         2456
   PyTorch Tensors:       891
======================================================================"""
    )


def test_further_sections_word_for_word():
    snapshot = replace(
        SNAPSHOT,
        metrics={
            "rss": 523_410_000,
            "peak": 9_100_000_000,
            "threads": 12,
            "open_files": 345,
            "heap_in_use": 310_220_000,
            "heap_held": 12_100_000,
        },
        watched={},
        gauges={"replay_buffer": Gauge(15_680, 50_000), "loss": Gauge(0.25)},
        census=Census(
            large=(
                LargeObject(
                    "numpy.ndarray",
                    91_060_000,
                    (3781, 669, 9),
                    "float32",
                    held_by="__main__.trainer.panel",
                ),
                LargeObject("torch.Tensor", 64_000_000, (16_000_000,), "torch.float32", "cuda:0"),
                LargeObject("list", 80_000_000, retained_bytes=7_200_000_000),
            )
        ),
    )
    assert (
        snapshot_block(snapshot, large_object=64_000_000)
        == """\
======================================================================
🔍 MEMORY SNAPSHOT: Gen 1: After evaluate_population
======================================================================
💾 Process Memory:
   RSS (actual RAM):    523.41 MB
📈 Peak (this phase):     9.10 GB
🧵 Threads:                12
📂 Open files:            345
🧱 Allocator:
   In use:              310.22 MB
   Held free:            12.10 MB
📏 Gauges:
   replay_buffer:      15,680 / 50,000
   loss:                 0.25
📦 Large Objects (>= 64 MB):
   numpy.ndarray (3781, 669, 9) float32:  91.06 MB  <- held by __main__.trainer.panel
   torch.Tensor (16000000,) torch.float32 on cuda:0:  64.00 MB
   list:  80.00 MB, retains 7.20 GB
======================================================================"""
    )


def test_unknown_values_are_left_out_and_never_zero():
    block = snapshot_block(Snapshot(0, "Data loaded", metrics={"rss": 4_230_000_000}))
    assert (
        block
        == """\
======================================================================
🔍 MEMORY SNAPSHOT: Data loaded
======================================================================
💾 Process Memory:
   RSS (actual RAM):      4.23 GB
======================================================================"""
    )


def test_known_zero_is_printed():
    block = snapshot_block(
        Snapshot(0, "a", metrics={"threads": 0, "rss": 0}, watched={"m.Env": Watched(0, (0, 0))})
    )
    assert "   RSS (actual RAM):          0 B" in block
    assert "   Env:                     0  <- expected 0" in block
    assert "🧵 Threads:                 0" in block


def test_class_names_are_short_unless_two_are_alike():
    watched = {
        "a.Env": Watched(1),
        "b.Env": Watched(2),
        "a.Agent": Watched(3),
        "c.Lists": Watched(4),
    }
    lines = snapshot_block(Snapshot(0, "x", watched=watched)).splitlines()
    assert [line.split(":")[0].strip() for line in lines[4:-1]] == [
        "a.Env",
        "b.Env",
        "Agent",
        "c.Lists",
    ]


def test_watched_type_is_not_counted_twice():
    snapshot = Snapshot(
        0,
        "x",
        watched={"numpy.ndarray": Watched(5)},
        census=Census({"numpy.ndarray": TypeCount(5), "list": TypeCount(7)}),
    )
    assert "NumPy arrays" not in snapshot_block(snapshot)
    assert "   Lists:                   7" in snapshot_block(snapshot)


def test_label_cannot_break_the_frame():
    label = "evil\n" + "=" * 70 + "\r\x1b[2J\u2028end"
    block = snapshot_block(Snapshot(0, label, metrics={"rss": 1}))
    assert len(block.splitlines()) == 6
    assert "\x1b" not in block


def test_trend_block_word_for_word():
    names = ["evaluate_population", "train_population", "evolve_population"]
    sizes = [4_230_000_000, 8_520_000_000, 9_120_000_000, 9_450_000_000]
    rows = [TrendRow("Trainer initialized (baseline)", None, None, sizes[0], None)]
    for before, rss, name in zip(sizes, sizes[1:], names, strict=False):
        rows.append(TrendRow(f"Gen 1: After {name}", 1, name, rss, rss - before))
    assert (
        trend_block(rows)
        == """\
======================================================================
📊 MEMORY TREND ACROSS GENERATIONS
======================================================================
Label                          RAM (GB)       Change
------------------------------ ------------ ------------
Trainer initialized (baseline)         4.23     baseline
Gen 1: After evaluate_population       8.52    +4.29 GB
Gen 1: After train_population          9.12    +0.60 GB
Gen 1: After evolve_population         9.45    +0.33 GB
======================================================================"""
    )


def test_trend_of_a_small_run_shows_its_steps():
    rows = [
        TrendRow("Trainer initialized (baseline)", None, None, 301_234_567, None),
        TrendRow("Gen 1: After a_phase_with_a_long_name", 1, "x", 305_345_678, 4_111_111),
        TrendRow("Gen 2: After a", 2, "a", 304_345_678, -1_000_000),
    ]
    assert trend_block(rows).splitlines()[5:-1] == [
        "Trainer initialized (baseline)      0.30123     baseline",
        "Gen 1: After a_phase_with_a_long_name 0.30535    +4.11 MB",
        "Gen 2: After a                      0.30435    -1.00 MB",
    ]


def test_growth_block_word_for_word():
    growth = BaselineGrowth(
        "Trainer initialized (baseline)",
        "Gen 1: After evolve_population",
        4_230_000_000,
        9_450_000_000,
        (
            CountChange("trader.environment.TradingEnvironment", 2, 2),
            CountChange("trader.ddpg.DDPGAgent", 16, 17),
            CountChange("trader.buffer.ReplayBuffer", 1, 1),
            CountChange("numpy.ndarray", 1234, 3456),
            CountChange("torch.Tensor", 567, 891),
        ),
    )
    assert (
        growth_block(growth)
        == """\
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
======================================================================"""
    )


def test_growth_without_sizes_or_counts_leaves_their_parts_out():
    block = growth_block(BaselineGrowth("a", "b", None, 2_000_000_000))
    assert "Baseline: a" in block
    assert "   Current:       2.00 GB" in block
    assert "   Baseline:" not in block
    assert "Growth:" not in block
    assert "Object Count Changes" not in block


FINDING = Finding(
    "fingerprint",
    "instances",
    "leak",
    "growing",
    "the count adds 16 each generation and RSS grows with it",
    phase="evaluate_population",
    label="Gen 2: After evaluate_population",
    started_at=1,
    type="trader.environment.TradingEnvironment",
    counts=(2, 18, 34),
    count_per_generation=16.0,
    bytes_per_generation=7.2e9,
)


def test_leak_block_begins_with_the_five_facts_of_a_text_log():
    block = leak_block(FINDING, SNAPSHOT)
    assert block.startswith("""\
LEAK DETECTED:
- Phase: Gen 2: After evaluate_population
- Growth: +7.2 GB per generation (consistent)
- Object: TradingEnvironment count increasing: 2 → 18 → 34
- Started: Generation 1
- Pattern: Adds 16 TradingEnvironment per generation
""")
    assert block.endswith(snapshot_block(SNAPSHOT))


def test_leak_block_goes_on_with_what_a_recorded_run_knows():
    known = replace(
        FINDING,
        held_by="__main__.trainer.environments[*]",
        created_at="trainer.py:120",
        retained_bytes=7_200_000_000,
        confidence=0.97,
        fix="close the environment after each episode",
    )
    lines = leak_block(known).splitlines()
    starts = ["- Held by: __main__.trainer.environments[*]", "- Created at: trainer.py:120",
              "- Retained: 7.2 GB", "- Confidence: 97 %",
              "- Fix: close the environment after each episode"]  # fmt: skip
    positions = [next(i for i, line in enumerate(lines) if line.startswith(s)) for s in starts]
    assert positions == sorted(positions)
    for unknown in ("Held by", "Created at", "Retained", "Fix"):
        assert f"- {unknown}" not in leak_block(FINDING)


def test_one_witness_is_suspected_and_not_detected():
    assert leak_block(replace(FINDING, verdict="suspect")).startswith("LEAK SUSPECTED:")
