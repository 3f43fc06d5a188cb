"""From a run to a diagnosis. Pure: no clock, no file, no process, standard library only.

A newcomer reads ``diagnosis`` first: it is the road on one page. Each file in ``sources/`` reads
one kind of thing out of the run (types, containers, gauges, cycles, numbers of the process, ...)
and returns a ``Growth`` wherever ``series/``, the one judge of a list of numbers, finds that it
grows. ``account`` sets these off against each other: a gauge explains its buffer, a container the
objects in it, objects the memory that they take; ``defect`` says which types and which container
belong together. What is left to report is a ``Defect``, and what is healthy a ``Cleared`` with its
reason. ``evidence`` alone decides how many witnesses make a leak, ``place_in_loop`` finds its phase
and its start, and ``naming`` writes the ``Finding``, with the fix from ``remedy``, the allocating
line from ``origin`` and the date from ``forecast``. What is too small to matter stands in
``tolerance``. A new kind of leak is one more source, and one more entry in the list of them.
"""

from leakguard.analysis.diagnosis import diagnose
from leakguard.analysis.trend import growth, trend

__all__ = ["diagnose", "growth", "trend"]
