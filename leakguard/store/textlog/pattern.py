"""Reads a log by the user's own regular expression, in a process that can be stopped.

A pattern such as ``(a+)+b`` may take years for one line, and nothing in this process could
interrupt it. The matching therefore runs in another process, which stops itself at a line that
takes too long.

    python -m leakguard.store.textlog.pattern REGEX FILE
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import FrameType

from leakguard.errors import UnreadableRun, UsageError, shown
from leakguard.model import Run, Watched
from leakguard.store.textlog.file import open_log
from leakguard.store.textlog.line import Speaker
from leakguard.store.textlog.moment import NO_ROUNDS, Draft, Rounds
from leakguard.store.textlog.number import parse_bytes, parse_count, parse_number
from leakguard.store.textlog.runs import Runs

_BATCH = 500  # lines between two restarts of the alarm
_SECONDS_A_BATCH = 5.0  # for one batch: five thousand times what a plain pattern needs
_BACKSTOP = 600.0  # seconds after which this process ends the other one, whatever that does
_LONGEST_LINE = 1 << 16  # characters of a line that are searched

_ROUNDS = ("generation", "epoch", "step")
_SIZES = {"ram": "rss", "rss": "rss", "vms": "vms", "gpu": "gpu_allocated", "peak": "peak"}
_UNITS = {"b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9,
          "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30}  # fmt: skip
_OTHERS = ("phase", "count", "type")
#: The number of a line, counted from 1, and the text of each group that matched in it.
Match = tuple[int, dict[str, str]]

#: The group names that ``--pattern`` may have, as its help lists them.
GROUPS = (
    "ram, vms, gpu, peak (a number with its unit, or named ram_mb, ram_mib, ram_gb ...), "
    "generation, epoch, step, phase, count, type"
)


def matched_apart(path: Path, pattern: str) -> Iterator[Match]:
    """Yield the matches in a log, found by a process that can be stopped.

    Raises:
        UsageError: the pattern takes too long.
        UnreadableRun: the log is missing, empty or damaged.
    """
    with open_log(path):
        pass  # a log that cannot be read raises here, with a message of one line
    for told in _output(path, pattern).splitlines():
        number, found = json.loads(told)
        yield number, found


def read_pattern(
    path: Path,
    pattern: str,
    matches: Callable[[Path, str], Iterator[Match]] = matched_apart,
) -> list[Run]:
    """Read a log by ``pattern``: each match with a value is a moment, in the last named round.

    Raises:
        UsageError: the pattern is invalid, has no known group name, or takes too long.
        UnreadableRun: nothing in the log matches.
    """
    groups = _checked(pattern)
    runs, rounds, phase = Runs(), NO_ROUNDS, None
    for number, found in matches(path, pattern):
        rounds, phase = _place(found, rounds, phase)
        draft = Draft.single(rounds, phase, number)
        if _fill(draft, found):
            runs.singles.add(Speaker(), draft)
    read = runs.finish()
    if not read:
        raise UnreadableRun(
            f"no line of {path} gives a value by {_quoted(pattern)}; "
            f"its groups are {', '.join(groups)}"
        )
    return read


def matched(pattern: str, lines: Iterable[str]) -> Iterator[Match]:
    """Yield the matches in lines; only a signal can stop a pattern that takes too long."""
    find = re.compile(pattern).finditer
    for number, line in enumerate(lines, 1):
        for match in find(line[:_LONGEST_LINE]):
            found = {name: text for name, text in match.groupdict().items() if text is not None}
            yield number, found


def _quoted(pattern: str) -> str:
    """Return the pattern as the user wrote it: a doubled backslash would be another pattern."""
    return shown(pattern).replace("\\\\", "\\")


def _checked(pattern: str) -> list[str]:
    try:
        with warnings.catch_warnings():
            # a warning about later Python versions does not matter here
            warnings.simplefilter("ignore")
            groups = list(re.compile(pattern).groupindex)
    except (re.error, OverflowError, RecursionError) as error:
        deep = isinstance(error, RecursionError)
        why = "it is nested too deeply" if deep else _printable(str(error))
        raise UsageError(f"--pattern {_quoted(pattern)} is no regular expression: {why}") from None
    unknown = [name for name in groups if not _is_known(name)]
    if unknown or not groups:
        what = f"has an unknown group {unknown[0]!r}" if unknown else "names no group"
        raise UsageError(f"--pattern {_quoted(pattern)} {what}; name groups (?P<...>): {GROUPS}")
    return groups


def _printable(text: str) -> str:
    """Return a message that may quote the pattern, with its unprintable characters escaped."""
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


def _is_known(name: str) -> bool:
    size, _, unit = name.partition("_")
    return name in (*_ROUNDS, *_OTHERS) or (size in _SIZES and (not unit or unit in _UNITS))


def _place(
    found: Mapping[str, str], rounds: Rounds, phase: str | None
) -> tuple[Rounds, str | None]:
    """Return the round and the phase after a match: a new round ends the phase."""
    for group, field in zip(_ROUNDS, Rounds._fields, strict=True):
        number = parse_count(found.get(group, ""))
        if number is not None and number != getattr(rounds, field):
            rounds, phase = rounds._replace(**{field: number}), None
    return rounds, found.get("phase") or phase


def _fill(draft: Draft, found: Mapping[str, str]) -> bool:
    """Put the values of a match into a draft; return whether there is a value."""
    for group, text in found.items():
        size, _, unit = group.partition("_")
        if size in _SIZES and (value := _size_with_unit(text, unit)) is not None:
            draft.metrics[_SIZES[size]] = value
    count = parse_count(found.get("count", ""))
    if count is not None:
        draft.watched[found.get("type") or "counted"] = Watched(count)
    return bool(draft.metrics or draft.watched)


def _size_with_unit(text: str, unit: str) -> int | None:
    if not unit:
        return parse_bytes(text) or parse_count(text)
    value = parse_number(text)
    return None if value is None else round(value * _UNITS[unit])


def _output(path: Path, pattern: str) -> bytes:
    command = [sys.executable, "-m", "leakguard.store.textlog.pattern", pattern, str(path)]
    own = str(Path(__file__).parents[3])
    search = os.pathsep.join(filter(None, (own, os.environ.get("PYTHONPATH"))))
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            check=False,
            timeout=_BACKSTOP,
            env={**os.environ, "PYTHONPATH": search},
        )
    except subprocess.TimeoutExpired:
        raise UsageError(_too_slow(pattern, f"{path} in {_BACKSTOP:.0f} s")) from None
    if done.returncode:
        line = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
        raise UsageError(_too_slow(pattern, line[0] if line else f"{path}"))
    return done.stdout


def _too_slow(pattern: str, where: str) -> str:
    return (
        f"--pattern {shown(pattern)} did not come to an end over {where}: a repeat inside of a "
        "repeat, such as (a+)+, is the usual cause"
    )


def _match_all(pattern: str, path: Path) -> int:
    """Print each match as ``[line number, {group: text}]``; stop at a line that takes too long."""
    number = 0

    def too_long(_: int, __: FrameType | None) -> None:
        print(f"line {number} of {path}", file=sys.stderr, flush=True)
        os._exit(1)

    def watched() -> Iterator[str]:
        nonlocal number
        for number, line in enumerate(_lines(path), 1):
            if number % _BATCH == 1:
                signal.setitimer(signal.ITIMER_REAL, _SECONDS_A_BATCH)
            yield line

    signal.signal(signal.SIGALRM, too_long)
    for match in matched(pattern, watched()):
        print(json.dumps(match))
    return 0


def _lines(path: Path) -> Iterator[str]:
    """Yield the lines of a log in any encoding that the log reader supports."""
    buffer, rest = bytearray(1 << 20), b""
    with open_log(path) as file:
        while count := file.readinto(memoryview(buffer)) or 0:
            *lines, rest = (rest + bytes(buffer[:count])).split(b"\n")
            yield from (line.decode("utf-8", "replace").rstrip("\r") for line in lines)
    if rest:
        yield rest.decode("utf-8", "replace")


if __name__ == "__main__":
    sys.exit(_match_all(sys.argv[1], Path(sys.argv[2])))
