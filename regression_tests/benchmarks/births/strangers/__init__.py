"""Thirty programs of somebody who had the README only, with 52 leaks, and what is right of each."""
