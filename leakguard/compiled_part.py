"""Parts in C: each is used only where it was built for what Python knows of it."""

from __future__ import annotations

from types import ModuleType


def check_interface(part: ModuleType, interface: int) -> None:
    """Refuse a part that was built from other sources than those that call it.

    Args:
        part: a compiled module; it tells in ``INTERFACE`` what it was built for.
        interface: checksum (31 bits) of its stub, the ``.pyi`` beside it.

    Raises:
        ImportError: it was built for another interface, so its functions may take or do another
            thing; whoever can do without the part takes this as if there were none.
    """
    if getattr(part, "INTERFACE", 0) != interface:
        raise ImportError(f"{part.__name__} was built from other sources: build it anew")
