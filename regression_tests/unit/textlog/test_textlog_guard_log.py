"""The log of a guard leads to the verdict of the run file beside it: type, phase and start too."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leakguard.analysis import diagnose
from leakguard.live.journal import Journal
from leakguard.model import Gauge, Report, Run, Snapshot
from leakguard.model.units import GB, KB, MB
from leakguard.store import load_runs, schema
from leakguard.testing import RunStory, State

SETTINGS = settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
ENV, NODE, LIST = "__main__.TradingEnvironment", "pkg.graph.Node", "list"


@st.composite
def stories(draw: st.DrawFn) -> Run:
    """Draw a run: what grows, how fast, since when, in which phase, with what noise."""
    phases = draw(st.sampled_from([("evaluate",), ("evaluate", "train"), ("a/b", "a", "evolve")]))
    generations = draw(st.integers(3, 30))
    since = draw(st.integers(0, generations))
    phase = draw(st.sampled_from(phases))
    envs, nodes = draw(st.sampled_from([0, 0, 1, 16])), draw(st.sampled_from([0, 0, 3, 1000]))
    size = draw(st.sampled_from([100, 48 * KB, 3 * MB]))
    lost = draw(st.sampled_from([0, 0, 777_777, 40 * MB]))
    base = draw(st.sampled_from([80 * MB, 9 * GB]))
    random = draw(st.randoms(use_true_random=False))
    noise = draw(st.sampled_from([0, 4096, 2 * MB]))
    fill = draw(st.booleans())

    def state(steps: int) -> State:
        live = steps * (envs * size + nodes * 200 + lost)
        filled = min(500 * MB, steps * 20 * MB) if fill else 0
        used = base // 2 + live + filled
        return State(
            {
                "rss": base + live + filled + random.randint(0, noise),
                "heap_in_use": used + random.randint(0, noise // 4),
                "heap_held": 3 * MB,
                "threads": 4,
            },
            {ENV: 2 + envs * steps, NODE: 500 + nodes * steps, LIST: 600 + random.randint(0, 3)},
            {ENV: 2 * size + envs * steps * size, NODE: 200 * (500 + nodes * steps), LIST: 9000},
            {"replay": Gauge(min(25, steps), 25)} if fill else {},
        )

    story = RunStory(watch={ENV: (2, 2)})
    story.baseline(state(0))
    done = 0
    for generation in range(generations):
        states = {}
        for name in phases:
            done += generation >= since and name == phase
            states[name] = state(done)
        story.generation(**states)
    return story.run()


def seldom_looked_into(run: Run, every: int) -> Run:
    """Return a run whose heap was looked into each ``every``-th generation, and at its end."""
    last = run.generations[-1]
    kept = [
        s if s.generation is None or s.generation in (1, last) or s.generation % every == 0
        else replace(s, watched={}, census=None)
        for s in run.snapshots
    ]  # fmt: skip
    return replace(run, snapshots=tuple(kept))


def written(run: Run, folder: Path) -> tuple[Path, Path]:
    """Write a run as a guard does: a run file and the log beside it."""
    file, log = folder / "run.jsonl", folder / "run.log"
    file.unlink(missing_ok=True)
    with log.open("w", encoding="utf-8") as stream:
        journal = Journal(run.info, file, lambda block: stream.write(block + "\n"), 1)
        for snapshot in run.snapshots:
            journal.add(snapshot, snapshot.generation)
        journal.finish(0.0, lambda report: None)
    return file, log


def judged(path: Path) -> Report:
    (run,) = load_runs(path)
    return diagnose(run)


def essence(report: Report) -> tuple[object, ...]:
    found = [(f.verdict, f.kind, f.type, f.phase, f.started_at) for f in report.findings]
    return report.verdict, found


@SETTINGS
@given(run=stories(), every=st.sampled_from([1, 1, 4, 9]))
def test_log_leads_to_the_same_verdict_type_phase_and_start(tmp_path, run, every):
    file, log = written(seldom_looked_into(run, every), tmp_path)
    assert essence(judged(log)) == essence(judged(file))


@pytest.mark.parametrize(
    "name", ["healthy", "env-cycle", "env-data-copy", "loss-graph", "upload-backlog"]
)
def test_log_of_a_recorded_training_leads_to_its_verdict(tmp_path, name):
    recorded = Path(__file__).parents[3] / "reports" / name / "run.jsonl"
    lines = [schema.decode(line) for line in recorded.read_bytes().splitlines()]
    info = next(line.run for line in lines if line.run is not None)
    snapshots = tuple(line.snapshot for line in lines if line.snapshot is not None)
    file, log = written(Run(info, snapshots), tmp_path)
    assert essence(judged(log)) == essence(judged(file))
    held = [[f.held_by for f in judged(path).findings] for path in (log, file)]
    assert held[0] == held[1]


@SETTINGS
@given(run=stories(), every=st.sampled_from([1, 4]))
def test_log_holds_the_moments_of_the_run_with_their_numbers(tmp_path, run, every):
    file, log = written(seldom_looked_into(run, every), tmp_path)
    (told,), (kept,) = load_runs(log), load_runs(file)
    assert [place(s) for s in told.snapshots] == [place(s) for s in kept.snapshots]
    for one, other in zip(told.snapshots, kept.snapshots, strict=True):
        assert one.metrics == other.metrics
        assert one.watched == other.watched
        assert one.gauges == other.gauges
        assert (one.census is None) == (other.census is None)
        for name in (ENV, NODE) if one.census and other.census else ():
            assert one.census.types.get(name) in (None, other.census.types[name])


def place(snapshot: Snapshot) -> tuple[object, ...]:
    return snapshot.label, snapshot.moment, snapshot.phase, snapshot.generation


def leaking(generations: int = 40, every: int = 8) -> Run:
    story = RunStory(watch={ENV: (2, 2)})
    story.baseline(State({"rss": GB, "heap_in_use": GB // 2}, {ENV: 2}, {ENV: 2 * MB}))
    for n in range(1, generations + 1):
        grown = State(
            {"rss": GB + 16 * n * MB, "heap_in_use": GB // 2 + 16 * n * MB},
            {ENV: 2 + 16 * n}, {ENV: (2 + 16 * n) * MB},
        )  # fmt: skip
        story.generation(evaluate=grown, train=grown)
    return seldom_looked_into(story.run(), every)


def test_counts_of_an_earlier_look_are_not_printed_as_current(tmp_path):
    _, log = written(leaking(), tmp_path)
    text = log.read_text(encoding="utf-8")
    blocks = text.split("MEMORY GROWTH ANALYSIS")[1:]
    counted = ["Object Count Changes" in block.split("MEMORY SNAPSHOT")[0] for block in blocks]
    assert [n for n, has in enumerate(counted, 1) if has] == [1, 8, 16, 24, 32, 40]


def test_stale_counts_in_the_log_of_an_earlier_version_are_left_out(read):
    """Its growth blocks repeated the last counts under a moment whose own block has none."""
    text = "".join(
        f"{'=' * 70}\nMEMORY SNAPSHOT: Gen {n}: End of generation\n{'=' * 70}\n"
        f"💾 Process Memory:\n   RSS (actual RAM):  {n}.00 GB\n"
        + ("📊 Object Counts:\n   Env:   18\n" if n == 1 else "")
        + f"{'=' * 70}\n{'=' * 70}\nMEMORY GROWTH ANALYSIS\n{'=' * 70}\nBaseline: Run started\n"
        f"Current:  Gen {n}: End of generation\n\nRAM Usage:\n   Baseline:  0.50 GB\n"
        f"   Current:  {n}.00 GB\n\nObject Count Changes:\n   Env :  2 →  18 (+16)\n{'=' * 70}\n"
        for n in range(1, 5)
    )
    run = read(text)
    assert run.snapshots[0].label == "Run started"
    assert [s.count("Env") for s in run.snapshots] == [2, 18, None, None, None]


def test_finished_log_tells_as_much_as_a_torn_one(tmp_path):
    _, log = written(leaking(every=1), tmp_path)
    lines = log.read_text(encoding="utf-8").splitlines(keepends=True)
    whole = diagnose(load_runs(log)[0]).findings[0]
    assert (whole.type, whole.phase) == (ENV, "evaluate")
    for share in (0.5, 0.7, 0.9):
        log.write_text("".join(lines[: int(share * len(lines))]), encoding="utf-8")
        torn = diagnose(load_runs(log)[0]).findings[0]
        assert (torn.type, torn.phase, torn.started_at) == (ENV, "evaluate", whole.started_at)


def test_start_of_the_run_comes_first(tmp_path):
    _, log = written(leaking(6, 1), tmp_path)
    assert load_runs(log)[0].snapshots[0].label == "Run started (baseline)"
    assert judged(log).trend[0].label == "Run started (baseline)"


@pytest.mark.parametrize("prefix", ["[rank3]: ", "2025-01-07 10:01:02,123 INFO "])
def test_prefix_and_bars_do_not_change_what_a_guard_told(tmp_path, prefix):
    file, log = written(leaking(), tmp_path)
    lines = log.read_text(encoding="utf-8").splitlines()
    bar = "Training:  50%|█████     | 8/16 [00:01<00:01,  5.31it/s]"
    log.write_text("".join(f"{prefix}{line}\n\r{bar}\r" for line in lines), encoding="utf-8")
    assert essence(judged(log)) == essence(judged(file))
