"""The page of the settings, written from the guard's signature and docstring."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

from leakguard import LeakGuard
from leakguard.integrations.pytest_plugin import HELP, INI

_TOP = """# Settings

## Arguments of LeakGuard

| Argument | Default | Meaning |
|---|---|---|
"""

_ARGUMENT = re.compile(r"^    (\w+): (.+?)(?=^    \w+: |\Z)", re.M | re.S)


def page() -> str:
    """Return the page: the guard, the environment, the project file, the pytest plugin."""
    return _TOP + "".join(_arguments()) + _elsewhere()


def _arguments() -> Iterator[str]:
    defaults = inspect.signature(LeakGuard.__init__).parameters
    text = inspect.cleandoc(LeakGuard.__init__.__doc__ or "")
    for name, meaning in _ARGUMENT.findall(text.split("Args:\n")[1].split("\n\n")[0] + "\n"):
        default = defaults[name].default
        shown = default.__name__ if callable(default) else repr(default)
        plain = " ".join(meaning.split()).replace("``", "`").replace("|", "\\|")
        yield f"| `{name}` | `{shown}` | {plain} |\n"


def _elsewhere() -> str:
    rows = "".join(f"| `leakguard_{name}` | {meaning} |\n" for name, meaning in INI.items())
    return f"""
## Environment

| Variable | Meaning |
|---|---|
| `LEAKGUARD=off` | No guard watches, as with `0`, `no`, `false`; `leakguard run` is `python`. |
| `LEAKGUARD_BIRTHS=0` | Samples no allocations, see [Births](cost.md#births). |
| `LEAKGUARD_COPY=0` | Takes looks in the process, not in a copy of it, whatever else runs. |
| `LEAKGUARD_JOB=DIR` | The folder of a job, each process of which is followed. |
| `LEAKGUARD_SIDECAR=1` | Follows each process of a job with any folder; `0` follows none. |
| `LEAKGUARD_PURE=1` | Walks the heap in Python although the compiled scan is there. |

## pyproject.toml

| Key | Meaning |
|---|---|
| `[tool.leakguard] ignore` | A list of patterns, added to `ignore=` of each guard and report. |
| `[tool.leakguard.budget]` | The limits of `leakguard check` without `--budget`. |

## pytest

The mark: `{HELP}`

| Key of the ini file | Meaning |
|---|---|
{rows}"""
