"""`python -m reference_trainer`: train; on request watched, and on request leaking."""

from __future__ import annotations

import dataclasses
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any, get_args, get_origin, get_type_hints

import click

from reference_trainer.allocator import keep_freed_memory
from reference_trainer.config import GYM, METHOD_SETTINGS, PAPER, Config
from reference_trainer.errors import ConfigError, TrainerError
from reference_trainer.hooks import HookChain, Hooks
from reference_trainer.leaks import LEAKS, parse_size, planted
from reference_trainer.seeds import each_seed, outcome_line, parse_seeds, summary, train_seed
from reference_trainer.upload import bucket_from_environment
from reference_trainer.workers import WorkerDied, Workers

if TYPE_CHECKING:
    from reference_trainer.trainer import ERLTrainer

#: Exit statuses: arguments or data that cannot be used; what a shell reports of Ctrl-C and SIGTERM.
UNUSABLE, INTERRUPTED, TERMINATED = 2, 128 + 2, 128 + 15


class OneLineErrors(click.Command):
    """A command whose errors are one line on stderr and exit status 2."""

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run like any click command, but without the usage text before an error."""
        try:
            result = super().main(*args, **{**extra, "standalone_mode": False})
        except click.ClickException as problem:
            _complain(problem.format_message())
        except TrainerError as problem:
            _complain(str(problem))
        except click.Abort:
            sys.exit(INTERRUPTED)
        sys.exit(result if isinstance(result, int) else 0)


def _complain(message: str) -> None:
    click.echo(f"Error: {' '.join(message.split())}", err=True)
    sys.exit(UNUSABLE)


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
@click.option("--seeds", default=None, metavar="LIST",
              help="Train each of these, like 0-9 or 0,3,7-9, in --out/seed_N.")  # fmt: skip
@click.option("--at-once", type=click.IntRange(min=1), default=None,
              help="Seeds that train at once; as many as there are cores without it.")  # fmt: skip
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
@click.option("--method", type=click.Choice(list(METHOD_SETTINGS)), default=Config.method,
              help="How the population comes to its next genomes.")  # fmt: skip
@click.option("--no-evolution", is_flag=True, help="Train the agents, never select among them.")
@click.option("--set", "settings", multiple=True, metavar="FIELD=VALUE",
              help="Any other field of the configuration; repeatable.")  # fmt: skip
@click.option("--guard/--no-guard", default=True, help="Watch the run with leakguard.")
@click.option("--max-env-steps", type=click.IntRange(min=1), default=None,
              help="Stop at exactly this many environment steps.")  # fmt: skip
@click.option("--progress/--no-progress", default=None, help="Progress bars on stderr.")
def main(
    resume: bool,
    guard: bool,
    leaks: str,
    leak_size: str | None,
    seeds: str | None,
    at_once: int | None,
    **options: Any,
) -> None:
    """Train a population of agents by evolutionary reinforcement learning."""
    if at_once is not None and seeds is None:
        raise ConfigError("--at-once says how many seeds train at once: give --seeds")
    if seeds is not None and options["seed"] != Config.seed:
        raise ConfigError("--seed and --seeds both say what to train: give one of them")
    config = build_config(**options)
    if seeds is None:
        _leave_if_stopped(_train(config, build_hooks(guard, leaks, leak_size), resume))
        return
    hooks = partial(build_hooks, guard, leaks, leak_size)
    hooks()  # a wrong name is told before anything begins
    train = partial(_train_seed, hooks=hooks, resume=resume)
    _train_seeds(each_seed(config, parse_seeds(seeds)), train, at_once or _cores())


def build_config(
    *,
    paper_size: bool,
    no_evolution: bool,
    settings: tuple[str, ...],
    progress: bool | None,
    **fields: Any,
) -> Config:
    """The configuration of a command line; raises `ConfigError` on a value that cannot work."""
    changed = dict(parse_setting(text) for text in settings)
    if paper_size:
        fields = {**PAPER, **fields}
    if changed.get("env_id", fields["env_id"]) is not None:
        fields = {**GYM, **fields}
    method = changed.get("method", fields["method"])
    fields = {**fields, **METHOD_SETTINGS.get(method, {})}
    fields["upload"] = fields["upload"] or bucket_from_environment()
    decided = {
        **fields,
        "evolution": not no_evolution,
        "progress": sys.stderr.isatty() if progress is None else progress,
    }
    return Config(**{**decided, **changed})


def build_hooks(guard: bool, leaks: str, leak_size: str | None) -> Hooks:
    """Who takes part in the run: the guard that watches it, and leaks that spoil it."""
    size = None if leak_size is None else parse_size(leak_size)
    hooks = planted([leak.strip() for leak in leaks.split(",") if leak.strip()], size)
    if guard:
        from reference_trainer.watching import Watching

        hooks.insert(0, Watching())
    return HookChain(hooks)


def parse_setting(text: str) -> tuple[str, Any]:
    """A field of the configuration and its value from `FIELD=VALUE`."""
    name, equals, value = text.partition("=")
    kinds = get_type_hints(Config)
    if not equals or name not in kinds:
        raise ConfigError(f"--set {text!r}: no field {name!r}; write FIELD=VALUE with a field of "
                          "the configuration")  # fmt: skip
    may_be_none = isinstance(kinds[name], UnionType)
    kind = get_args(kinds[name])[0] if may_be_none else kinds[name]
    kind = get_origin(kind) or kind
    if may_be_none and value.lower() == "none":
        return name, None
    try:
        return name, _READERS.get(kind, kind)(value)
    except ValueError:
        raise ConfigError(f"--set {name}: {value!r} is not {_KINDS[kind]}") from None


def _truth(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(text)
    return text.lower() == "true"


def _whole(text: str) -> int:
    """An integer, which may be written as 1e6."""
    number = float(text)
    if not number.is_integer():
        raise ValueError(text)
    return int(text) if text.strip().isdecimal() else int(number)


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(",")) if text else ()


#: How a value is read, where its type does not read it itself, and what one is called.
_READERS: dict[type, Callable[[str], Any]] = {bool: _truth, int: _whole, tuple: _sizes}
_KINDS = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    tuple: "sizes: write them like 64,64, or nothing for no layer",
}


def _train(config: Config, hooks: Hooks, resume: bool) -> ERLTrainer:
    from reference_trainer.trainer import ERLTrainer

    if not resume:
        _set_aside(config.out)
    trainer = ERLTrainer(config, hooks=hooks)
    keep_freed_memory(trainer.population.gradient_bytes)
    if resume:
        done = trainer.resume()
        if not done:
            raise ConfigError(f"nothing to resume: no checkpoint in {config.out / 'checkpoints'}")
        click.echo(f"Resuming after generation {done}")
    with on_sigterm(trainer.stop):
        trainer.train()
    return trainer


def _leave_if_stopped(trainer: ERLTrainer) -> None:
    if trainer.stopped:
        click.echo(f"Stopped after generation {trainer.generation}; --resume goes on")
        sys.exit(TERMINATED)


def _train_seed(config: Config, hooks: Callable[[], Hooks], resume: bool) -> ERLTrainer:
    """One of many: with `resume` it goes on where it was, or begins."""
    goes_on = resume and any((config.out / "checkpoints").glob("gen_*"))
    return _train(config, hooks(), goes_on)


def _train_seeds(
    configs: list[Config], train: Callable[[Config], ERLTrainer], at_once: int
) -> None:
    """Each in a process of its own; the first problem of any ends all."""
    from reference_trainer import trainer, watching  # noqa: F401 - once, before the processes fork

    workers = Workers(partial(train_seed, train=train), configs, at_once)
    outcomes = []
    with on_sigterm(workers.stop):
        try:
            for config, outcome in workers:
                outcomes.append(outcome)
                click.echo(outcome_line(config.seed, outcome, config.out))
        except WorkerDied as problem:
            raise TrainerError(f"seed {problem.item.seed} {problem}") from None
    click.echo(summary(outcomes))
    if workers.stopped:
        click.echo("Stopped; --resume goes on")
        sys.exit(TERMINATED)


def _cores() -> int:
    """The cores that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


@contextmanager
def on_sigterm(stop: Callable[[], object]) -> Iterator[None]:
    """Call `stop` on SIGTERM instead of dying: a run finishes its generation first."""
    before = signal.signal(signal.SIGTERM, lambda number, frame: stop())
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


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
