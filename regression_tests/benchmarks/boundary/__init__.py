"""What a phase costs the program that is watched."""
