"""A line of code is read as it is written."""

from __future__ import annotations

import pytest

from leakguard.model.code_line import CodeLine, code_line, written


@pytest.mark.parametrize("function", [None, "evaluate", "<module>", "Trainer.evaluate"])
@pytest.mark.parametrize("file", ["trainer.py", "a b/c:d/trainer.py", r"C:\app\trainer.py"])
def test_line_is_read_as_it_was_written(file, function):
    assert code_line(written(f"{file}:152", function)) == CodeLine(file, 152, function)


@pytest.mark.parametrize("text", [None, "", "trainer.py", "cell In[3], line 12", "trainer.py:x"])
def test_other_texts_are_no_line(text):
    assert code_line(text) is None
