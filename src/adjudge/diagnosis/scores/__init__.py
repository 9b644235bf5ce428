"""Scores: sets that contain the human score at a rate, and what their width indicates.

`result` has what the diagnosis returns and shows, `figures` its pictures, `diagnose` the calls;
`sets` are calibrated on documents by the rules in it, from the values in `nonconformity`.
"""
