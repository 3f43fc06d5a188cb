"""The arguments of a guard, checked before the loop begins."""

from __future__ import annotations

import math
import operator
import os
import signal
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, SupportsFloat, TypeAlias, TypeVar, cast, get_args

from leakguard.capture.allocation_sites import Trace
from leakguard.capture.heap.process_copy import fault_seconds, own_seconds
from leakguard.capture.run_queue import queued_seconds
from leakguard.capture.watchlist import Watch, Watchlist
from leakguard.errors import UsageError, shown
from leakguard.live.diagnosing import OnLeak
from leakguard.live.names import plain_text
from leakguard.live.on_signal import SIGNALS
from leakguard.live.project_settings import checked_patterns
from leakguard.live.run_directory import RunDirectory, identity, job_of_environment, run_directory
from leakguard.live.sinks import Log, Sink, checked_sinks, log_sink
from leakguard.model.units import MB, format_bytes, parse_size

Collect: TypeAlias = Literal["suspicion", "never"]
Share: TypeAlias = "float | str | None"
Signal: TypeAlias = "int | str | None"
F = TypeVar("F", bound=Callable[..., object])

# The least ``max_file_size`` in bytes. Chosen: the census of a large process is a line of 0.3 MB,
# and the file must have room for the few lines that are never dropped.
_LEAST_FILE = MB


@dataclass(frozen=True, slots=True)
class Settings:
    """The checked arguments of a guard in their internal form; see ``LeakGuard``."""

    watch: Watchlist
    out: Path | None
    sink: Callable[[str], object] | None
    log_every: int
    large_object: int
    max_overhead: float | None
    on_signal: int | None
    collect: Collect
    trace: Trace
    name: str | None
    ignore: tuple[str, ...]
    on_screen: bool
    on_leak: OnLeak | None
    sinks: tuple[Sink, ...]
    prove: bool
    clock: Callable[[], float]
    max_file_size: int | None = None
    generation_means: str | None = None
    directory: RunDirectory | None = None
    copy_to: str | None = None
    black_box: bool = True

    def for_this_process(self) -> Settings:
        """Return the settings with the file that this process writes in a run directory."""
        if self.directory is None:
            return self
        out, url = self.directory.file_of(identity(self.name).file_name)
        return replace(self, out=out, copy_to=url)

    @property
    def own_clock(self) -> Callable[[], float]:
        """The clock that measures the guard's own cost.

        It is the CPU time of the guard's thread and of the copies in which it looks, unless the
        caller supplies a clock of their own: what a simulated run costs is simulated, too.
        """
        return own_seconds if self._is_of_this_machine else self.clock

    @property
    def queued(self) -> Callable[[], float]:
        """The clock of seconds without a free processor; always 0 with the caller's own clock."""
        return queued_seconds if self._is_of_this_machine else (lambda: 0.0)

    @property
    def faults(self) -> Callable[[], float]:
        """The clock of page faults after looks; always 0 with the caller's own clock."""
        return fault_seconds if self._is_of_this_machine else (lambda: 0.0)

    @property
    def _is_of_this_machine(self) -> bool:
        return getattr(self.clock, "__module__", None) == time.__name__


def checked_settings(
    *,
    watch: Watch,
    out: str | os.PathLike[str] | None,
    log: Log | None,
    log_every: int,
    large_object: str | float,
    max_overhead: Share,
    on_signal: Signal,
    collect: str,
    trace: str,
    name: str | None,
    ignore: Iterable[str],
    report: str | None,
    on_leak: OnLeak | None,
    sinks: Iterable[Sink],
    prove: bool,
    clock: Callable[[], float],
    max_file_size: str | float | None,
    generation_means: str | None,
    black_box: bool,
) -> Settings:
    """Check every argument.

    Raises:
        UsageError: an argument is invalid; the message names it and lists the valid values.
    """
    on_screen = _is_on_screen(report)
    out = job_of_environment() if out is None else out
    directory = run_directory(out)
    return Settings(
        watch=Watchlist(watch),
        out=None if out is None or directory is not None else _path(out),
        sink=log_sink(log),
        log_every=_checked_generations("log_every", log_every),
        large_object=_checked_size("large_object", large_object),
        max_overhead=None if max_overhead is None else _share(max_overhead),
        on_signal=None if on_signal is None else _answered(on_signal, out),
        collect=cast("Collect", _choice("collect", collect, get_args(Collect))),
        trace=cast("Trace", _choice("trace", trace, get_args(Trace))),
        name=None if name is None else plain_text(name),
        ignore=checked_patterns(ignore, "LeakGuard"),
        on_screen=on_screen,
        on_leak=None if on_leak is None else _function("on_leak", on_leak, "a function"),
        sinks=checked_sinks(sinks),
        prove=_flag("prove", prove),
        clock=_function("clock", clock, "a function of seconds"),
        directory=directory,
        max_file_size=None if max_file_size is None else _file_size(max_file_size),
        generation_means=None if generation_means is None else plain_text(generation_means),
        black_box=_flag("black_box", black_box),
    )


