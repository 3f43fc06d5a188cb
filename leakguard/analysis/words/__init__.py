"""Every sentence of a report, made once and at the end, of values that are settled.

Nothing here decides what grows or how bad it is. The judgement imports this package where it
builds what a user reads. This package imports facts, knowledge and the model, and no file that
decides.
"""

#: The most names that one sentence lists. Chosen: four fit on one line.
LISTED = 4
