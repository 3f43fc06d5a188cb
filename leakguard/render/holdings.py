"""What holds memory now and may be dropped, for a terminal."""

from __future__ import annotations

from leakguard.model.holding import Holding, Holdings
from leakguard.model.units import format_bytes
from leakguard.render.text import clean

_NOTHING = "Nothing of 100 kB or more hangs on one name of the main module, or may go."


def render_holdings(holdings: Holdings) -> str:
    """Return the list of what each statement frees, beginning with what is least needed."""
    ranked = holdings.ranked
    wide = max((len(holding.statement) for holding in ranked), default=0)
    lines = [f"leakguard: objects hold {format_bytes(holdings.bytes)}; what may go, and how:"]
    lines += [_line(holding, wide) for holding in ranked] or [_NOTHING]
    return "\n".join(lines) + "\n"


def _line(holding: Holding, wide: int) -> str:
    size = format_bytes(holding.bytes)
    most = "up to " if holding.kind == "cycles" else ""
    of = f" ({clean(holding.type)})" if holding.type else ""
    return f"{most + size:>15}  {clean(holding.statement):<{wide}}  {clean(holding.what)}{of}"
