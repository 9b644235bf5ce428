"""Public data sets as they are published, one file each: a `Format` that converts its rows."""
