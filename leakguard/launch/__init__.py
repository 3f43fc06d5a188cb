"""``leakguard run``: somebody else's script, unchanged, as the main program of a watched process.

The command starts a fresh interpreter, which does four things before the script begins::

    Plan         what the command line asked for
    imports      names the phases and generations where their modules are imported, now or later
    main_code    the script, compiled so that its phases and outermost loops can be followed
    Program      runs it as ``__main__``, as the interpreter itself would

While it runs, whatever may be a generation (``sources``: calls that were named, epochs, optimizer
steps, environment resets, rounds of a loop) tells ``Pace``. ``Choice`` picks one kind, which
``Pace`` groups into generations; ``Watching`` has the guard.
"""
