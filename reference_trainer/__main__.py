"""`python -m reference_trainer`: train, and optionally leak."""

from __future__ import annotations

import dataclasses
import shutil
import sys
from pathlib import Path
from typing import Any

import click

from reference_trainer.allocator import keep_freed_memory
from reference_trainer.command import OneLineErrors
from reference_trainer.config import GYM, PAPER, Config
from reference_trainer.errors import ConfigError
from reference_trainer.leaks import LEAKS
from reference_trainer.sizes import parse_size
from reference_trainer.upload import bucket_from_environment

#: What a shell reports for a process that SIGTERM ended.
TERMINATED = 128 + 15


def _epilog() -> str:
    leaks = [f"  {name:<20} {leak.__doc__}" for name, leak in LEAKS.items()]
    fields = [f"  {field.name}={field.default}" for field in dataclasses.fields(Config)]
    return "\b\nLeaks:\n" + "\n".join(leaks) + "\n\n\b\nFields for --set:\n" + "\n".join(fields)


@click.command(
    cls=OneLineErrors,
    context_settings={"show_default": True, "max_content_width": 100},
    epilog=_epilog(),
)
@click.option("--generations", type=click.IntRange(min=1), default=Config.generations)
@click.option("--seed", type=click.IntRange(min=0), default=Config.seed)
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), default=Config.out,
              help="Folder for checkpoints, metrics, plots and run.jsonl.")  # fmt: skip
@click.option("--resume", is_flag=True, help="Go on from the newest checkpoint in --out.")
@click.option(
    "--leak",
    "leaks",
    default="",
    metavar="NAME[=SIZE][,NAME[=SIZE]]",
    help="Leaks to switch on, each with a size of its own if need be; listed below.",
)
@click.option("--leak-size", default=None, metavar="SIZE",
              help='Bytes a generation that a leak keeps, e.g. "20 MB".')  # fmt: skip
@click.option("--paper-size", is_flag=True, help="The sizes of the original trainer.")
@click.option("--force", is_flag=True, help="Run even if memory looks too small.")
@click.option("--upload", default=None, metavar="URL",
              help="Send checkpoints to gs://, s3:// or file://; CLOUD_PROVIDER and CLOUD_BUCKET "
              "set it too.")  # fmt: skip
@click.option("--data", type=click.Path(path_type=Path), default=None,
              help="Long Parquet file; a synthetic market without it.")  # fmt: skip
@click.option("--data-dir", type=click.Path(path_type=Path), default=Config.data_dir,
              help="Folder for the synthetic market and imported panels.")  # fmt: skip
@click.option("--signal-strength", type=float, default=Config.signal_strength,
              help="Correlation of the market's score with tomorrow's return.")  # fmt: skip
@click.option("--env", "env_id", default=None, metavar="GYM_ID",
              help="A Gymnasium task instead of trading.")  # fmt: skip
@click.option("--workers", type=click.IntRange(min=0), default=Config.workers,
              help="Processes that evaluate the population; 0 uses this one, or with "
              "--engine ray every core of the cluster.")  # fmt: skip
@click.option("--engine", type=click.Choice(["local", "ray"]), default=Config.engine,
              help="Where the population plays; ray needs the extra [ray].")  # fmt: skip
@click.option("--algorithm", type=click.Choice(["ddpg", "td3"]), default=Config.algorithm)
@click.option("--no-evolution", is_flag=True, help="Train the agents, never select among them.")
@click.option("--set", "settings", multiple=True, metavar="FIELD=VALUE",
              help="Any other field of the configuration; repeatable.")  # fmt: skip
@click.option("--guard/--no-guard", default=True, help="Watch the run with leakguard.")
@click.option("--max-env-steps", type=click.IntRange(min=1), default=None,
              help="Stop at exactly this many environment steps.")  # fmt: skip
@click.option("--tensorboard", type=click.Path(path_type=Path, file_okay=False), default=None,
              metavar="DIR", help="Write scalars for TensorBoard there.")  # fmt: skip
@click.option("--progress/--no-progress", default=None, help="Progress bars on stderr.")
def main(resume: bool, **options: Any) -> None:
    """Train a population of agents by evolutionary reinforcement learning."""
    _train(build_config(**options), resume)


def build_config(
    *,
    leaks: str,
    leak_size: str | None,
    paper_size: bool,
    no_evolution: bool,
    settings: tuple[str, ...],
    progress: bool | None,
    **fields: Any,
) -> Config:
    """The configuration of a command line; raises `ConfigError` on a value that cannot work."""
    if paper_size:
        fields = {**PAPER, **fields}
    if fields["env_id"] is not None:
        fields = {**GYM, **fields}
    fields["upload"] = fields["upload"] or bucket_from_environment()
    config = Config(
        **fields,
        leaks=_leaks(leaks),
        leak_size=None if leak_size is None else parse_size(leak_size),
        evolution=not no_evolution,
        progress=sys.stderr.isatty() if progress is None else progress,
    )
    return dataclasses.replace(config, **dict(_setting(text) for text in settings))


def _leaks(text: str) -> tuple[str, ...]:
    leaks = tuple(leak.strip() for leak in text.split(",") if leak.strip())
    for leak in leaks:
        name, _, size = leak.partition("=")
        if name not in LEAKS:
            raise ConfigError(f"no leak called {name!r}: choose from {', '.join(LEAKS)}")
        if size:
            parse_size(size)
    return leaks


def _setting(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    kinds = {field.name: field.default for field in dataclasses.fields(Config)}
    if not equals or name not in kinds:
        raise ConfigError(f"--set {text!r}: no field {name!r}; write FIELD=VALUE with a field of "
                          "the configuration")  # fmt: skip
    try:
        return name, _converted(value, kinds[name])
    except ValueError:
        kind = type(kinds[name]).__name__
        raise ConfigError(f"--set {name}: {value!r} is not a {kind}") from None


def _converted(value: str, default: Any) -> Any:
    if isinstance(default, bool):
        if value.lower() not in ("true", "false"):
            raise ValueError(value)
        return value.lower() == "true"
    if isinstance(default, tuple):
        return tuple(int(part) for part in value.split(","))
    if default is None:
        number = float(value)
        return int(number) if number.is_integer() else number
    return type(default)(value)


def _train(config: Config, resume: bool) -> None:
    from reference_trainer.trainer import ERLTrainer

    if not resume:
        _set_aside(config.out)
    trainer = ERLTrainer(config)
    keep_freed_memory(trainer.population.gradient_bytes)
    if resume:
        done = trainer.resume()
        if not done:
            raise ConfigError(f"nothing to resume: no checkpoint in {config.out / 'checkpoints'}")
        click.echo(f"Resuming after generation {done}")
    trainer.train()
    if trainer.stopped:
        click.echo(f"Stopped after generation {trainer.generation}; --resume goes on")
        sys.exit(TERMINATED)


def _set_aside(out: Path) -> None:
    """A fresh run keeps the checkpoints of the last one in `checkpoints.old`."""
    old, new = out / "checkpoints.old", out / "checkpoints"
    if new.exists():
        shutil.rmtree(old, ignore_errors=True)
        new.rename(old)
    for name in ("metrics.jsonl", "run.jsonl"):
        (out / name).unlink(missing_ok=True)


if __name__ == "__main__":
    main(prog_name="python -m reference_trainer")
