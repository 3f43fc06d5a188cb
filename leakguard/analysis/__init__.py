"""From a run to a diagnosis. Pure: no clock, no file, no process, standard library only.

Read ``diagnosis`` first: it shows all steps on one page. Each file in ``sources/`` reads one kind
of thing from the run: types, containers, gauges, cycles, metrics of the process, and so on. It
returns a ``Growth`` if ``series/``, the only judge of a list of numbers, finds growth.

``settlement`` enters each growth in the ``ledger`` of a run. ``claims`` decide what explains what:
a gauge explains its buffer, a container its objects, and objects their memory. ``objects`` begins
with containers that grow by themselves; of what they leave, ``holders`` says who holds it. Growth
that must be reported is a ``LedgerRow``; healthy growth is ``Harmless``, with the reason.

``evidence`` alone decides how many measurements make a leak. ``place_in_loop`` finds phase and
start. ``naming`` makes the ``Finding``, with the allocating line from ``origin`` and the date from
``forecast``. ``tolerance`` has the limits below which growth does not matter.

Until then evidence, reasons and fixes are the values of ``facts``. Each sentence is made of them
once, in ``words``, and nowhere else. A new kind of leak is one more source, one more entry in the
list of sources, and a sentence in ``words`` for what it measures.
"""

from leakguard.analysis.diagnosis import diagnose
from leakguard.analysis.trend import growth, trend

__all__ = ["diagnose", "growth", "trend"]
