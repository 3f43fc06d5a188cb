"""The parts that work while a loop runs: *phase → look → snapshot → journal*.

``assembly`` makes a ``guarded_run`` from the ``settings``. The guarded run follows the moments of
the run, its phases (``visit``, ``names``), and its ``loop``. The loop consists of generations
(``round``), which the program names in one of several ways (``generations``).

``policy`` decides at which generations a look is taken, and how deep it goes: pure functions of
what is known and still open (``inquiry``, with ``heights`` and ``gains``), and of what looks
may cost (``purse``, ``meter``). ``look`` takes the look, and ``cycle_watch`` decides when it
collects garbage. ``scribe`` makes a snapshot of the look. ``journal`` writes the snapshot to the
run file, the log and the ``history``; ``sinks`` send it to dashboards.

``diagnosing`` diagnoses the run so far. ``tracing`` finds the line that allocates what grows: it
traces one generation (``traced_generation``) for a limited time (``time_limit``), and ends the
trace in the ``main_thread``. ``safety`` runs every step, so that no error reaches the program.
``ending`` closes a run that the program does not close.
"""
