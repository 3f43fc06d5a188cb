"""Trainings that know nothing of each other; see ``plan``."""
