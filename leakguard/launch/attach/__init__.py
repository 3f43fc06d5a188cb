"""``leakguard attach PID``: a Python process that never heard of leakguard, as it is.

No debugger is needed: a call is put into the interpreter's own queue of pending calls, by writing
to the memory of the process, as ``sys.remote_exec`` of Python 3.14 does. The interpreter makes it
where it may: between two instructions of the program, never inside of malloc or the collector. ::

    RunningProcess   which process it is, and proof that it may be attached to: the target
    QueueLayout      where a version of CPython keeps its queue
    rehearsal        the same executable, started by us: the layout is proven on it
    Lodging          a folder in the file system of the target: what it runs, and two pipes
    PendingCall      the call, written while all threads are stopped for about a millisecond
    bootstrap        what runs in the target: one thread that waits, and copies the process
    sight            what runs in a copy: it imports leakguard, takes one look, and is gone
    Attachment       our end of the pipes
    AttachedRun      looks some seconds apart, each a generation of a run that is written here

The target itself never imports leakguard. At every moment either end may be killed: what is written
to the memory is whole or without effect, no instruction is changed, and the thread leaves when the
pipe ends.
"""
