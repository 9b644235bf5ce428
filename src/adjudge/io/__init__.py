"""READ: one file per format, sniffed by content; labels joined by id. And write, atomically."""

from adjudge.io.results import read_result, write_result

__all__ = ["read_result", "write_result"]
