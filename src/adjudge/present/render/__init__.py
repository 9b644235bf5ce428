"""Blocks as text for a terminal, as an HTML page or fragment, and as Markdown."""
