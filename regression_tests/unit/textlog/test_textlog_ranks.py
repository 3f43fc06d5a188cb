"""Lines of several processes in one file: each process is a run of its own."""

from __future__ import annotations

import random

import pytest
from textlog_stories import LEAK_SERIES, leak_log, series

from leakguard.model.units import GB

STABLE = {n: (8 * GB + n * 10_000_000, 2) for n in (1, 2, 3)}
STABLE_SERIES = {None: (4_230_000_000, None), **STABLE}
SPEAKERS = {
    "torchrun": ("[rank0]: ", "[rank1]: "),
    "workers": ("worker-1 | ", "worker-2 | "),
    "logging with rank": ("2025-01-07 10:01:02 [rank=0] ", "2025-01-07 10:01:03 [rank=1] "),
    "ray": ("(Trainer pid=11, ip=10.0.0.1) ", "(Trainer pid=12, ip=10.0.0.2) "),
    "mpirun": ("[1,0]<stdout>:", "[1,1]<stdout>:"),
    "srun": ("0: ", "1: "),
    "syslog": ("Jan  7 10:01:02 box python[501]: ", "Jan  7 10:01:02 box python[502]: "),
    "kubectl": ("[pod/trainer-0/main] ", "[pod/trainer-1/main] "),
    "addresses": ("10.0.0.1: ", "10.0.0.2: "),
    "hosts": ("ip-10-0-0-1: ", "ip-10-0-0-2: "),
    "rank of several": ("[Rank 0/2] ", "[Rank 1/2] "),
    "services": ("learner | ", "evaluator | "),
    "one without a prefix": ("", "[rank1]: "),
}  # fmt: skip


def interleaved(first: str, second: str, prefixes: tuple[str, str], seed: int) -> str:
    """Mix the lines of two processes at random, each in its own order."""
    generator = random.Random(seed)
    queues = [
        [prefix + line for line in log.splitlines()]
        for prefix, log in zip(prefixes, (first, second), strict=True)
    ]
    lines = []
    while any(queues):
        queue = generator.choice([queue for queue in queues if queue])
        lines.append(queue.pop(0))
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("name", SPEAKERS)
@pytest.mark.parametrize("seed", range(5))
def test_interleaved_processes_are_kept_apart(read_all, name, seed):
    log = interleaved(leak_log(), leak_log(STABLE), SPEAKERS[name], seed)
    runs = read_all(log)
    assert sorted(map(repr, map(series, runs))) == sorted(map(repr, (LEAK_SERIES, STABLE_SERIES)))
    assert all(run.part == (1, 1) for run in runs)


def test_ranks_have_their_number_and_processes_their_name(read_all):
    runs = read_all(interleaved(leak_log(), leak_log(STABLE), SPEAKERS["torchrun"], 0))
    assert [(run.info.rank, run.info.name) for run in runs] == [(0, "rank 0"), (1, "rank 1")]
    runs = read_all(interleaved(leak_log(), leak_log(STABLE), SPEAKERS["workers"], 0))
    assert {(run.info.rank, run.info.name) for run in runs} == {
        (None, "worker-1"),
        (None, "worker-2"),
    }
    runs = read_all(interleaved(leak_log(), leak_log(STABLE), SPEAKERS["ray"], 0))
    assert {run.info.pid for run in runs} == {11, 12}


def test_output_of_grep_of_interleaved_ranks(read_all):
    log = interleaved(leak_log(), leak_log(STABLE), SPEAKERS["torchrun"], 3)
    lines = log.splitlines()
    shown = [any("MEMORY SNAPSHOT" in line for line in lines[max(0, n - 15) : n + 1])
             for n in range(len(lines))]  # fmt: skip
    out = [line if show else "--" for line, show in zip(lines, shown, strict=True)]
    runs = read_all("\n".join(out) + "\n")
    assert [run.info.rank for run in runs] == [0, 1]
    for run, whole in zip(runs, (LEAK_SERIES, STABLE_SERIES), strict=True):
        seen = series(run)
        assert {k: v[0] for k, v in seen.items()}.items() <= {
            k: v[0] for k, v in whole.items()
        }.items()


def test_counter_in_the_prefix_is_no_process(read_all):
    lines = leak_log().splitlines()
    step = 0
    out = []
    for line in lines:
        step += line.startswith("Generation")
        out.append(f"[{step}] {line}")
    (run,) = read_all("\n".join(out) + "\n")
    assert series(run) == LEAK_SERIES
    assert run.info.rank is None
