"""Ways to start children: is each child seen, and what leaks in one of them named?"""
