"""States of a process with memory that may go: what ``leakguard.now()`` says, and what comes free."""
