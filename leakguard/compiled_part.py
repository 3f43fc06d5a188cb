"""Parts in C: a part is used only if it was built for the interface that Python expects."""

from __future__ import annotations

from types import ModuleType


def check_interface(part: ModuleType, interface: int) -> None:
    """Refuse a part that was built from other sources than its callers.

    Args:
        part: a compiled module; its ``INTERFACE`` is the interface that it was built for.
        interface: checksum (31 bits) of its stub, the ``.pyi`` next to it.

    Raises:
        ImportError: the part was built for another interface, so its functions may take other
            arguments or do something else. Callers with a pure-Python fallback treat this as if the
            part were not installed.
    """
    if getattr(part, "INTERFACE", 0) != interface:
        raise ImportError(f"{part.__name__} was built from other sources: build it anew")
