"""For what people already look at: ``LeakGuard(sinks=[TensorBoard("runs/tb")])``; one file each.

A sink is any object with ``write(vitals)`` and ``finish(report)``. Every one of these shows the
same numbers under the same names (``leakguard.model.vitals``), and at the end the verdict: as text
where there is room for text, and as a number, 0 stable, 1 inconclusive, 2 suspect, 3 leak.
"""
