"""``leakguard run`` on scripts of other people that nobody prepared."""
