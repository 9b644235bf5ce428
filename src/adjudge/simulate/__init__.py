"""Judges and people with known truth: for tests, docs and the demo. One file per kind of data."""
