"""Where the objects that survive a generation were made: one generation is traced to find out.

``tracemalloc`` tells for a live object which lines made it, so it serves whatever has a Python
type; it knows the blocks of Python's allocators, too. ``memray`` sees what native code allocates,
and tells bytes by line. It may come after tracemalloc and never before: once a memray tracker has
run, tracemalloc misses allocations.
"""

from leakguard.capture.allocation_sites.bytes_trace import BytesTrace
from leakguard.capture.allocation_sites.object_trace import ObjectTrace
from leakguard.capture.allocation_sites.suspect import Suspect
from leakguard.capture.allocation_sites.tracer import TRACERS, Start, Tracer, fitting

__all__ = ["TRACERS", "BytesTrace", "ObjectTrace", "Start", "Suspect", "Tracer", "fitting"]
