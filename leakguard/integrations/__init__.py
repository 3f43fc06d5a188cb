"""leakguard inside of other programs: one file or folder per framework.

Each file imports its framework, so import only the file of the framework that you use. If the
framework runs the loop, a callback informs the guard of its progress. The first lines of each file
state what a generation is there, and which phases it has.
"""
