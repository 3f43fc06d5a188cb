"""What the marks in a script tell of its loops, and when."""

from __future__ import annotations

import sys
from textwrap import dedent

import pytest

from leakguard.launch.loops import Loops
from leakguard.launch.main_code import compiled
from leakguard.launch.pace import Pace


class Told(Pace):
    """Notes which rounds begin, and what the function of a loop still has when that is left."""

    def __init__(self):
        super().__init__(lambda *_: lambda: None)
        self.rounds, self.wholes, self.locals = 0, [], []

    def step(self, source, most=1):
        self.rounds += 1
        return 1

    def ended(self, source, *, whole):
        self.wholes.append(whole)
        frame = sys._getframe()
        while frame.f_code.co_filename != "script.py":
            frame = frame.f_back
        self.locals.append((frame.f_code.co_name, len(frame.f_locals.get("kept", ()))))


@pytest.fixture
def run():
    def follow(source):
        told = Told()
        exec(compiled(dedent(source), "script.py", {}, Loops(told, "script.py")), {})
        return told

    return follow


KEEPS = """
    def tune(rounds):
        kept = []
        {loop}
            kept.append(len(kept))
            {left}
    tune(5)
    tune(7)
"""


@pytest.mark.parametrize(
    ("loop", "left", "whole"),
    [
        ("while len(kept) < rounds:", "", True),
        ("while True:", "if len(kept) == rounds: break", False),
        ("while True:", "if len(kept) == rounds: return", False),
        ("for number in range(rounds):", "", True),
        ("for number in range(99):", "if len(kept) == rounds: break", False),
    ],
)
def test_end_of_a_loop_is_told_while_its_function_has_its_locals(run, loop, left, whole):
    told = run(KEEPS.format(loop=loop, left=left))
    assert told.rounds == 5 + 7
    assert told.wholes == [whole, whole]
    assert told.locals == [("tune", 5), ("tune", 7)]


def test_loop_that_an_exception_leaves_is_over_when_its_frame_is(run):
    told = run("""
        def tune():
            while True: raise KeyError
        try: tune()
        except KeyError as error: pass
    """)
    assert (told.rounds, told.wholes) == (1, [False])
