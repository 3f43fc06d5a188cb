"""``leakguard attach PID``: watches a running Python process, which need not know leakguard.

No debugger is needed. A call is written into the interpreter's queue of pending calls, in the
memory of the process; ``sys.remote_exec`` of Python 3.14 works similarly. The interpreter makes
pending calls between two instructions of the program, never inside malloc or the collector. ::

    RunningProcess   the process to attach to (the target), and the checks whether that is possible
    QueueLayout      where a version of CPython keeps its queue
    rehearsal        a new process of the same executable, on which the layout is tried first
    Lodging          a folder in the target's file system: what the target runs, and its socket
    PendingCall      the call, written while all threads are stopped for about a millisecond
    bootstrap        what runs in the target: one thread, which answers requests and makes copies
    sight            what runs in a copy: it imports leakguard, answers one question and exits
    Attachment       the connection to the target, in this process
    AttachedRun      regular looks, each a generation of a run that this process writes

The target itself never imports leakguard. Either process may be killed at any moment without harm
to the other: what is written to the memory of the target is complete or has no effect, no machine
code is changed, and the thread in the target ends when its caller hangs up.
"""
