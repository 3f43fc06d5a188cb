"""What lives while a loop runs: *phase → look → snapshot → journal*.

``assembly`` puts a run together from its ``settings``. ``watcher`` follows the run: its moments,
its phases (``visit``, ``names``), and the ``loop`` with its generations (``round``), which the
program names in one of several ways (``generations``). ``schedule`` says which generations are
looked at, by what the cheap numbers do (``heights``) and what looks cost (``meter``). ``look``
looks, deeper where something seems to grow (``suspicion``, ``cycle_watch``); ``scribe`` makes a
snapshot of it, and ``journal`` takes that to the run file, the log and the ``history``, ``sinks``
to dashboards. ``diagnosing`` says what the run so far comes to, ``tracing`` which line
makes what grows, in a ``traced_generation`` that lasts at most for a ``time_limit``, and is cut in
the ``main_thread``. ``safety`` runs every step so that the program is not hurt, ``ending`` closes a
run that nobody closes.
"""
