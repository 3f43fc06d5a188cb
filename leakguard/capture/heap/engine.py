"""Which implementation walks the heap: the compiled scan, or its pure-Python twin.

The twin is used where the scan was not built, on interpreters without a global lock (the scan
relies on it to hold the heap still), and where ``LEAKGUARD_PURE=1`` is set.
"""

from __future__ import annotations

import os
import sysconfig
from collections.abc import Callable
from typing import Any

from leakguard.capture.heap import graph, walk
from leakguard.capture.heap.frameworks import Frameworks
from leakguard.capture.heap.tally import Tally

NAME = "python"
tally: Callable[[Frameworks, int], Tally] = walk.tally
instances: Callable[[Frameworks, Callable[[type], bool]], list[Any]] = walk.instances
Graph: Any = graph.Graph

if os.environ.get("LEAKGUARD_PURE") != "1" and not sysconfig.get_config_var("Py_GIL_DISABLED"):
    try:
        from leakguard.capture.heap import compiled
    except ImportError:  # not built here
        pass
    else:
        NAME, tally, Graph = "compiled", compiled.tally, compiled.CompiledGraph
        instances = compiled.instances
