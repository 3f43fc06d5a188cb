"""``leakguard run``: watch any script, unchanged."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from leakguard.errors import UsageError
from leakguard.launch.interpreter import replace_process
from leakguard.launch.plan import Plan


@click.command("run", context_settings={"allow_interspersed_args": False})
@click.option("--phase", "phases", multiple=True, metavar="MODULE:NAME",
              help="A function or method that is a phase, such as trainer:Trainer.evaluate; "
                   "without a module, one of the script itself.")  # fmt: skip
@click.option("--watch", "watches", multiple=True, metavar="MODULE:CLASS",
              help="A class whose live instances are counted.")  # fmt: skip
@click.option("--generation", metavar="MODULE:NAME",
              help="A function whose every call begins a generation.")  # fmt: skip
@click.option("--every", metavar="N", type=click.IntRange(min=1),
              help="Count N calls, steps or resets as one generation.")  # fmt: skip
@click.option("-o", "--output", "out", metavar="FILE|DIR/",
              help="The run file (default: leakguard-SCRIPT.jsonl), or a folder or URL in which "
                   "each process writes its own.")  # fmt: skip
@click.option("--log", metavar="FILE",
              help="Write each generation's text blocks to FILE; - is standard error.")  # fmt: skip
@click.option("-m", "is_module", is_flag=True, help="Run a module, as python -m does.")
@click.argument("program", metavar="SCRIPT")
@click.argument("arguments", nargs=-1, metavar="[ARGS]...", type=click.UNPROCESSED)
def run(
    phases: tuple[str, ...], watches: tuple[str, ...], generation: str | None, every: int | None,
    out: str | None, log: str | None, is_module: bool, program: str, arguments: tuple[str, ...],
) -> int:  # fmt: skip
    """Run SCRIPT with its ARGS, and report at its end what it leaks.

    Its output, its exit status, sys.argv and __main__ are as without leakguard; the report goes to
    standard error. Without --generation, generations are found: epochs and rollouts of known
    frameworks, else optimizer steps, environment resets, or turns of the script's own loop.
    """
    place = _absolute(out or f"leakguard-{Path(program).stem}.jsonl")
    plan = Plan(program, is_module, phases, watches, generation, every, place, log)
    plan.targets()
    _check(program, is_module)
    replace_process(plan, arguments)


def _absolute(out: str) -> str:
    """Return a path that stays right where the script changes its folder; a URL is one."""
    if "://" in out:
        return out
    is_folder = out.endswith("/") or Path(out).is_dir()
    return os.fspath(Path(out).absolute()) + ("/" if is_folder else "")


def _check(program: str, is_module: bool) -> None:
    if not sys.executable:
        raise UsageError("this interpreter does not know its own path, so none can be started")
    if is_module:
        return
    if Path(program).is_dir():
        raise UsageError(f"{program} is a folder; to run a package, write -m {Path(program).name}")
    try:
        with Path(program).open("rb"):
            pass
    except OSError as error:
        raise UsageError(f"cannot read {program}: {error.strerror}") from None
