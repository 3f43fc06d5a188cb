"""Plays sets of programs, each as its manifest says, and holds what is said to their key."""
