"""Leaking programs on which ``leakguard reproduce`` is tried, each once, and what came of it."""
