"""Whether the report of a run that died of memory names who held it, and what the look costs."""
