"""One view per result: a function from the result to its list of blocks."""
