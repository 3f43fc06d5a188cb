"""Released packages in a version that leaks and one that does not, and what the guard says."""
