"""Public data sets as published, one file each: a `Format` that converts its rows."""
