"""Rows that belong to one analysis."""
