"""The sentences of reports about what the analysis found."""
