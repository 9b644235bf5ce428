"""Doctests of a file that needs torch are left out where torch is missing (CI installs it)."""

from __future__ import annotations

from importlib.util import find_spec

collect_ignore = [] if find_spec("torch") else ["src/adjudge/judges/backends/_causal.py"]
