"""The count of names with several meanings tells shapes apart, and no private name has many."""

from __future__ import annotations

from regression_tests.manual.names import ambiguous, meanings

# Methods of classes that begin, end and gather things of their own.
OF_CLASSES = {"_add", "_begin", "_end"}
MOST = 5


def test_functions_of_two_shapes_are_two_meanings(tmp_path):
    (tmp_path / "one.py").write_text("def told(case: int) -> str: ...\n", "utf-8")
    (tmp_path / "two.py").write_text("def told(path: str) -> None: ...\n", "utf-8")
    assert len(ambiguous(meanings(tmp_path), least=2)["told"]) == 2


def test_method_that_several_classes_offer_alike_is_one_meaning(tmp_path):
    for file in ("one", "two"):
        source = f"class {file.title()}:\n    def stop(self) -> None: ...\n"
        (tmp_path / f"{file}.py").write_text(source, "utf-8")
    assert ambiguous(meanings(tmp_path), least=2) == {}
    assert [len(places) for places in meanings(tmp_path)["stop"].values()] == [2]


def test_private_function_has_few_meanings():
    many = ambiguous(meanings(), least=MOST + 1)
    assert {name for name in many if name.startswith("_")} == OF_CLASSES
