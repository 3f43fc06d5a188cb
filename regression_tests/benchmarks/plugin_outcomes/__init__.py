"""Are outcomes of memory budgets ever flaky? Known tests, run again and again."""
