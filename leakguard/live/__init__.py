"""What lives while a loop runs: *phase → look → snapshot → journal*.

A phase, a generation or a moment that the user names ends (``phase_visit``, ``round``); the guard
looks at the process, as deep as is due (``governor``, ``suspicion``, ``cycle_watch``); what it saw
becomes a snapshot (``watcher``), which goes to the run file, the log and the history (``journal``).
"""
