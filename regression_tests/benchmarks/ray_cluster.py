"""Many actors on a local Ray cluster of several nodes, gathered into one folder through Ray.

``python -m regression_tests.benchmarks.ray_cluster -o reports/ray_cluster``: one actor leaks and
one is killed with SIGKILL while it writes. Each node is a raylet of its own; they are told apart by
Ray alone, and no actor is given the folder's path. Needs some 100 MB of memory a writer.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ray
from ray.cluster_utils import Cluster

from leakguard import render
from leakguard.analysis.job import diagnose_job
from leakguard.integrations.ray import watched_actor
from leakguard.integrations.ray_folder import RayFolder
from leakguard.store import load_job

ROUNDS = 24  # calls of each actor
EVERY = 2  # calls of a generation
TRIES = 8  # for each node to start
LEAKS, KILLED = 37, 11  # actors by number; the second is killed after half of the rounds


class Worker:
    """Rolls out; the one that ``keeps`` keeps what it rolled out."""

    def __init__(self, keeps: bool) -> None:
        self.keeps = keeps
        self.trajectories: list[bytearray] = []

    def rollout(self) -> str:
        """Return the node that this ran on."""
        trajectory = bytearray(300_000)
        if self.keeps:
            self.trajectories.append(trajectory)
        return str(ray.get_runtime_context().get_node_id())

    def pid(self) -> int:
        """Return the process."""
        return os.getpid()


def main() -> int:
    """Start a cluster, run the actors, judge the folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=4)
    parser.add_argument("--writers", type=int, default=64)
    parser.add_argument("-o", dest="out", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    cluster = started(options.nodes)
    ray.init(address=cluster.address, log_to_driver=False)
    if __name__ == "__main__":  # workers cannot import this file
        ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        nodes = played(Path(folder), options.writers)
        text = "\n".join(told(Path(folder), nodes, options.writers, time.monotonic() - began))
    ray.shutdown()
    cluster.shutdown()
    print(text)
    if options.out is not None:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "result.md").write_text(text + "\n", encoding="utf-8")
    return 0


def started(nodes: int) -> Cluster:
    """Start a cluster; a node has some tries, since Ray gives it 30 s on a busy machine too."""
    cluster = Cluster(initialize_head=False)
    for number in range(nodes):
        more = {} if number else {"include_dashboard": False}
        for attempt in range(TRIES):
            try:
                cluster.add_node(num_cpus=1, object_store_memory=80_000_000, **more)
                break
            except Exception as error:  # what Ray raises has no class of its own
                print(f"node {number}, try {attempt + 1}: {error}", file=sys.stderr)
        else:
            sys.exit(f"node {number} did not start in {TRIES} tries: the machine is too busy")
    return cluster


def played(folder: Path, writers: int) -> int:
    """Let the actors run and end; return on how many nodes they were."""
    runs = RayFolder(folder)
    made: Any = ray.remote(num_cpus=0.01, max_restarts=0, scheduling_strategy="SPREAD")(
        watched_actor(runs, every=EVERY, report=None)(Worker)
    )
    actors = [made.remote(number == LEAKS % writers) for number in range(writers)]
    pids = ray.get([actor.pid.remote() for actor in actors])
    nodes: set[str] = set()
    for number in range(ROUNDS):
        if number == ROUNDS // 2:
            actors[KILLED % writers].rollout.remote()  # it is killed while it works and writes
            os.kill(pids[KILLED % writers], signal.SIGKILL)
            del actors[KILLED % writers]
        nodes.update(ray.get([actor.rollout.remote() for actor in actors]))
    runs.end(actors)
    return len(nodes)


def told(folder: Path, nodes: int, writers: int, seconds: float) -> Iterator[str]:
    """Yield the result, line by line."""
    job = load_job(folder)
    assert job is not None
    report, _ = diagnose_job(job)
    states = [member.state for member in job.members]
    rounds = sorted(len(member.run.generations) for member in job.members)
    broken = sum(not _is_json(line) for line in _lines(folder))
    yield f"{writers} actors on {nodes} nodes, {ROUNDS // EVERY} generations each, {seconds:.0f} s."
    yield f"Files gathered: {len(list(folder.glob('*.jsonl')))}; lines that are no JSON: {broken}."
    yield f"Generations a file: {rounds[0]} (the killed one) to {rounds[-1]}, {rounds[1]} next."
    counts = ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states))
    yield f"States while the driver and its cluster live: {counts}."
    yield f"\n{report.headline}\n\n```"
    yield render(report, "terminal").rstrip()
    yield "```"


def _lines(folder: Path) -> Iterator[bytes]:
    for path in folder.glob("*.jsonl"):
        yield from filter(None, path.read_bytes().split(b"\n"))


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
