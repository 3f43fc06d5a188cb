"""leakguard inside of other programs: one file, or folder, a framework.

Each file imports its framework, so import the file of the one you use. Where the framework runs the
loop, a callback tells the guard of it (``followed``): what a generation is there, and which phases
it has, stands in the file's first lines.
"""
