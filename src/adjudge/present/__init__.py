"""SHOW: one theme, terminal tables, one file of figures per room."""
