"""Sinks for experiment trackers and monitoring: ``LeakGuard(sinks=[TensorBoard("runs/tb")])``.

A sink is any object with ``write(vitals)`` and ``finish(report)``. Each file here has one sink. All
sinks show the same numbers under the same names (``leakguard.model.vitals``), and at the end the
verdict. The verdict is a number: 0 stable, 1 inconclusive, 2 suspect, 3 leak. Where text is
possible, the verdict is also given as text.
"""
