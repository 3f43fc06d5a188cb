"""Cycles of a program that runs threads and has its collector off: told, and left alone."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

from leakguard import diagnose, load

_SERVER = """
import gc, sys, threading
from leakguard import LeakGuard

class Player:
    def __init__(self, match):
        self.match, self.trail = match, [(n / 7, n / 9) for n in range(100)]
    def __del__(self):
        dropped.append(threading.get_ident())

class Match:
    def __init__(self):
        self.players = [Player(self) for _ in range(8)]
    def end(self):
        CUT

gc.disable()
dropped, over = [], threading.Event()
threading.Thread(target=over.wait).start()
with LeakGuard(out=sys.argv[1], report=None) as guard:
    for _ in guard.generations(range(24)):
        Match().end()
print(len(dropped))
over.set()
"""


@pytest.mark.parametrize(("cut", "dropped"), [("pass", 0), ("self.players.clear()", 192)])
def test_cycles_are_told_and_not_collected_where_threads_run_without_a_collector(
    tmp_path, cut, dropped
):
    script, out = tmp_path / "server.py", tmp_path / "run.jsonl"
    script.write_text(textwrap.dedent(_SERVER).replace("CUT", cut), "utf-8")
    done = subprocess.run(
        [sys.executable, script, out], check=True, capture_output=True, text=True, timeout=120
    )
    assert done.stdout == f"{dropped}\n"

    findings = diagnose(load(out)).findings
    if dropped:
        assert findings == ()
        return
    (finding,) = findings
    assert (finding.verdict, finding.kind, finding.held_by) == ("leak", "cycles", None)
    assert finding.type.endswith(("Player", "Match"))
    assert "switched automatic collection off" in finding.fix
    assert "the program's collector is off" in finding.reason
