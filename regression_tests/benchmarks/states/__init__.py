"""States of a process with memory that may go, and what comes free of it."""
