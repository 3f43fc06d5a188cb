"""What keeps the manual honest: its generated pages, its site, and the lint of its words."""
