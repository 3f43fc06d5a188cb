"""Small programs and logs that were told wrongly once, and what is right."""
