"""``leakguard run``: watch any script, unchanged."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from leakguard.errors import UsageError
from leakguard.launch.interpreter import replace_process
from leakguard.launch.plan import STANDARD_INPUT, Form, Plan
from leakguard.launch.program import place_of_modules
from leakguard.live.run_directory import job_of_environment


@click.command("run", context_settings={"allow_interspersed_args": False})
@click.option("--phase", "phases", multiple=True, metavar="MODULE:NAME",
              help="A function or method to treat as a phase, such as trainer:Trainer.evaluate; "
                   "without a module, it is one of the script itself.")  # fmt: skip
@click.option("--watch", "watches", multiple=True, metavar="MODULE:CLASS",
              help="A class whose live instances are counted.")  # fmt: skip
@click.option("--generation", metavar="MODULE:NAME",
              help="A function whose every call begins a generation.")  # fmt: skip
@click.option("--every", metavar="N", type=click.IntRange(min=1),
              help="Count N calls, steps or resets as one generation.")  # fmt: skip
@click.option("-o", "--output", "out", metavar="FILE|DIR/",
              help="The run file (default: leakguard-SCRIPT.jsonl), or a folder or URL in which "
                   "each process writes its own (default: LEAKGUARD_JOB).")  # fmt: skip
@click.option("--log", metavar="FILE",
              help="Write each generation's text blocks to FILE; - is standard error.")  # fmt: skip
@click.option("-m", "form", flag_value="module", help="SCRIPT is a module, as for python -m.")
@click.option("-c", "form", flag_value="command", help="SCRIPT is program text, as for python -c.")
@click.argument("program", metavar="SCRIPT")
@click.argument("arguments", nargs=-1, metavar="[ARGS]...", type=click.UNPROCESSED)
def run(
    phases: tuple[str, ...], watches: tuple[str, ...], generation: str | None, every: int | None,
    out: str | None, log: str | None, form: Form | None, program: str, arguments: tuple[str, ...],
) -> int:  # fmt: skip
    """Run SCRIPT with its ARGS, and report at its end what it leaks.

    SCRIPT is what python runs: a file, a folder or zip archive with __main__.py, - for standard
    input, a module after -m, program text after -c.

    Its output, its exit status, sys.argv and __main__ are as without leakguard; the report goes to
    standard error. Without --generation, generations are found: steps of known
    frameworks, else optimizer steps, environment resets, or turns of the script's own loop.
    """
    form = form or "path"
    usual = job_of_environment() or f"leakguard-{_short_name(program, form)}.jsonl"
    place = _absolute(out or usual)
    plan = Plan(program, form, phases, watches, generation, every, place, log)
    plan.targets()
    _check(program, form)
    replace_process(plan, arguments)


def _short_name(program: str, form: Form) -> str:
    """Return the name of the program for the name of the run file."""
    if form == "command":
        return "command"
    if form == "path" and program == STANDARD_INPUT:
        return "stdin"
    return Path(program).stem or Path(program).resolve().stem


def _absolute(out: str) -> str:
    """Return ``out`` as an absolute path, which stays valid if the script changes its folder.

    A URL is returned unchanged.
    """
    if "://" in out:
        return out
    is_folder = out.endswith("/") or Path(out).is_dir()
    return os.fspath(Path(out).absolute()) + ("/" if is_folder else "")


def _check(program: str, form: Form) -> None:
    if not sys.executable:
        raise UsageError("this interpreter does not know its own path, so none can be started")
    if form != "path" or program == STANDARD_INPUT:
        return
    place = place_of_modules(program)
    if place is not None:
        if place.find_spec("__main__") is None:
            raise UsageError(
                f"{program} has no __main__.py; give a file in it, or a module with -m NAME"
            )
        return
    try:
        with Path(program).open("rb"):
            pass
    except OSError as error:
        raise UsageError(f"cannot read {program}: {error.strerror}") from None
