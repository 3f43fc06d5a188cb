"""Where evolution helps, and where it does not: the same steps for every method and task."""
