"""A corpus of broken, half-built and hostile objects.

Every maker returns something to keep alive, made through the C API where Python code cannot. Some
call ``look`` themselves: at a moment when what they build is in between two states.
"""

from broken_objects import allocated, hostile, moments, sequences, traversals
from broken_objects.kinds import KINDS

__all__ = ["KINDS", "allocated", "hostile", "moments", "sequences", "traversals"]
