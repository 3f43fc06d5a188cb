"""``leakguard run``: runs an unchanged script as the main program of a watched process.

The command starts a fresh interpreter. Four parts prepare and run the script in it::

    Plan         what the command line asked for
    imports      marks phases and generations in modules when they are imported, now or later
    main_code    the script, compiled so that its phases and outermost loops can be followed
    Program      runs the script as ``__main__``, as the interpreter itself would

While it runs, everything that may be a generation (``sources``: calls that the user named, epochs,
optimizer steps, environment resets, rounds of a loop) reports its steps to ``Pace``. ``Choice``
picks one kind of step, and ``Pace`` groups its steps into generations. ``Watching`` has the guard.
"""
