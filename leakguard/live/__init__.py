"""What lives while a loop runs: *phase → look → snapshot → journal*.

``watcher`` follows the loop: its generations (``rounds``, ``round``), phases (``visit``) and
moments. ``schedule`` says which generations are looked at, by what the cheap numbers do
(``heights``) and what looks cost (``meter``). ``look`` looks, deeper where something seems to grow
(``suspicion``, ``cycle_watch``); ``scribe`` makes a snapshot of it, and ``journal`` takes that to
the run file, the log and the ``history``. ``safety`` runs every step so that the program is not
hurt, ``ending`` closes a run that nobody closes.
"""
