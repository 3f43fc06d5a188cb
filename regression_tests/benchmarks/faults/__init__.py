"""Faults made real, and what became of a watched loop in each."""
