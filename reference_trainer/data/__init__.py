"""Market data: a long Parquet file becomes one dense, read-only, memory-mapped panel."""

from __future__ import annotations

from reference_trainer.data.panel import Panel, Split, split_days
from reference_trainer.data.parquet import import_parquet, open_market
from reference_trainer.data.synthetic import write_synthetic_market

__all__ = [
    "Panel",
    "Split",
    "import_parquet",
    "open_market",
    "split_days",
    "write_synthetic_market",
]
