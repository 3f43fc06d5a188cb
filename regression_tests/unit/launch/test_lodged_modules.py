"""What an attached look imports in a copy of a program is none of the program's own modules."""

from __future__ import annotations

from leakguard.launch.plan import Plan
from leakguard.launch.watching import Watching

LOOP = "for number in range(3):\n    print(number)\n"


def test_loops_of_what_an_attached_look_imports_are_no_loops_of_the_program():
    watching = Watching(Plan("train.py", "path", (), (), None, None, None, None))
    assert watching._compiled(LOOP, "/work/train/data.py") is not None
    assert watching._compiled(LOOP, "/tmp/leakguard-attach-7-0a/leakguard/model/run.py") is None
