"""Choosing a renderer."""

from __future__ import annotations

import subprocess
import sys

import pytest
import report_stories as stories

from leakguard.errors import UsageError
from leakguard.render import FORMATS, TEXT_FORMATS, document, render, render_many


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("story", [stories.leaking, stories.healthy, stories.short])
def test_every_format_renders_every_report(name, story):
    if name == "png":
        pytest.importorskip("vl_convert")
    assert document([story()], name)


def test_picture_is_no_text():
    pytest.importorskip("vl_convert")
    assert document([stories.healthy()], "png")[:4] == b"\x89PNG"
    with pytest.raises(UsageError, match="no text"):
        render(stories.healthy(), "png")
    assert "png" not in TEXT_FORMATS


def test_unknown_format_names_the_choices():
    with pytest.raises(UsageError, match=rf"'pdf'.*{', '.join(FORMATS)}"):
        render(stories.short(), "pdf")


def test_unknown_option_names_the_choices():
    with pytest.raises(UsageError, match=r"'wide'.*width, color"):
        render(stories.short(), "terminal", wide=3)


def test_no_report_is_a_usage_error():
    with pytest.raises(UsageError, match="no report"):
        render_many((), "json")


def test_choosing_a_format_loads_no_other_renderer():
    program = (
        "import sys, leakguard.render as r; assert 'rich' not in sys.modules;"
        "assert 'jinja2' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_public_render_stays_a_function_after_its_first_use():
    import leakguard

    leakguard.render(stories.short(), "json")
    assert '"verdict": "inconclusive"' in leakguard.render(stories.short(), "json")
