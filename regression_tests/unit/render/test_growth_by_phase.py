"""Growth by phase is shown where memory grows, and where a verdict needs it."""

from __future__ import annotations

from dataclasses import replace

import pytest
import report_stories as stories

from leakguard.render.outline import sections


def _is_shown(report, growth):
    keys = [section.key for section in sections(replace(report, phase_growth=growth))]
    return "phases" in keys


@pytest.mark.parametrize("growth", [{"evaluate": -100_000.0, "train": -23_000.0}, {"train": 0.0}])
def test_stable_run_that_shrinks_shows_no_growth_by_phase(growth):
    assert not _is_shown(stories.healthy(), growth)


def test_stable_run_that_still_gains_shows_where():
    assert _is_shown(stories.healthy(), {"evaluate": -1_000.0, "train": 50_000.0})


def test_leaking_run_shows_its_phases_although_their_sum_falls():
    assert _is_shown(stories.leaking(), {"evaluate": 50_000.0, "train": -60_000.0})


@pytest.mark.parametrize(
    ("freed", "columns"),
    [(-685_000.0, ("Phase", "Bytes")), (-100_000.0, ("Phase", "Bytes", "Share"))],
)
def test_shares_are_left_out_where_one_part_frees_what_another_makes(freed, columns):
    growth = {"breed": 710_000.0, "evaluate": 34_000.0, "(between phases)": freed}
    told = sections(replace(stories.leaking(), phase_growth=growth))

    (section,) = [section for section in told if section.key == "phases"]
    assert section.columns == columns
    assert ("frees what another makes" in section.title) == (len(columns) == 2)
    assert bool(section.shares) == (len(columns) == 3)
