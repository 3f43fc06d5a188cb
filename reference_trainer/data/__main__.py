"""`python -m reference_trainer.data synth|import|inspect`."""

from __future__ import annotations

from pathlib import Path

import click

from reference_trainer.command import OneLineGroup
from reference_trainer.data.panel import Panel
from reference_trainer.data.parquet import import_parquet
from reference_trainer.data.synthetic import write_synthetic_market


@click.group(cls=OneLineGroup)
def main() -> None:
    """Make, import and look at market data."""


@main.command()
@click.argument("path", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--days", default=3781, show_default=True, type=click.IntRange(min=30))
@click.option("--stocks", default=669, show_default=True, type=click.IntRange(min=1))
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0))
@click.option("--signal-strength", default=0.0, show_default=True, type=click.FloatRange(0, 0.99),
              help="Correlation of score and tomorrow's return; 0 is pure noise.")  # fmt: skip
def synth(path: Path, days: int, stocks: int, seed: int, signal_strength: float) -> None:
    """Write a seeded synthetic market as Parquet."""
    write_synthetic_market(
        path, days=days, stocks=stocks, seed=seed, signal_strength=signal_strength
    )
    click.echo(f"{path}: {days} days x {stocks} stocks, {path.stat().st_size / 1e6:.1f} MB")


@main.command("import")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--cache", default=Path("data/cache"), type=click.Path(path_type=Path))
def import_(path: Path, cache: Path) -> None:
    """Turn a long Parquet file into a dense memory-mapped panel (once per content)."""
    panel = import_parquet(path, cache)
    click.echo(f"{panel.folder}: {panel.data_array.shape}, {panel.data_array.nbytes / 1e6:.1f} MB")


@main.command()
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--cache", default=Path("data/cache"), type=click.Path(path_type=Path))
def inspect(path: Path, cache: Path) -> None:
    """Say what a Parquet file or an imported panel holds."""
    panel = Panel.open(path) if path.is_dir() else import_parquet(path, cache)
    click.echo(f"days      {panel.days} ({panel.dates[0]} to {panel.dates[-1]})")
    click.echo(f"stocks    {panel.stocks} ({panel.symbols[0]} to {panel.symbols[-1]})")
    click.echo(f"features  {', '.join(panel.features)}")
    click.echo(f"size      {panel.data_array.nbytes / 1e6:.1f} MB float32, memory-mapped")
    click.echo(f"observed  {float(panel.mask.mean()):.1%} of all cells")


if __name__ == "__main__":
    main(prog_name="python -m reference_trainer.data")
