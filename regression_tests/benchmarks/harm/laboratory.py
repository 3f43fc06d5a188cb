"""Plays a program by turns unwatched and watched, where this machine can."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from packaging.specifiers import SpecifierSet

from regression_tests.benchmarks.harm.comparison import Row, compared
from regression_tests.benchmarks.harm.playing import ROOT, Played, Playing
from regression_tests.benchmarks.harm.program import Program

# Seconds in which an unwatched program must end, and what a watched one gets beside ten times that.
_SECONDS, _TIMES, _MORE = 180.0, 10.0, 45.0
# Beside two busy processes on two cores there is a third or half of one left.
_LOADED = 3.0
_ASKED = """
import importlib.util, json, platform, sys
known = [name for name in sys.argv[1:] if importlib.util.find_spec(name) is None]
print(json.dumps([platform.python_version(), known]))
"""


@dataclass(frozen=True, slots=True)
class Laboratory:
    """Plays with one interpreter, each program ``times`` times."""

    python: str
    times: int = 1
    threads: int = 1
    loaded: bool = False

    def rows(self, program: Program, hows: Sequence[str]) -> Iterator[Row]:
        """Play a program in each of the ways that it is meant for; the unwatched turns are shared.

        Raises:
            RuntimeError: it does not end by itself when nobody watches.
        """
        version, refusal = self._refusal(program)
        wanted = [how for how in hows if how in (*program.how, "off")]
        if refusal is not None:
            yield from (
                Row(program.name, program.kind, how, version, skipped=refusal) for how in wanted
            )
            return
        _compile(self.python)
        turns = [self._turn(program, wanted) for _ in range(self.times)]
        for how in wanted:
            yield compared(program, how, version, [(turn["alone"], turn[how]) for turn in turns])

    def _turn(self, program: Program, hows: Sequence[str]) -> dict[str, Played]:
        # Nobody is taken to hang who only waits for a core.
        crowd = os.getloadavg()[0] / (os.cpu_count() or 1)
        slower = max(_LOADED if self.loaded else 1.0, crowd)
        alone = Playing(self.python, "alone", _SECONDS * slower, self.threads).play(program)
        if alone.ended.status is None:
            raise RuntimeError(f"{program.name} does not end by itself")
        allowed = program.limits["wall_s"].slack
        took = alone.ended.wall_s + alone.ended.queued_s
        patience = _TIMES * took + (allowed + _MORE) * slower
        return {"alone": alone} | {
            how: Playing(self.python, how, patience, self.threads).play(program) for how in hows
        }

    def _refusal(self, program: Program) -> tuple[str, str | None]:
        """Return the interpreter's version, and why it cannot play the program, if so."""
        version, missing = _asked(self.python, program.needs)
        if missing:
            return version, f"needs {', '.join(missing)}"
        if not SpecifierSet(program.pythons).contains(version):
            return version, f"is about CPython {program.pythons}"
        return version, None


@cache
def _compile(python: str) -> None:
    """Have leakguard in bytecode, as it is once installed: to compile it costs seconds of CPU."""
    subprocess.run([python, "-m", "compileall", "-q", os.fspath(ROOT / "leakguard")], check=True)


@cache
def _asked(python: str, modules: tuple[str, ...]) -> tuple[str, list[str]]:
    command = [python, "-c", _ASKED, *modules]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    version, missing = json.loads(done.stdout)
    return version, missing
