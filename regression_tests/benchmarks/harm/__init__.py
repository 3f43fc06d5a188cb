"""The harm laboratory: programs played unwatched and watched, and compared in all they do.

A file of ``programs/`` is one way in which a guard could hurt. Its docstring says the kind and what
must hold; ``program.py`` says what it may declare, ``stage.py`` what it is given.
"""
