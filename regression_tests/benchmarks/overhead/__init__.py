"""What watching the reference trainer costs."""
