"""Run one program under one tool, in a process of its own."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from regression_tests.benchmarks.leakbench.program import PROGRAMS, open_set

OURS: dict[str, dict[str, Any]] = {
    "leakguard": {},
    "leakguard-unlimited": {"max_overhead": None},
}


def main(tool: str, group: str, name: str, leak: str, out: str) -> None:
    """Run a program of the set ``group``, and leave in the folder ``out`` what the tool says."""
    open_set(group)
    Path(out).mkdir(exist_ok=True)
    program = PROGRAMS[name]
    arguments = (leak == "leak",) if program.truths else ()

    def play(guard: Any) -> None:
        program.main(guard, *arguments)

    watch = _with_leakguard if tool in OURS else _with_peer
    began = time.process_time()
    watch(tool, play, Path(out))
    spent = time.process_time() - began
    (Path(out) / "cpu.json").write_text(json.dumps(spent), encoding="utf-8")


def _with_leakguard(tool: str, play: Callable[[Any], None], out: Path) -> None:
    from leakguard import LeakGuard

    with LeakGuard(out=out / "run.jsonl", **OURS[tool]) as guard:
        play(guard)


def _with_peer(tool: str, play: Callable[[Any], None], out: Path) -> None:
    from regression_tests.benchmarks.leakbench.peers import PEERS

    peer = PEERS[tool]()
    play(peer)
    said = [asdict(one) for one in peer.said()]
    (out / "said.json").write_text(json.dumps(said), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:6])
    sys.stdout.flush()
    os._exit(0)  # threads that a program left waiting do not hold it up
