"""Stream a long Parquet file (date, symbol, features) into a cached dense panel."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from reference_trainer.config import Config
from reference_trainer.data.panel import FORMAT, Panel
from reference_trainer.data.synthetic import synthetic_name, write_synthetic_market
from reference_trainer.errors import DataError

BATCH_ROWS = 65_536
USUAL_NAME = "stock_data.parquet"
REQUIRED = ("open", "close")


def open_market(config: Config) -> Panel:
    """The panel of `config.data`, of `stock_data.parquet`, or of a seeded synthetic market."""
    try:
        return import_parquet(_source(config), config.data_dir / "cache")
    except OSError as problem:
        raise DataError(
            f"market data cannot be read or kept in {config.data_dir}: {problem}; "
            "choose a folder that can be written with --data-dir"
        ) from None


def _source(config: Config) -> Path:
    """The Parquet file to read; a synthetic market is written where there is none."""
    source, usual = config.data, config.data_dir / USUAL_NAME
    if source is None and usual.exists():
        source = usual
    if source is None:
        source = config.data_dir / synthetic_name(
            config.days, config.stocks, config.seed, config.signal_strength
        )
        if not source.exists():
            write_synthetic_market(
                source,
                days=config.days,
                stocks=config.stocks,
                seed=config.seed,
                signal_strength=config.signal_strength,
            )
    return source


def import_parquet(source: Path, cache: Path) -> Panel:
    """Map the dense panel of a Parquet file, building it once per content of the file."""
    if not source.is_file():
        raise DataError(f"no market data at {source}: give a Parquet file, or leave --data out")
    digest = file_sha256(source)
    folder = cache / digest[:16]
    if not (folder / "panel.json").exists():
        cache.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(prefix=digest[:8], dir=cache))
        try:
            _build_panel(source, staging, digest)
            _publish(staging, folder)
        finally:
            shutil.rmtree(staging, ignore_errors=True)
    return Panel.open(folder)


def file_sha256(path: Path) -> str:
    """SHA-256 of a file, read in 1 MB pieces."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while piece := stream.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


def _publish(staging: Path, folder: Path) -> None:
    try:
        staging.rename(folder)
    except OSError:
        # Another process finished the same import first; its panel has the same content.
        if not (folder / "panel.json").exists():
            raise


def _build_panel(source: Path, folder: Path, digest: str) -> None:
    try:
        file = pq.ParquetFile(source)
    except (pa.ArrowInvalid, OSError) as problem:
        raise DataError(f"{source} is not a Parquet file: {problem}") from None
    features = _feature_names(file, source)
    dates, symbols = _axes(file)
    shape = (len(dates), len(symbols), len(features))
    panel = np.lib.format.open_memmap(folder / "panel.npy", mode="w+", dtype="f4", shape=shape)
    mask = np.zeros(shape[:2], dtype=bool)
    for batch in file.iter_batches(BATCH_ROWS, columns=["date", "symbol", *features]):
        day = np.searchsorted(dates, _dates(batch.column("date")))
        stock = _positions(batch.column("symbol"), symbols)
        for column, name in enumerate(features):
            values = batch.column(name).to_numpy(zero_copy_only=False)
            panel[day, stock, column] = np.nan_to_num(values.astype(np.float32))
        mask[day, stock] = True
    _fill_forward(panel, mask)
    panel.flush()
    np.save(folder / "mask.npy", mask)
    np.save(folder / "dates.npy", dates)
    meta = {"format": FORMAT, "source": source.name, "source_sha256": digest,
            "symbols": symbols, "features": features}  # fmt: skip
    (folder / "panel.json").write_text(json.dumps(meta, indent=1))


def _feature_names(file: pq.ParquetFile, source: Path) -> list[str]:
    schema = file.schema_arrow
    missing = [name for name in ("date", "symbol", *REQUIRED) if name not in schema.names]
    if missing:
        raise DataError(f"{source} lacks the columns {', '.join(missing)}")
    numeric = [
        f.name for f in schema if pa.types.is_floating(f.type) or pa.types.is_integer(f.type)
    ]
    return [name for name in numeric if name not in ("date", "symbol")]


def _axes(file: pq.ParquetFile) -> tuple[np.ndarray, list[str]]:
    """The sorted distinct dates and symbols, seen one batch at a time."""
    dates: set[np.datetime64] = set()
    symbols: set[str] = set()
    for batch in file.iter_batches(BATCH_ROWS, columns=["date", "symbol"]):
        dates.update(np.unique(_dates(batch.column("date"))))
        symbols.update(pc.unique(batch.column("symbol").cast(pa.string())).to_pylist())
    if not dates:
        raise DataError("the market file holds no row")
    return np.array(sorted(dates), dtype="datetime64[D]"), sorted(symbols)


def _dates(column: pa.Array) -> np.ndarray:
    return column.cast(pa.date32()).to_numpy(zero_copy_only=False).astype("datetime64[D]")


def _positions(column: pa.Array, symbols: list[str]) -> np.ndarray:
    index = pc.index_in(column.cast(pa.string()), value_set=pa.array(symbols))
    return index.to_numpy(zero_copy_only=False).astype(np.int64)


def _fill_forward(panel: np.ndarray, mask: np.ndarray) -> None:
    """A day without a row repeats the day before: never a value from the future."""
    seen = mask[0].copy()
    for day in range(1, len(panel)):
        gap = seen & ~mask[day]
        panel[day, gap] = panel[day - 1, gap]
        seen |= mask[day]
