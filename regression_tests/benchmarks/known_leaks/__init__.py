"""Known leaks of libraries, played: the release that has the leak and the one that has not."""
