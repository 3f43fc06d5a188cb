"""leakguard inside of other programs: one file, or folder, a framework."""
