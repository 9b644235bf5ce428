"""Strict readers of judges' replies: what is written there, or no number at all."""
