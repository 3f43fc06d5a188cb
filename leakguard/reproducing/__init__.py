"""``leakguard reproduce``: the smallest pytest file that fails on a finding, found by running it.

The parts, in the order in which a finding passes them::

    guardless    a file of the program without the guard that it may have: the test has its own
    ProgramFile  a file of the program: its functions, its start, and whether it may be imported
    StackLine    a line of the program on the call stack of the finding
    Sketch       a test that was not tried yet: what it needs, and what it repeats
    calls        sketches that call one function of the program
    loops        sketches that repeat the body of a loop of the program, after its set-up
    Tryout       runs a sketch in a copy of the program: it fails on the finding or it does not
    shrinking    leaves out of a sketch what it does not need, as long as it fails
"""
