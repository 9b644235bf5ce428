"""Judges and people with known truth: for tests, docs and the papers."""
