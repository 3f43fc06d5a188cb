"""``leakguard attach`` on programs that know nothing of it: verdict, pauses, cost, traces."""
