"""The demo: pairs that come with the package, and one chapter per part of adjudge."""

from adjudge.demo.pairs import demo_pairs
from adjudge.demo.run import run_demo

__all__ = ["demo_pairs", "run_demo"]
