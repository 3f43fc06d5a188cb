"""Programs that train on a GPU, each with one mistake or without it."""
