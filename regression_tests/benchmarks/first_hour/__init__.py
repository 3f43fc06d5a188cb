"""Twenty-two scripts of a newcomer, written from the README alone, and what is said of each."""
