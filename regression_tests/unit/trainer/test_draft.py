from __future__ import annotations

from pathlib import Path

import pytest

from reference_trainer.data.draft import draft_of


def test_two_runs_write_the_same_file_at_the_same_time(tmp_path: Path) -> None:
    target = tmp_path / "market.parquet"
    with draft_of(target) as first, draft_of(target) as second:
        for draft in (first, second):
            draft.write_text("the same")
    assert target.read_text() == "the same"
    assert list(tmp_path.iterdir()) == [target]


def test_what_is_not_written_to_its_end_leaves_nothing(tmp_path: Path) -> None:
    target = tmp_path / "market.parquet"
    target.write_text("whole")
    with pytest.raises(OSError, match="disk full"), draft_of(target) as draft:
        draft.write_text("ha")
        raise OSError("disk full")
    assert target.read_text() == "whole"
    assert list(tmp_path.iterdir()) == [target]
