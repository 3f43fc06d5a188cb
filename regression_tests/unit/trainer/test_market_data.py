from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from reference_trainer.config import Config
from reference_trainer.data import (
    import_parquet,
    open_market,
    split_days,
    write_synthetic_market,
)
from reference_trainer.data.synthetic import FEATURES, draft_of, synthetic_market
from reference_trainer.errors import DataError


@pytest.fixture
def market(tmp_path: Path) -> Path:
    return write_synthetic_market(tmp_path / "market.parquet", days=120, stocks=5, seed=3)


def test_panel_holds_exactly_the_rows_of_the_parquet_file(market: Path, tmp_path: Path) -> None:
    panel = import_parquet(market, tmp_path / "cache")
    table = pq.read_table(market)
    assert int(panel.mask.sum()) == table.num_rows
    values, listed = synthetic_market(120, 5, 3)
    assert np.array_equal(panel.data_array[panel.mask], values[listed])


def test_panel_is_read_only_and_mapped_from_disk(market: Path, tmp_path: Path) -> None:
    panel = import_parquet(market, tmp_path / "cache")
    assert not panel.data_array.flags.writeable
    assert isinstance(panel.data_array.base, np.memmap)


def test_same_content_is_imported_once_whatever_its_name(market: Path, tmp_path: Path) -> None:
    first = import_parquet(market, tmp_path / "cache")
    twin = tmp_path / "twin.parquet"
    twin.write_bytes(market.read_bytes())
    stamp = (first.folder / "panel.npy").stat().st_mtime_ns
    second = import_parquet(twin, tmp_path / "cache")
    assert second.folder == first.folder
    assert (second.folder / "panel.npy").stat().st_mtime_ns == stamp


def test_gaps_repeat_the_past_and_never_the_future(tmp_path: Path) -> None:
    days = np.arange("2020-01-01", "2020-01-06", dtype="datetime64[D]")
    rows = [("A", 0), ("A", 1), ("A", 4), ("B", 0), ("B", 1), ("B", 2), ("B", 3), ("B", 4)]
    table = pa.table(
        {
            "date": pa.array(days[[day for _, day in rows]]).cast(pa.date32()),
            "symbol": [symbol for symbol, _ in rows],
            "open": [float(day + 1) for _, day in rows],
            "close": [float(day + 1) for _, day in rows],
        }
    )
    pq.write_table(table, tmp_path / "gaps.parquet")
    panel = import_parquet(tmp_path / "gaps.parquet", tmp_path / "cache")
    assert panel.data_array[:, 0, 0].tolist() == [1, 2, 2, 2, 5]
    assert panel.mask[:, 0].tolist() == [True, True, False, False, True]


def test_pickled_panel_is_a_path_and_not_the_data(market: Path, tmp_path: Path) -> None:
    panel = import_parquet(market, tmp_path / "cache")
    frozen = pickle.dumps(panel)
    assert len(frozen) < 1_000
    assert np.array_equal(pickle.loads(frozen).data_array, panel.data_array)


def test_statistics_see_training_days_only(market: Path, tmp_path: Path) -> None:
    panel = import_parquet(market, tmp_path / "cache")
    stats = panel.normalization_stats(10, 60)
    cells = panel.data_array[10:60][panel.mask[10:60]].astype(np.float64)
    assert np.allclose(stats.mean, cells.mean(axis=0), rtol=1e-5)
    assert np.allclose(stats.std, cells.std(axis=0), rtol=1e-3)


def test_same_seed_gives_the_same_market_and_another_seed_does_not() -> None:
    first, _ = synthetic_market(60, 4, 1)
    again, _ = synthetic_market(60, 4, 1)
    other, _ = synthetic_market(60, 4, 2)
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_score_pays_the_next_day_with_a_signal_and_never_without() -> None:
    def correlation(signal: float) -> float:
        panel, _ = synthetic_market(1500, 20, 5, signal)
        score, next_return = panel[:-1, :, FEATURES.index("score")], panel[1:, :, 5]
        return float(np.corrcoef(score.ravel(), next_return.ravel())[0, 1])

    assert abs(correlation(0.0)) < 0.02
    assert correlation(0.3) > 0.1


def test_synthetic_market_has_fat_tails_clusters_and_missing_cells() -> None:
    panel, listed = synthetic_market(1500, 40, 0)
    returns = panel[..., 5]
    standard = (returns - returns.mean(0)) / returns.std(0)
    size = np.abs(standard)
    clustering = np.mean([np.corrcoef(size[1:, i], size[:-1, i])[0, 1] for i in range(40)])
    assert (standard**4).mean() > 4
    assert clustering > 0.05
    assert 0.02 < 1 - listed.mean() < 0.3


def test_training_and_validation_are_disjoint_and_not_empty() -> None:
    split = split_days(3781, context_days=504, episode_days=145, validation_days=504, gap_days=20)
    assert split.train.start == 504
    assert split.train.stop + 20 == split.validation.start
    assert split.validation.stop == 3781
    assert len(split.train) > 145
    assert len(split.validation) > 145


def test_a_validation_range_without_room_for_an_episode_is_refused() -> None:
    with pytest.raises(DataError, match="validation range has 0 days"):
        split_days(400, context_days=60, episode_days=30, validation_days=0, gap_days=5)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [(None, "no market data at"), (b"PAR0 nonsense", "is not a Parquet file")],
)
def test_unusable_market_file_is_one_clear_error(
    tmp_path: Path, content: bytes | None, complaint: str
) -> None:
    path = tmp_path / "x.parquet"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DataError, match=complaint):
        import_parquet(path, tmp_path / "cache")


def test_the_usual_file_is_read_before_a_market_is_made_up(tmp_path: Path) -> None:
    write_synthetic_market(tmp_path / "stock_data.parquet", days=90, stocks=4, seed=9)
    panel = open_market(Config(data_dir=tmp_path))
    assert (panel.source, panel.days, panel.stocks) == ("stock_data.parquet", 90, 4)


def test_missing_price_column_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"date": [], "symbol": [], "open": []}), path)
    with pytest.raises(DataError, match="lacks the columns close"):
        import_parquet(path, tmp_path / "cache")


def test_data_folder_that_cannot_be_written_is_refused_in_one_line(tmp_path: Path) -> None:
    taken = tmp_path / "data"
    taken.write_text("a file, not a folder")
    with pytest.raises(
        DataError, match=r"cannot be read or kept in .*data: .*--data-dir"
    ) as refused:
        open_market(Config(days=60, stocks=4, data_dir=taken))
    assert "\n" not in str(refused.value)


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
