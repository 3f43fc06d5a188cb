"""What is true of each run, as it stands beside the archive: a line a run, for people and diffs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from regression_tests.benchmarks.leakbench.program import Planted, Truth

KEYS = Path(__file__).with_name("keys.jsonl")
#: One run of so many is set aside: nobody looks at it while a rule is written.
ASIDE = 5


@dataclass(frozen=True, slots=True)
class Key:
    """The truth about one run of the corpus, or the reason why there is no such run.

    Attributes:
        run: its name, ``SET/PROGRAM-SIDE``.
        file: a piece of the path of the program's file, or of its package.
        truths: what leaks; nothing where the run is calm.
        skipped: why it is not in the archive; None where it is.
    """

    run: str
    file: str
    truths: tuple[Truth, ...] = ()
    skipped: str | None = None

    @property
    def group(self) -> str:
        """The name of the set."""
        return self.run.partition("/")[0]

    @property
    def planted(self) -> Planted:
        """The truth, as the scoring of LeakBench takes it."""
        return Planted(self.run, self.file, self.truths)


def is_aside(run: str) -> bool:
    """Return whether the run of that name is set aside, by a rule that nobody can bend."""
    return int(hashlib.sha256(run.encode()).hexdigest(), 16) % ASIDE == 0


def read_keys(path: Path = KEYS) -> dict[str, Key]:
    """Return the keys by the names of their runs."""
    lines = path.read_text(encoding="utf-8").splitlines()
    keys = map(_key, map(json.loads, lines))
    return {key.run: key for key in keys}


def write_keys(keys: Iterable[Key], path: Path = KEYS) -> None:
    """Write the keys, by name."""
    lines = [json.dumps(_told(key)) for key in sorted(keys, key=lambda key: key.run)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _told(key: Key) -> dict[str, Any]:
    if key.skipped is not None:
        return {"run": key.run, "skipped": key.skipped}
    told: dict[str, Any] = {"run": key.run, "file": key.file}
    return told | ({"leaks": [_leak(truth) for truth in key.truths]} if key.truths else {})


def _key(told: Mapping[str, Any]) -> Key:
    truths = tuple(_truth(leak) for leak in told.get("leaks", ()))
    return Key(told["run"], told.get("file", ""), truths, told.get("skipped"))


def _leak(truth: Truth) -> dict[str, Any]:
    """Return what is known of a leak; what is as a :class:`Truth` has it by default is left out."""
    told = {field.name: getattr(truth, field.name) for field in fields(Truth)}
    defaults = {field.name: field.default for field in fields(Truth)} | {"phase": ()}
    return {name: value for name, value in told.items() if value != defaults[name]}


def _truth(leak: Mapping[str, Any]) -> Truth:
    words = {name: tuple(v) if isinstance(v, list) else v for name, v in leak.items()}
    return Truth(**{"phase": ()} | words)
