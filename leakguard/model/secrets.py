"""Finds what looks like a secret in a text: values of such options, and keys of known services."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

HIDDEN = "***"

_NAME = (
    r"(?:[\w-]*[_-])?(?:token|secret|passw(?:or)?d|passphrase|api[_-]?key|access[_-]?key"
    r"|secret[_-]?key|credentials?|auth)"
)
_VALUE = r"(?:\"[^\"]*\"|'[^']*'|[^\s\"',;]+)"
_RULES = (
    (re.compile(rf"(?i)(?<![\w-])(--?{_NAME}\s+)(?!-){_VALUE}"), r"\1***"),
    (re.compile(rf"(?i)(?<![\w-])(-{{0,2}}{_NAME}\s*[=:]\s*){_VALUE}"), r"\1***"),
    (re.compile(r"(?i)\b(bearer|basic)\s+[\w.~+/=-]{8,}"), r"\1 ***"),
    (re.compile(r"(?<=://)[^/\s@]+@"), "***@"),
    # The prefixes of keys that well-known services issue.
    (re.compile(r"\b(?:hf_|gh[pousr]_|github_pat_|glpat-|[sp]k-|xox[abprs]-|A[KS]IA|AIza|ya29\.|eyJ)"
                r"[\w.-]{8,}"), HIDDEN),
)  # fmt: skip
_OPTION = re.compile(rf"(?i)--?{_NAME}")
_ASSIGNED = re.compile(rf"(?is)((?:--?)?{_NAME}=).*")


def without_secrets(text: str) -> str:
    """Return ``text`` with ``***`` in place of everything that looks like a secret."""
    for pattern, shown in _RULES:
        text = pattern.sub(shown, text)
    return text


def command_line(arguments: Sequence[str]) -> str:
    """Return a command line, quoted for a shell, with ``***`` in place of possible secrets.

    The argument after an option such as ``--token`` or ``--db-password`` is hidden whole, whatever
    it contains.
    """
    shown, hides = [], False
    for argument in arguments:
        is_option = argument.startswith("-") and len(argument) > 1
        shown.append(HIDDEN if hides and not is_option else _argument(argument))
        hides = _OPTION.fullmatch(argument) is not None
    return shlex.join(shown).replace(shlex.quote(HIDDEN), HIDDEN)


def _argument(argument: str) -> str:
    whole = _ASSIGNED.fullmatch(argument)
    return f"{whole[1]}{HIDDEN}" if whole else without_secrets(argument)
