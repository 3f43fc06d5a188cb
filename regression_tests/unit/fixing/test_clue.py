"""What a finding tells about the place to change."""

from __future__ import annotations

from leakguard.fixing.clue import Clue, ProgramLine, clue_of
from leakguard.model import Finding, Run, RunInfo

RUN = Run(RunInfo(), ())


def finding(held_by, *path, **more):
    return Finding("f", "instances", "leak", "growing", "", held_by=held_by, path=path, **more)


def test_local_variable_and_its_attribute_are_an_expression_of_the_function():
    clue = clue_of(
        finding(
            "__main__.Trainer.callbacks[*]",
            "local trainer in main()  (__main__.Trainer)",
            ".callbacks  (list)",
            "[*]  (__main__.Best)",
            type="__main__.Best",
            created_at="train.py:31 in Trainer.fit",
            count_per_generation=2.5,
        ),
        RUN,
    )
    assert clue == Clue(
        "instances", "__main__.Best", ("callbacks", "trainer"), "list", "__main__", "main",
        "trainer.callbacks", lines=(ProgramLine("train.py", 31, "fit"),), per_round=3,
    )  # fmt: skip


def test_name_of_the_script_is_an_expression_and_that_of_a_library_is_none():
    own = finding("__main__.best[*]", "__main__  (dict)", ".best  (list)", "[*]  (m.R)")
    other = finding("weakref.x[*]", "weakref  (dict)", ".x  (dict)", "[*]  (m.R)")
    assert clue_of(own, RUN).expression == "best"
    assert clue_of(other, RUN).expression is None


def test_cached_function_is_named():
    held_by = "__main__.Grid.distance → lru_cache of Grid.distance[*]"
    assert clue_of(finding(held_by), RUN).cached == "distance"
