"""Two processes that do nothing but compute, for as long as programs are played beside them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

NEIGHBOURS = 2
# It ends with the laboratory, however that ends: its parent is then another one.
_BUSY = """
import os
home = os.getppid()
while os.getppid() == home:
    sum(range(1_000_000))
"""


@contextmanager
def neighbours(wanted: bool) -> Iterator[None]:
    """Keep two processors busy while the block runs, if it is ``wanted``."""
    busy = [subprocess.Popen([sys.executable, "-c", _BUSY]) for _ in range(NEIGHBOURS * wanted)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()
