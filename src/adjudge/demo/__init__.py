"""The demo: the package's own pairs, and a chapter for each room."""

from adjudge.demo.pairs import demo_pairs
from adjudge.demo.run import run_demo

__all__ = ["demo_pairs", "run_demo"]
