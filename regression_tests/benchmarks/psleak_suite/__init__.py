"""The leaks of psleak's own test suite, and their clean twins, under the guard as it comes."""
