"""Programs of the kinds that went untold once, written after the repair and played once."""
