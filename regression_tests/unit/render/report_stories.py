"""Reports told by hand, as the diagnosis would make them, for everything that lays them out."""

from __future__ import annotations

from dataclasses import replace

from leakguard.model import (
    BaselineGrowth,
    Census,
    Cleared,
    Cost,
    CountChange,
    Finding,
    Forecast,
    Gauge,
    Ledger,
    Report,
    Run,
    RunInfo,
    Snapshot,
    TrendRow,
    TypeCount,
    Watched,
)

GB = 10**9
MB = 10**6

_ENV = "reference_trainer.environment.TradingEnvironment"
_AGENT = "reference_trainer.ddpg_agent.DDPGAgent"
_PHASES = ("evaluate_population", "train_population", "evolve_population")


def snapshot(serial, label, rss, *, phase=None, generation=None, envs=2, moment="phase"):
    return Snapshot(
        serial=serial,
        label=label,
        moment=moment,
        phase=phase,
        generation=generation,
        seconds=serial * 12.5,
        metrics={"rss": rss, "vms": rss + 9 * GB, "peak": rss + GB // 2, "threads": 9,
                 "heap_in_use": rss - GB, "heap_held": GB // 4},
        gauges={"replay_buffer": Gauge(1_500.0 * serial, 50_000)},
        watched={_ENV: Watched(envs, (2, 2)), _AGENT: Watched(16, (16, 17))},
        census=Census(types={"list": TypeCount(15_678), "numpy.ndarray": TypeCount(2_456, 3 * GB)}),
        cost=Cost(0.004, 1),
    )  # fmt: skip


def _run(rss_after_evaluation, envs, info):
    shots = [snapshot(0, "Trainer initialized (baseline)", 4_230 * MB, moment="baseline")]
    for generation, rss in enumerate(rss_after_evaluation, start=1):
        for place, phase in enumerate(_PHASES):
            shots.append(
                snapshot(
                    len(shots),
                    f"Gen {generation}: After {phase}",
                    rss + place * 300 * MB,
                    phase=phase,
                    generation=generation,
                    envs=envs[generation - 1],
                )
            )
    return Run(info=info, snapshots=tuple(shots), finished=True)


def _trend(run):
    rows, before = [], None
    for shot in run.snapshots:
        rss = int(shot.metrics["rss"])
        change = None if before is None else rss - before
        rows.append(TrendRow(shot.label, shot.generation, shot.phase, rss, change))
        before = rss
    return tuple(rows)


INFO = RunInfo(
    source="jsonl",
    name="runs/erl.jsonl",
    started="2025-01-07T10:01:02+00:00",
    command="python -m reference_trainer --generations 6 --leak env-per-episode",
    pid=4711,
    python="3.11.7",
    platform="Linux-6.1-x86_64",
    packages={"torch": "2.13.0", "numpy": "2.4.0"},
    memory_limit=175 * GB,
)

FORECAST = Forecast(7.2 * GB, 23_270 * MB, 175 * GB, 25, (24, 26), 11_400.0)

ENV_LEAK = Finding(
    fingerprint="instances:TradingEnvironment:evaluate_population",
    kind="instances",
    verdict="leak",
    pattern="growing",
    phase="evaluate_population",
    label="Gen 2: After evaluate_population",
    started_at=1,
    type=_ENV,
    counts=(2, 18, 34),
    count_per_generation=16.0,
    bytes_per_generation=7.2 * GB,
    interval=(6.9 * GB, 7.4 * GB),
    retained_bytes=1_440 * MB,
    held_by="__main__.trainer.spent_environments[*]",
    path=("module __main__", ".trainer", ".spent_environments", "[*]  TradingEnvironment"),
    created_at="reference_trainer/rollout.py:88",
    confidence=0.98,
    reason="16 more instances after every generation, and RSS grows by as much as they retain",
    fix="Reuse the two environments with reset(options=...) instead of keeping a new one for each "
    "episode in spent_environments.",
    ruled_out=("a filling buffer: replay_buffer holds 18,000 of 50,000 and adds 0.1 GB",
               "freed memory that the allocator keeps: 0.25 GB, and it does not grow"),
    forecast=FORECAST,
    serial=4,
)  # fmt: skip

THREADS = Finding(
    fingerprint="threads::checkpoint",
    kind="threads",
    verdict="suspect",
    pattern="step",
    phase="checkpoint",
    started_at=2,
    counts=(9, 10, 11),
    count_per_generation=1.0,
    confidence=0.6,
    reason="one thread more after each checkpoint; three generations are few",
)

LEDGER = Ledger(
    "Trainer initialized (baseline)", "Gen 3: After evolve_population", 3, 19_040 * MB,
    {"tensors": 200 * MB, "arrays": 14_100 * MB, "python": 60 * MB, "native": None,
     "interpreter": None, "allocator": 90 * MB, "shared": 0, "swapped": 0,
     "unexplained": 4_590 * MB},
    {"native": "Python's own allocator does not tell",
     "interpreter": "Python's own allocator does not tell"},
)  # fmt: skip

BUFFER = Cleared(
    metric="replay_buffer",
    pattern="filling",
    reason="18,000 of 50,000; fills until generation 25, then stays",
)


def leaking() -> Report:
    run = _run((8_520 * MB, 15_340 * MB, 22_670 * MB), (2, 18, 34), INFO)
    trend = _trend(run)
    return Report(
        run=run,
        verdict="leak",
        headline="evaluate_population adds 16 TradingEnvironment and 7.2 GB per generation, "
        "since generation 1",
        findings=(ENV_LEAK, THREADS),
        cleared=(BUFFER,),
        ledger=LEDGER,
        forecast=FORECAST,
        coverage=0.97,
        trend=trend,
        growth=BaselineGrowth(
            baseline="Trainer initialized (baseline)",
            current="Gen 3: After evolve_population",
            rss_before=4_230 * MB,
            rss_after=23_270 * MB,
            counts=(CountChange(_ENV, 2, 34), CountChange("numpy.ndarray", 1_234, 3_456)),
        ),
        phase_growth={"evaluate_population": 6.8e9, "train_population": 0.3e9,
                      "evolve_population": 0.3e9},
        limits=("nothing below 1.2 MB per generation",),
    )  # fmt: skip


def healthy() -> Report:
    sizes = tuple(size * MB for size in (8_520, 10_230, 11_890, 13_450, 14_230, 14_890, 15_120))
    run = _run(sizes, (2,) * 7, INFO)
    return Report(
        run=run,
        verdict="stable",
        headline="nothing grows without bound in 7 generations",
        cleared=(BUFFER,),
        trend=_trend(run),
        growth=BaselineGrowth("Trainer initialized (baseline)", "Gen 7: After evolve_population",
                      4_230 * MB, 15_720 * MB, (CountChange(_ENV, 2, 2),)),
    )  # fmt: skip


def short() -> Report:
    run = Run(RunInfo(source="log", name="training.log"), (snapshot(0, "start", 100 * MB),),
              notes=("12 lines were cut off in the middle of a block",))  # fmt: skip
    return Report(run, "inconclusive", "1 snapshot; at least 3 generations are needed",
                  limits=("any growth: 3 more generations would decide",))  # fmt: skip


def long(generations: int, spike: int | None = None) -> Report:
    run = _run([(4_000 + g) * MB for g in range(generations)], (2,) * generations, INFO)
    if spike is not None:
        shots = list(run.snapshots)
        shots[spike] = replace(shots[spike], metrics={**shots[spike].metrics, "rss": 999 * GB})
        run = replace(run, snapshots=tuple(shots))
    return Report(run, "stable", "nothing grows without bound", trend=_trend(run))
