"""The sidecar of a job: one process per machine, which follows all processes of the job.

A guard with a run directory starts it (``start``), and it ends with the job. It is no child of the
program, so the program's ``wait()`` never meets it. No code runs in the processes that it follows::

    JobProcesses      which processes belong to the job
    FollowedProcess   the memory of one process, read from outside, and its run file
    Ascent            whether that memory rises steadily
    Visits            ``leakguard attach``, on a process whose memory does
    PodRecord         what the pod holds beside its processes
    Sidecar           the loop: all of these, once a second
"""
