"""Rounds inside of rounds: whether a leak is told at the level at which it grows."""
