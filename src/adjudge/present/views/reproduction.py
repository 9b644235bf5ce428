"""The papers, reproduced: the views of what reproduction returns."""

from __future__ import annotations
