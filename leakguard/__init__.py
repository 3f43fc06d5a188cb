"""leakguard says which phase of a loop leaks memory, what leaks, since when, and who holds it."""
