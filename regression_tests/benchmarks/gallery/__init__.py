"""The gallery of reports: one short training, healthy or with leaks, a folder."""
