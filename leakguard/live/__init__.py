"""The parts that work while a loop runs: *phase → look → snapshot → journal*.

``assembly`` makes a ``guarded_run`` from the ``settings``. The guarded run follows the moments of
the run, its phases (``visit``, ``names``), and its ``loop``. The loop consists of generations
(``round``), which the program names in one of several ways (``generations``).

``schedule`` decides at which generations a look is taken. It knows how the cheap numbers rise
(``heights``) and what looks cost (``meter``). ``look`` takes the look, and goes deeper if something
seems to grow (``suspicion``, ``cycle_watch``). ``scribe`` makes a snapshot of the look. ``journal``
writes the snapshot to the run file, the log and the ``history``; ``sinks`` send it to dashboards.

``diagnosing`` diagnoses the run so far. ``tracing`` finds the line that allocates what grows: it
traces one generation (``traced_generation``) for a limited time (``time_limit``), and ends the
trace in the ``main_thread``. ``safety`` runs every step, so that no error reaches the program.
``ending`` closes a run that the program does not close.
"""
