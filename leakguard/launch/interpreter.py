"""The fresh interpreter in which the program runs, and its first actions."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from types import CodeType
from typing import NoReturn

from leakguard.errors import LeakguardError
from leakguard.launch.plan import Plan
from leakguard.live.off_switch import is_switched_off

# Given by ``-c`` and not by ``-m``, so that an interrupt ends the process as it ends a script.
_BEGIN = "from leakguard.launch.interpreter import begin; begin()"
_UNUSABLE = 2


def replace_process(plan: Plan, arguments: Sequence[str]) -> NoReturn:
    """Become a fresh interpreter that runs the plan: same process, same streams, same environment.

    The imports that this process needed for the command line are no part of the program. With
    guards switched off it is the interpreter that runs the program alone, without this package.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    flags: list[str] = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    what = plan.as_for_python() if is_switched_off() else ("-c", _BEGIN, plan.to_json())
    os.execv(sys.executable, [sys.executable, *flags, *what, *arguments])


def begin() -> None:
    """Run the plan in the first argument; the other arguments are the program's.

    The imports are in this function because the command line, which only starts this interpreter,
    does not need them.
    """
    from leakguard.launch.main_code import compiled
    from leakguard.launch.program import Program
    from leakguard.launch.watching import Watching

    plan, arguments = Plan.from_json(sys.argv[1]), sys.argv[2:]
    watching = Watching(plan)
    try:
        watching.start()
        changes = watching.changes_of_main()
    except LeakguardError as error:
        stop(error)

    def compile_(source: bytes | str, file: str) -> CodeType:
        try:
            return compiled(source, file, changes, watching.loops_of(file), watching.mentioned)
        except LeakguardError as error:
            stop(error)

    Program(plan.program, plan.form, arguments, compile_).run()
    watching.program_ended()


def stop(error: LeakguardError) -> NoReturn:
    """End before the program has begun, with one line."""
    print(f"leakguard: {error}", file=sys.stderr)
    os._exit(_UNUSABLE)
