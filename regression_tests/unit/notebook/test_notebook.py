"""A report as one small output of a notebook, and the magic that watches a cell."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytest.importorskip("IPython")

from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import RichOutput, capture_output

sys.path.insert(0, str(Path(__file__).parents[1] / "render"))
import report_stories as stories

_LEAKS = "kept.append([bytearray(100_000) for _ in range(20)])"
_CALM = "made = [bytearray(100_000) for _ in range(20)]"
_LOOP = """
for generation in guard.generations(range(8)):
    with guard.phase("train"):
        {}
"""


@pytest.fixture
def shell():
    fresh = InteractiveShell.instance()
    fresh.run_line_magic("load_ext", "leakguard")
    fresh.user_ns["kept"] = []
    yield fresh
    fresh.reset()
    InteractiveShell.clear_instance()


def shown(shell, source: str) -> list[RichOutput]:
    with capture_output() as captured:
        shell.run_cell(source).raise_error()
    assert captured.stdout + captured.stderr == ""
    return captured.outputs


@pytest.mark.parametrize("magic", ["%%leakguard 8\n{}", "%%leakguard" + _LOOP])
@pytest.mark.parametrize(("body", "verdict"), [(_LEAKS, "leak"), (_CALM, "stable")])
def test_watched_cell_gives_one_output_with_the_verdict(shell, magic, body, verdict):
    [output] = shown(shell, magic.format(body))
    page, text = output.data["text/html"], output.data["text/plain"]
    assert f'class="word {verdict}"' in page
    assert text.startswith(f"leakguard: {verdict.upper()}: ")
    assert max(map(len, text.splitlines())) <= 80


def test_watched_cell_names_its_own_variable(shell):
    [output] = shown(shell, "%%leakguard 8\n" + _LEAKS)
    assert "kept[*]" in output.data["text/html"]


def test_line_of_a_watched_cell_is_counted_as_the_cell_has_it(shell):
    shell.run_cell("pass", store_history=True)
    with capture_output() as captured:
        shell.run_cell(f"%%leakguard 8\npass\n{_LEAKS}", store_history=True).raise_error()
    assert "made at cell In[2], line 3" in " ".join(captured.outputs[0].data["text/plain"].split())


def test_what_a_cell_defines_stays_defined(shell):
    shown(shell, "%%leakguard 3\nmade = 7")
    assert shell.user_ns["made"] == 7


def test_wrong_number_of_rounds_is_refused_in_one_line(shell):
    with capture_output() as said:
        result = shell.run_cell("%%leakguard many\npass")
    assert not result.success
    printed = (said.stdout + said.stderr).strip()
    assert printed.startswith("UsageError: %%leakguard many: that is no number of rounds")
    assert "\n" not in printed


@pytest.mark.parametrize("story", [stories.leaking, stories.healthy, stories.short])
def test_report_is_a_few_kilobytes_with_pictures_and_no_script(story):
    page = story()._repr_html_()
    assert len(page) < 16_000
    assert 'class="plot"' in page or story is stories.short
    assert "<script" not in page
    assert len(repr(story())) < 300 and len(repr(story().run)) < 300


def test_report_of_a_long_run_stays_small():
    assert len(stories.long(4_000)._repr_html_()) < 40_000