def _is_on_screen(report: object) -> bool:
    if report is None or (isinstance(report, str) and report == "stderr"):
        return report is not None
    raise UsageError(f"report={shown(report)} is unknown; use 'stderr' or None")


def _path(out: str | os.PathLike[str]) -> Path:
    try:
        path = Path(out)
    except Exception:
        raise UsageError(f"out= takes a path, not {type(out).__name__}") from None
    if "\0" in str(path):
        raise UsageError(f"out={shown(str(path))} holds a NUL character; choose another path")
    return path


def _file_size(value: object) -> int:
    size = _checked_size("max_file_size", value)
    if size < _LEAST_FILE:
        least = format_bytes(_LEAST_FILE)
        raise UsageError(f"max_file_size={shown(value)} is less than {least}; give more, or None")
    return size


def _checked_size(name: str, value: object) -> int:
    try:
        return parse_size(cast("str | float", value))
    except UsageError:
        raise
    except Exception:
        raise UsageError(f"{name}={shown(value)} is not a size; write '50 MB'") from None


def _checked_generations(name: str, value: object) -> int:
    wanted = UsageError(f"{name}={shown(value)} is not a number of generations, 1 or more")
    try:
        number = operator.index(cast("Any", value))
    except Exception:
        raise wanted from None
    if number < 1 or isinstance(value, bool):
        raise wanted
    return number


def _share(value: object) -> float:
    """Return 0.01 for 0.01, ``"0.01"``, ``"1%"`` and ``"1 %"``."""
    wanted = UsageError(
        f"max_overhead={shown(value)} is not a share between 0 and 1; write 0.01 or '1%', or None"
    )
    text = str(value).strip() if isinstance(value, str) else ""
    try:
        if text.endswith("%"):
            share = float(text[:-1]) / 100
        else:
            share = float(cast("SupportsFloat", value))
    except Exception:
        raise wanted from None
    if isinstance(value, bool) or not (math.isfinite(share) and 0 < share <= 1):
        raise wanted
    return share


def _signal(value: object) -> int:
    """Return the number of a signal given as a number, as ``"SIGUSR1"`` or as ``"USR1"``."""
    if isinstance(value, str):
        text = value.strip().upper()
        number = getattr(signal, text if text.startswith("SIG") else f"SIG{text}", None)
    else:
        try:
            number = operator.index(cast("Any", value))
        except Exception:
            number = None
    if number in SIGNALS and not isinstance(value, bool):
        return int(cast("int", number))
    names = ", ".join(sorted(repr(signal.Signals(known).name) for known in SIGNALS))
    raise UsageError(f"on_signal={shown(value)} is no signal a guard answers; use one of {names}")


def _answered(value: object, out: object) -> int:
    number = _signal(value)
    if out is None:
        raise UsageError("on_signal= needs out=, the file where the answer is written")
    return number


def _choice(name: str, value: object, choices: tuple[str, ...]) -> str:
    if name == "trace" and (value is None or value is False):
        return "off"
    if isinstance(value, str) and value in choices:
        return value
    listed = ", ".join(repr(choice) for choice in choices)
    raise UsageError(f"{name}={shown(value)} is unknown; use one of {listed}")


def _flag(name: str, value: object) -> bool:
    if isinstance(value, bool):
        return value
    raise UsageError(f"{name}={shown(value)} is neither True nor False")


def _function(name: str, value: F, wanted: str) -> F:
    if not callable(value):
        raise UsageError(f"{name}= takes {wanted}, not {type(value).__name__}")
    return value
