"""Programs with two to five leaks at once, each in a phase of its own, and their clean twins."""
