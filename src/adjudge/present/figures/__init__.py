"""Pictures: one file per room, each function from a result to a matplotlib figure."""
