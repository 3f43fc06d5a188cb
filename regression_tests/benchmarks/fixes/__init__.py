"""Leaking programs on which ``leakguard fix`` is tried, each once, and what came of it."""
