"""What the reference trainer learns, and what it costs: one command a question."""
