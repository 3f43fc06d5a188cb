"""Run files that are told and not recorded: what they hold depends on no machine."""

from __future__ import annotations

from pathlib import Path

from leakguard.model import RunInfo
from leakguard.store import schema
from leakguard.store.jsonl import RunWriter
from leakguard.testing import RunStory, State

GENERATIONS = 12
_ROLLOUT = 2_000_000  # bytes of one


def add_run(path: Path, *, leaks: bool) -> None:
    """Append a run to a file: each generation keeps one Rollout more where it leaks."""
    story = RunStory(info=RunInfo(name="train", source="guard"))
    for number in range(1, GENERATIONS + 1):
        story.generation(train=_state(number if leaks else 1))
    writer = RunWriter(path, story.info)
    for snapshot in story.run().snapshots:
        writer.write(schema.encode_snapshot(snapshot))
    writer.close()


def _state(kept: int) -> State:
    used = kept * _ROLLOUT
    return State(
        {
            "rss": 90_000_000 + used,
            "rss_anonymous": 70_000_000 + used,
            "heap_in_use": 30_000_000 + used,
        },
        {"training.Rollout": kept},
        {"training.Rollout": used},
    )
