"""How often is a series called a leak? Simulated series of known truth, ours beside other rules."""
