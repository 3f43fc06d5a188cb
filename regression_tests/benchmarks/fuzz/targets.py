"""What is read: the log reader, run files, budgets, patterns of a project, and ``--pattern``."""

from __future__ import annotations

import functools
import random
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import FrameType

from leakguard.analysis import diagnose
from leakguard.analysis.budget import check
from leakguard.cli.budget_file import read_budget
from leakguard.errors import UsageError
from leakguard.live.project_settings import project_ignores
from leakguard.model import Report, Run
from leakguard.store import load_runs, schema
from leakguard.store.textlog.pattern import Match, matched, read_pattern
from leakguard.testing import RunStory, State
from regression_tests.benchmarks.textlog.pasted_logs import FORMATS, leaking

_BUDGET = b"""growth = "1 GB"
peak = "4 GB"
threads = 0
warmup = 2
constant = { TradingEnvironment = 2, DDPGAgent = [16, 17] }
phases.evaluate_population.growth = "10 MB"
"""
_PATTERNS = b"""[tool.leakguard]
ignore = ["app.cache.*", "*.TradingEnvironment", "instances:[a-f]?*", "__main__.kept[*]"]
"""
_EXPRESSIONS = (
    rb"gen (?P<generation>\d+): (?P<ram>[\d.,]+ ?[KMG]i?B)",
    rb"(?P<epoch>\d+)/\d+ .*?mem=(?P<ram_mb>[0-9.]+)(?: peak=(?P<peak_mib>\S+))?",
    rb"(?i)\[(?P<phase>[^\]]*)\]\s+(?P<count>\d{1,9}) (?P<type>\w+(?:\.\w+)*)|(?P<step>\d+)",
)
_LINES = (
    "gen 3: 1,234.5 MB",
    "7/25 loss=0.3 mem=812.5 peak=900",
    "[evaluate] 17 agents.Agent",
    "a" * 60 + " 12 b (x) [y] {z}",
    "",
)
# Seconds of CPU after which one expression is ended; the command's own limit is 5 s a batch.
_PATIENCE = 0.2


def read_whole_budget(path: Path) -> None:
    """Read a budget as ``leakguard check`` does, and check a run against it."""
    check(_judged(()), read_budget(path))


def read_patterns(path: Path) -> None:
    """Read the patterns of a project, and judge a run beside them."""
    path.rename(path.with_name("pyproject.toml"))
    _judged(project_ignores(path.parent))


def read_log_or_run(path: Path) -> None:
    """Read a log or a run file; what is read has a place."""
    for run in load_runs(path):
        assert all(s.serial >= 0 and isinstance(s.label, str) for s in run.snapshots)


def read_expression(path: Path) -> None:
    """Read lines by the text of ``--pattern``; the matching is in this process, with an alarm."""
    read_pattern(path, path.read_bytes().decode("utf-8", "surrogateescape"), _matched_here)


def _matched_here(path: Path, pattern: str) -> Iterator[Match]:
    def too_long(_: int, __: FrameType | None) -> None:
        raise UsageError("the expression did not come to an end")

    before = signal.signal(signal.SIGPROF, too_long)
    signal.setitimer(signal.ITIMER_PROF, _PATIENCE)
    try:
        yield from matched(pattern, _LINES)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


READERS: dict[str, Callable[[Path], None]] = {
    "log": read_log_or_run,
    "run file": read_log_or_run,
    "single lines": read_log_or_run,
    "pasted logs": read_log_or_run,
    "budget": read_whole_budget,
    "patterns": read_patterns,
    "expression": read_expression,
}


@functools.lru_cache(maxsize=64)
def _judged(ignore: tuple[str, ...]) -> Report:
    run = small_run()
    return diagnose(replace(run, info=replace(run.info, ignore=ignore)))


@functools.cache
def small_run(generations: int = 4) -> Run:
    """Return some generations, in each of which one object more is left."""
    story = RunStory(watch={"m.Env": (2, 2)})
    for n in range(generations):
        state = State(
            {"rss": 10**9 + n * 10**7, "heap_in_use": 10**8}, {"m.Env": 2 + n, "list": 99}
        )
        (story.generation(work=state) if n else story.baseline(state))
    return story.run()


@functools.cache
def seeds() -> dict[str, tuple[bytes, ...]]:
    """Return inputs of each kind that are as they should be: what is changed by chance."""
    lines = "".join(f"Generation {n} / 9\nRAM: {n}.5 GB\nLive envs: {n}\n" for n in range(1, 6))
    return {
        "log": (_log(small_run()), _log(small_run(2))),
        "run file": (_file(small_run()), _file(small_run(2))),
        "single lines": (lines.encode(),),
        "pasted logs": tuple(
            make(random.Random(1), leaking).text[:10_000].encode() for make in FORMATS.values()
        ),
        "budget": (_BUDGET,),
        "patterns": (_PATTERNS,),
        "expression": _EXPRESSIONS,
    }


def _file(run: Run) -> bytes:
    body = b"".join(map(schema.encode_snapshot, run.snapshots))
    return schema.encode_header(run.info) + body + schema.encode_end(len(run.snapshots))


def _log(run: Run) -> bytes:
    from leakguard.analysis import growth, trend
    from leakguard.render.log_block import growth_block, snapshot_block, trend_block

    first = run.snapshots[0].census
    blocks = [
        snapshot_block(s, first=first, record=schema.encode_snapshot(s)) for s in run.snapshots
    ]
    change = growth(run)
    blocks += [trend_block(trend(run)), *([] if change is None else [growth_block(change)])]
    return ("\n".join(blocks) + "\n").encode()
