"""Programs written by people who know nothing but the README, and what is said of them once."""
