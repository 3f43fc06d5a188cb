"""``leakguard fix``: a change of the program's source, tried by running it.

Five parts lead from a finding to a change that was tried::

    Clue         what a finding tells about the place to change: container, root, line, rate
    templates    one file per kind of change; each turns a Clue and a Source into proposed Edits
    Source       one file as a concrete syntax tree: what is not changed stays as it is
    Tree         a copy of the program's folder, in which an Edit is made and the command runs
    outcome      the comparison of the run before with the run after

LibCST is needed for the templates only; a patch that is handed in is tried without it.
"""
