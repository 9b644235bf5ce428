"""The demo: pairs that come with the package, and one chapter per part of adjudge."""

from adjudge.demo.run import demo_pairs, run_demo

__all__ = ["demo_pairs", "run_demo"]
