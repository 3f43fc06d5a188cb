"""What the marks in a script tell of its loops, and when."""

from __future__ import annotations

import sys
from collections import Counter
from textwrap import dedent

import pytest

from leakguard.launch.loops import OFTEN, Loops
from leakguard.launch.main_code import compiled, compiled_module
from leakguard.launch.pace import Pace
from leakguard.launch.steps import Rank, StepSource


class Told(Pace):
    """Notes which rounds begin, and what the function of a loop still has when that is left."""

    def __init__(self):
        super().__init__(lambda *_: lambda: None)
        self.ranks, self.wholes, self.locals = Counter(), [], []

    def count(self, source):
        self._choice.chosen = source

    @property
    def rounds(self):
        return self.ranks.total()

    def step(self, source, most=1):
        self.ranks[source.rank] += 1
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
        exec(compiled(dedent(source), "script.py", {}, Loops(told, "script.py"), set()), {})
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


@pytest.mark.parametrize("loop", ["for number in range(3): pass", "while number < 3: number += 1"])
def test_loop_that_begins_again_and_again_beside_what_is_counted_is_left_alone(run, loop):
    told = run("pass")
    told.count(StepSource(Rank.OPTIMIZER, "optimizer step"))
    source = f"def look():\n    number = 0\n    {loop}\nlook()"
    names = {}
    exec(compiled(source, "script.py", {}, Loops(told, "script.py"), set()), names)
    for _ in range(2 * OFTEN):
        names["look"]()
    assert len(told.wholes) == OFTEN


def test_functions_of_a_module_are_known_by_the_names_that_the_script_calls():
    mentioned = set()
    script = (
        "import fit\ndef main():\n    fit.Trainer().train()\n    for n in []: fit.peek()\nmain()"
    )
    marks = Loops(Told(), "fit.py")
    compiled(script, "script.py", {}, marks, mentioned)
    assert {"train", "Trainer", "main"} <= mentioned
    assert "peek" not in mentioned
    module = "class Trainer:\n    def {name}(self):\n        while True: break\n"
    assert compiled_module(module.format(name="train"), "fit.py", marks, mentioned) is not None
    assert compiled_module(module.format(name="peek"), "fit.py", marks, mentioned) is None


LOADERS = """
    import threading
    turns = threading.Barrier(2)
    def load(rounds):
        kept = []
        while len(kept) < rounds:
            kept.append(turns.wait() if len(kept) < 3 else None)
    loaders = [threading.Thread(target=load, args=(rounds,)) for rounds in (3, 10)]
    for loader in loaders: loader.start()
    for loader in loaders: loader.join()
"""


def test_threads_in_one_while_loop_are_each_followed_by_themselves(run):
    told = run(LOADERS)
    ends = list(zip(told.locals, told.wholes, strict=True))
    assert sorted(e for e in ends if e[0][0] == "load") == [
        (("load", 3), True),
        (("load", 10), True),
    ]
    assert told.ranks == {Rank.THREAD_LOOP: 3 + 10, Rank.LOOP: 2 + 2}
