"""Recorded runs with their key: what a change of the judgement does to them is seen in minutes."""
