"""A compiled record of another version is none, and does not end the watching."""

from __future__ import annotations

import subprocess
import sys

from leakguard import LeakGuard

_LEAKS = """
import sys, types
sys.modules["leakguard.capture.births._births"] = types.ModuleType("old")
from leakguard import LeakGuard
kept = []
with LeakGuard(trace="off") as guard:
    for _ in guard.generations(range(6)):
        kept.extend([number] for number in range(3_000))
"""


def test_leak_is_reported_beside_a_record_of_another_version():
    done = subprocess.run(
        [sys.executable, "-c", _LEAKS], capture_output=True, text=True, check=True
    )

    assert "LEAK" in done.stderr
    assert "kept[*]" in done.stderr


def test_guard_that_fails_at_every_step_says_so_at_the_end(monkeypatch, capsys):
    def fails(quiet):
        raise AttributeError("no such function")

    rounds = []
    with LeakGuard() as guard:
        monkeypatch.setattr("leakguard.live.safety.hush", fails)
        rounds.extend(guard.generations(range(3)))

    assert rounds == [0, 1, 2]
    said = " ".join(capsys.readouterr().err.split())
    assert "nothing is known of this run: AttributeError: no such function" in said
