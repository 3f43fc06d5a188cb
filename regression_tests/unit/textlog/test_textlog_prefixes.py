"""Whatever stands before each line, the block is found and means the same."""

from __future__ import annotations

import itertools
import json

import pytest
from textlog_stories import LEAK_SERIES, leak_log, series

PREFIXES = {
    "logging": "2025-01-07 10:01:{n:02d},{n:03d} INFO ",
    "logging with name": "2025-01-07 10:01:{n:02d},{n:03d} - trainer.memory - INFO - ",
    "basicConfig": "INFO:root:",
    "source line": "2025-01-07 10:01:{n:02d} INFO trainer.py:{n} - ",
    "loguru": "2025-01-07 10:01:{n:02d}.{n:03d} | INFO     | __main__:main:{n} - ",
    "absl": "I0107 10:01:{n:02d}.123456 140234 trainer.py:{n}] ",
    "syslog": "Jan  7 10:01:{n:02d} node7 python[4321]: ",
    "journal without pid": "Jan 07 10:01:{n:02d} gpubox trainer: ",
    "torchrun": "[rank0]: ",
    "torchrun default": "[default0]:",
    "docker compose": "worker-3 | ",
    "docker compose service": "trainer_1  | ",
    "kubectl": "[pod/trainer-0/main] ",
    "kubernetes CRI": "2025-01-07T10:01:{n:02d}.123456789Z stdout F ",
    "ray": "(ERLTrainer pid=12345, ip=10.0.0.7) ",
    "mpirun": "[1,0]<stdout>:",
    "srun": "0: ",
    "elapsed": "[ {n}.123456] ",
    "iso in brackets": "[2025-01-07T10:01:{n:02d}+00:00] ",
    "unix time": "17362404{n:02d}.123 ",
    "line numbers": "{n:6d}\t",
    "grep -n": "{n}:",
    "time of day": "10:01:{n:02d} AM ",
    "indent": "    ",
}


@pytest.mark.parametrize("name", PREFIXES)
def test_prefix_does_not_hide_a_block(read, name):
    numbers = itertools.count(1)
    lines = [PREFIXES[name].format(n=next(numbers) % 60) + line for line in leak_log().splitlines()]
    assert series(read("\n".join(lines) + "\n")) == LEAK_SERIES


@pytest.mark.parametrize("name", PREFIXES)
def test_prefix_does_not_hide_a_block_without_its_upper_frame(read, name):
    numbers = itertools.count(1)
    lines = leak_log().splitlines()
    kept = [
        line
        for line, following in zip(lines, [*lines[1:], ""], strict=True)
        if "MEMORY SNAPSHOT" not in following
    ]
    text = "\n".join(PREFIXES[name].format(n=next(numbers) % 60) + line for line in kept) + "\n"
    assert series(read(text)) == LEAK_SERIES


def test_record_with_its_prefix_on_the_first_line_only(read):
    record = "2025-01-07 10:01:02,123 INFO \n"
    assert series(read(record + leak_log())) == LEAK_SERIES
    joined = leak_log().replace(
        "=" * 70 + "\n🔍", "2025-01-07 10:01:02,1 INFO " + "=" * 70 + "\n🔍"
    )
    assert series(read(joined)) == LEAK_SERIES


def test_json_records_of_a_container_runtime(read):
    lines = [
        json.dumps({"log": line + "\n", "stream": "stdout", "time": "2025-01-07T10:01:02Z"})
        for line in leak_log().splitlines()
    ]
    assert series(read("\n".join(lines) + "\n")) == LEAK_SERIES


def test_json_records_that_hold_a_whole_block_each(read):
    records = leak_log().replace("\nGeneration", "\0Generation").split("\0")
    text = "".join(
        json.dumps({"level": "info", "message": record, "rank": 3}, ensure_ascii=False) + "\n"
        for record in records
    )
    run = read(text)
    assert series(run) == LEAK_SERIES
    assert run.info.rank == 3


def test_grep_with_file_names_and_numbers(read):
    out = []
    for number, line in enumerate(leak_log().splitlines(), 1):
        if "MEMORY SNAPSHOT" in line:
            out += ["--", f"training.log:{number}:{line}"]
        else:
            out.append(f"training.log-{number}-{line}")
    assert series(read("\n".join(out) + "\n")) == LEAK_SERIES


def test_rich_handler_with_times_left_out_and_places_at_the_right(read):
    out = [f"[10:01:02] INFO     {line:<75} trainer.py:45" for line in leak_log().splitlines()]
    assert series(read("\n".join(out) + "\n")) == LEAK_SERIES
    out[3:] = [line.replace("[10:01:02]", " " * 10) for line in out[3:]]
    assert series(read("\n".join(out) + "\n")) == LEAK_SERIES


def test_times_in_the_prefix_become_seconds(read):
    lines = []
    minute = 0
    for line in leak_log().splitlines():
        minute += "MEMORY SNAPSHOT" in line
        lines.append(f"2025-01-07 10:{minute:02d}:00,500 INFO {line}")
    run = read("\n".join(lines))
    assert run.info.started == "2025-01-07T10:01:00.500000"
    assert [s.seconds for s in run.snapshots] == [0.0, 60.0, 120.0, 180.0]
