"""Makes one state in this process, asks what may go, and prints what the statements freed.

    python -m regression_tests.benchmarks.states.asked PROGRAM COUNT

The cells of a program begin with ``# %%``; a cell ``# %% fails`` is to raise. A program with the
line ``# notebook`` runs in a shell of IPython, each other one as at Python's own prompt.
"""

from __future__ import annotations

import code
import contextlib
import ctypes
import gc
import io
import json
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from leakguard.capture.allocator import allocator_memory, pool_memory

PROGRAMS = Path(__file__).parent / "programs"
# Not a name of a variable that a program would have, and taken away once it was read.
_ANSWER = "__states_answer__"
Run = Callable[[str, str], None]


def prompt() -> Run:
    """Return what runs a cell in a new main module, as Python's prompt does."""
    main = ModuleType("__main__")
    sys.modules["__main__"] = main
    interpreter = code.InteractiveInterpreter(vars(main))
    return lambda cell, name: interpreter.runcode(compile(cell, name, "exec"))


def notebook() -> Run:
    """Return what runs a cell in a shell of IPython, whose module becomes the main module."""
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()
    return lambda cell, name: _quietly(shell, cell)


def _quietly(shell: Any, cell: str) -> None:
    with contextlib.redirect_stdout(io.StringIO()):
        shell.run_cell(cell, store_history=True)


def in_use() -> int:
    """Return the bytes that the allocators have handed out."""
    return int(allocator_memory()["heap_in_use"] + pool_memory()["python_in_use"])


def resident() -> int:
    """Return the bytes of the process in memory, after the allocator gave back what it can."""
    ctypes.CDLL(None).malloc_trim(0)
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def set_up(run: Run, source: str, name: str) -> None:
    """Run the cells of a program; a cell fails exactly if its first line says so."""
    for cell in re.split(r"^# %%", source, flags=re.MULTILINE):
        fails = cell.startswith(" fails")
        with contextlib.redirect_stderr(io.StringIO()) as errors:
            run(f"#{cell}" if fails else cell.lstrip(), name)
        if not fails and errors.getvalue():
            raise RuntimeError(errors.getvalue())


def ask(run: Run) -> tuple[Any, float]:
    """Return what may go, and the seconds that the question took."""
    began = time.perf_counter()
    run(f"{_ANSWER} = __import__('leakguard').now()", "<ask>")
    took = time.perf_counter() - began
    return vars(sys.modules["__main__"]).pop(_ANSWER), took


def follow(run: Run, statement: str) -> dict[str, int]:
    """Run a statement, and return the bytes that came free in the allocators and in the process."""
    gc_before, rss_before = in_use(), resident()
    with contextlib.redirect_stderr(io.StringIO()) as errors:
        run(statement, "<statement>")
    gc.collect()
    freed = {"freed": gc_before - in_use(), "resident": rss_before - resident()}
    return {**freed, "failed": bool(errors.getvalue())}


def main(program: str, count: int) -> None:
    """Print, as JSON, the ranking, the seconds, and what the first ``count`` statements freed."""
    source = (PROGRAMS / f"{program}.py").read_text(encoding="utf-8")
    run = notebook() if "\n# notebook\n" in source else prompt()
    set_up(run, source, program)
    gc.collect()
    told, took = ask(run)
    ranked = [
        {"kind": h.kind, "what": h.what, "statement": h.statement, "bytes": h.bytes}
        for h in told.ranked
    ]
    freed = [follow(run, entry["statement"]) for entry in ranked[:count]]
    print(json.dumps({"ranked": ranked, "seconds": took, "freed": freed}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
