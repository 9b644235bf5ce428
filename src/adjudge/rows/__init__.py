"""PREPARE: the one front door of every analysis; what was left out is returned with the rows."""
