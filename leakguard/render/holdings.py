"""What holds memory now and may be dropped, for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from leakguard.model.holding import Holding, Holdings
from leakguard.model.units import format_bytes
from leakguard.render.text import clean

_NOTHING = "Nothing of 100 kB or more hangs on one name of the main module, or may go."


def render_holdings(holdings: Holdings) -> str:
    """Return the list of what each statement frees, beginning with what is least needed."""
    may_go = [holding for holding in holdings.ranked if holding.may_go]
    in_use = [holding for holding in holdings.ranked if not holding.may_go]
    held = f"leakguard: objects hold {format_bytes(holdings.bytes)}"
    lines = [
        *_came_free(holdings),
        f"{held}; {'what may go, and how:' if may_go else _end(in_use)}",
    ]
    lines += _table(may_go)
    if in_use:
        lines += ["the largest variables, if they are not needed:", *_table(in_use)]
    return "\n".join(lines) + "\n"


def _end(in_use: Sequence[Holding]) -> str:
    return "nothing of 100 kB or more may go" if in_use else _NOTHING


def _came_free(holdings: Holdings) -> list[str]:
    """Return what came free since the look before, beside what was promised."""
    if holdings.came_free is None:
        return []
    size = format_bytes(abs(holdings.came_free))
    told = f"{size} came free" if holdings.came_free >= 0 else f"{size} came on top"
    lines = [f"leakguard: since the look before, {told}"]
    return lines + [f"{'gone':>15}  {_promise(holding)}" for holding in holdings.gone]


def _promise(holding: Holding) -> str:
    return f"{clean(holding.statement)}  promised {_size(holding)}"


def _table(holdings: Sequence[Holding]) -> list[str]:
    wide = max((len(clean(holding.statement)) for holding in holdings), default=0)
    return [_line(holding, wide) for holding in holdings]


def _line(holding: Holding, wide: int) -> str:
    of = f" ({clean(holding.type)})" if holding.type else ""
    statement = clean(holding.statement)
    return f"{_size(holding):>15}  {statement:<{wide}}  {clean(holding.what)}{of}"


def _size(holding: Holding) -> str:
    return ("up to " if holding.kind == "cycles" else "") + format_bytes(holding.bytes)
