"""A line of a cell is told by the cell's number, as IPython shows it."""

from __future__ import annotations

import pytest

from leakguard.capture.stack import cell_of, named, origin, place

pytest.importorskip("IPython")

from IPython.core.interactiveshell import InteractiveShell


@pytest.fixture
def file():
    """The made up file of the first cell that a fresh shell ran."""
    shell = InteractiveShell.instance()
    shell.run_cell("def f():\n    return 1\nname = f.__code__.co_filename", store_history=True)
    yield shell.user_ns["name"]
    shell.reset()
    InteractiveShell.clear_instance()


def test_line_of_a_cell_is_told_as_ipython_tells_it(file):
    assert place(named(file, 2)) == "cell In[1], line 2"


def test_cell_is_the_program_s_own_code_and_no_library(file):
    assert origin([named(__import__("json").__file__, 3), named(file, 2)]) == 1


def test_other_files_are_no_cells(file):
    assert cell_of(__file__) is None
    assert cell_of("<string>") is None
