"""An example of every kind of result, as the tests in tests/shown have them."""

from __future__ import annotations

import importlib.util
from functools import cache
from pathlib import Path

from example_policies import example_policies

from adjudge.data import read_result
from adjudge.present.result import Result

TESTS = Path(__file__).parents[1]
_POLICIES = TESTS / "unit" / "selection" / "policies"


@cache
def example_results() -> dict[str, tuple[Result, ...]]:
    """Every result that tests/shown, or a module it takes them from, holds under a name, by kind.

    The policies there are made up, and one that contradicts itself is refused: real ones instead.
    """
    examples: dict[str, list[Result]] = {}
    pages = [*(TESTS / "shown").glob("test_*.py"), *(TESTS / "support").glob("shown_*.py")]
    for path in sorted(pages):
        spec = importlib.util.spec_from_file_location(f"examples_of_{path.stem}", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for value in vars(module).values():
            if isinstance(value, Result) and value not in examples.setdefault(value.kind, []):
                examples[value.kind].append(value)
    examples["policy"] = [read_result(path) for path in sorted(_POLICIES.glob("[!a]*.json"))]
    examples["policy"] += [policy for policy, _ in example_policies().values()]
    return {kind: tuple(values) for kind, values in sorted(examples.items())}
