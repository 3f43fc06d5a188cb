"""The figures of the code are counted, not guessed."""

from __future__ import annotations

from pathlib import Path

import leakguard
from regression_tests.benchmarks.house import figures

CODE = "\n\ndef f():\n    return 1\n\n\nclass C:\n    a: int\n    b: int\n"


def package(folder: Path, **files: str) -> dict[str, str]:
    (folder / "made").mkdir()
    for name, text in {"__init__": "", **files}.items():
        (folder / "made" / f"{name}.py").write_text(text)
    return figures(folder / "made")


def test_circle_is_found_inside_a_function_too(tmp_path: Path) -> None:
    one = "from made.two import g\n\ndef f():\n    return g()\n"
    two = "def g():\n    from made import one\n    return one.f()\n"
    told = package(tmp_path, one=one, two=two, three="from made import one\n")
    assert told["modules in an import circle"] == "2"
    assert told["modules with one importer"] == "1"  # two; one has two importers


def test_circle_by_an_import_of_a_name_is_found(tmp_path: Path) -> None:
    one = "from importlib import import_module\n\ndef f():\n    import_module('made.two')\n"
    told = package(tmp_path, one=one, two="from made import one\n")
    assert told["modules in an import circle"] == "2"


def test_no_module_of_the_package_imports_itself_through_others() -> None:
    assert figures(Path(leakguard.__file__).parent)["modules in an import circle"] == "0"


def test_docstring_is_no_line_of_a_function(tmp_path: Path) -> None:
    function = 'def f():\n    """Say.\n\n    More.\n    """\n    return 1\n'
    told = package(tmp_path, one=f"{function}\nclass C:\n    a: int\n    b: int = 1\n")
    assert told["longest functions"] == "2 (made.one.f)"
    assert told["most fields of a class"] == "2 (made.one.C)"
    assert (told["Python files"], told["lines of Python"]) == ("2", "10")


def test_numbers_with_a_name_are_counted_and_texts_and_calls_are_not(tmp_path: Path) -> None:
    text = "KB = 1_000\nA, B = 2, 3.5\nC = 4 * KB\nNAME = 'a'\nMADE = int(5)\nlower = 6\n"
    text += CODE
    assert package(tmp_path, one=text)["numbers with a name"] == "4"


def test_importers_inside_of_a_nested_package_are_found(tmp_path: Path) -> None:
    folder = tmp_path / "outer" / "inner"
    folder.mkdir(parents=True)
    for name, text in {"__init__": "", "one": CODE, "two": "from outer.inner import one\n"}.items():
        (folder / f"{name}.py").write_text(text)
    assert figures(folder, tmp_path)["modules with one importer"] == "1"
