"""From a run to a diagnosis. Pure: no clock, no file, no process, standard library only.

Read ``diagnosis`` first: it is the road on one page. Each file in ``sources/`` reads one kind of
thing from the run: types, containers, gauges, cycles, numbers of the process, and so on. It returns
a ``Growth`` if ``series/``, the one judge of a list of numbers, finds that the thing grows.

``account`` sets growth off against growth: a gauge explains its buffer, a container its objects,
and objects their memory. ``defect`` decides which types and which container belong together. What
is left to report is a ``Defect``; what is healthy is ``Cleared``, with its reason.

``evidence`` alone decides how many measurements make a leak. ``place_in_loop`` finds phase and
start. ``naming`` writes the ``Finding``, with the fix from ``remedy``, the allocating line from
``origin`` and the date from ``forecast``. ``tolerance`` has the limits below which growth does not
matter. A new kind of leak is one more source, and one more entry in the list of sources.
"""

from leakguard.analysis.diagnosis import diagnose
from leakguard.analysis.trend import growth, trend

__all__ = ["diagnose", "growth", "trend"]
