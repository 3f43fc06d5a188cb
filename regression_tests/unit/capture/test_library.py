"""Which source files belong to the program, and which to libraries."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from leakguard.capture import library
from leakguard.capture.library import is_library


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of the import path with a package of the program's and two installed ones."""
    recorded = (
        "tables/__init__.py",
        "tables/core/read.py",
        "slices.py",
        "tables-1.0.dist-info/RECORD",
    )
    (tmp_path / "tables-1.0.dist-info").mkdir()
    (tmp_path / "tables-1.0.dist-info/RECORD").write_text(
        "".join(f"{file},,\n" for file in recorded)
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("file", ["tables/core/read.py", "slices.py"])
def test_what_is_installed_in_any_folder_is_a_library(folder: Path, file: str) -> None:
    assert is_library(str(folder / file))


@pytest.mark.parametrize("file", ["train.py", "app/tables/read.py"])
def test_what_lies_beside_it_is_the_programs(folder: Path, file: str) -> None:
    assert not is_library(str(folder / file))


def test_folder_below_belongs_to_its_own_entry_of_the_import_path(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(folder / "tables"))
    assert not is_library(str(folder / "tables/train.py"))


def test_what_is_shipped_with_python_or_made_of_no_file_is_a_library() -> None:
    assert is_library(json.__file__)
    assert is_library(pytest.__file__)
    assert is_library("<string>")
    assert not is_library(__file__)


def test_what_was_typed_is_the_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not any(map(is_library, ("<stdin>", "<console>", "<python-input-3>")))
    assert all(map(is_library, ("<frozen runpy>", "<attrs generated init app.Item>")))
    monkeypatch.setattr(library, "_commands", set())
    library.runs_command()
    assert not is_library("<string>")  # else it is the code of a dataclass or of exec()
