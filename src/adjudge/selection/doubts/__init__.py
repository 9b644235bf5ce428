"""Doubts: what judges said about a row becomes one verdict and one doubt."""
