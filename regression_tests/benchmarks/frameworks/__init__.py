"""Frameworks that people train with: healthy trainings, and three mistakes of users in each.

``python -m regression_tests.benchmarks.frameworks.table OUT`` runs everything and prints the table.
"""
