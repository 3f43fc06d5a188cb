"""Mutated inputs of every kind that leakguard reads, in one process that goes on."""
