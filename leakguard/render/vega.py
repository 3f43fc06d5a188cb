"""Vega, through the package vl-convert: the runtime for a page, and pictures without a browser."""

from __future__ import annotations

from functools import lru_cache
from types import ModuleType
from typing import cast

from leakguard.errors import UsageError, install
from leakguard.render.chart import Spec


def available() -> bool:
    """Return whether pictures can be drawn here."""
    try:
        import vl_convert  # noqa: F401
    except ImportError:
        return False
    return True


@lru_cache(maxsize=1)
def runtime() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script; it sets ``window.vegaEmbed``."""
    return cast(str, _converter().javascript_bundle())


def svg(spec: Spec) -> str:
    """Return the picture as SVG."""
    return cast(str, _converter().vegalite_to_svg(spec))


def png(spec: Spec) -> bytes:
    """Return the picture as PNG, at twice the size for sharp text."""
    return cast(bytes, _converter().vegalite_to_png(spec, scale=2))


def _converter() -> ModuleType:
    try:
        import vl_convert
    except ImportError as error:
        raise UsageError(
            f"pictures need the package vl-convert-python; {install('html')}"
        ) from error
    return vl_convert
