"""A line holds one idea: limits for values assigned together, long statements and long functions.

They only go down.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import adjudge

SRC = Path(adjudge.__file__).parents[1]
#: Assignments of several values to several names in one statement, in all of src.
MOST_PAIRS = 170
#: A statement with more expressions than this is long: its share of all statements, in percent.
LONG = 30
MOST_LONG = 1
#: Lines of a function without its docstring, and how many functions have more.
MOST_LINES = 100
MOST_LONG_FUNCTIONS = 0

#: Statements without a body of their own.
Statement = ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Return | ast.Raise | ast.Expr


class Source(NamedTuple):
    """A file of src, parsed once for all tests here."""

    name: str
    nodes: list[ast.AST]


@pytest.fixture(scope="module")
def sources() -> list[Source]:
    files = sorted(SRC.rglob("*.py"))
    return [Source(str(file.relative_to(SRC)), parse(file.read_text("utf-8"))) for file in files]


def parse(text: str) -> list[ast.AST]:
    return list(ast.walk(ast.parse(text)))


def is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def is_pair(node: ast.AST) -> bool:
    """Whether separate values get separate names. A swap, or what a call returns, is one idea."""
    if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Tuple | ast.List):
        return False
    names = [ast.unparse(name) for name in node.targets[0].elts]
    if isinstance(node.value, ast.Tuple | ast.List):
        return sorted(names) != sorted(ast.unparse(value) for value in node.value.elts)
    return isinstance(node.value, ast.GeneratorExp | ast.ListComp)


def is_long(node: ast.AST) -> bool:
    return sum(isinstance(child, ast.expr) for child in ast.walk(node)) > LONG


def lines_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    docstring = function.body[0]
    counted = [function, docstring] if is_text(docstring) else [function]
    lines, *left_out = [(node.end_lineno or 0) - node.lineno + 1 for node in counted]
    return lines - sum(left_out)


def pairs_in(nodes: list[ast.AST]) -> Iterator[int]:
    return (node.lineno for node in nodes if isinstance(node, ast.Assign) and is_pair(node))


def statements_in(nodes: list[ast.AST]) -> list[ast.stmt]:
    return [node for node in nodes if isinstance(node, Statement) and not is_text(node)]


def places(lines: dict[str, list[int]]) -> str:
    return "\n".join(f"  {name}:{line}" for name, found in lines.items() for line in found)


def test_values_that_have_nothing_to_do_with_each_other_are_not_assigned_together(
    sources: list[Source],
) -> None:
    pairs = {source.name: list(pairs_in(source.nodes)) for source in sources}
    number = sum(map(len, pairs.values()))
    remedy = "give each value its own statement"
    assert number <= MOST_PAIRS, f"{number} of {MOST_PAIRS} allowed; {remedy}:\n{places(pairs)}"


def test_few_statements_are_long(sources: list[Source]) -> None:
    statements = {source.name: statements_in(source.nodes) for source in sources}
    long = {
        name: [node.lineno for node in nodes if is_long(node)] for name, nodes in statements.items()
    }
    share = 100 * sum(map(len, long.values())) / sum(map(len, statements.values()))
    limit = f"{share:.3f} % of the statements have more than {LONG} expressions, not {MOST_LONG} %"
    assert share <= MOST_LONG, f"{limit}; give a part of them a name:\n{places(long)}"


def test_functions_are_short(sources: list[Source]) -> None:
    long = [
        f"  {source.name}:{node.lineno} {node.name}, {lines_of(node)} lines"
        for source in sources
        for node in source.nodes
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and lines_of(node) > MOST_LINES
    ]
    limit = f"more than {MOST_LINES} lines without the docstring; give a step its own function:\n"
    assert len(long) <= MOST_LONG_FUNCTIONS, limit + "\n".join(long)


@pytest.mark.parametrize(
    ("code", "counted"),
    [
        ("a, b = x, y", True),
        ("a, b = [f(x), y]", True),
        ("a, b = (f(x) for x in z)", True),
        ("self.a, self.b, c = x, None, 0", True),
        ("a, b = b, a", False),
        ("x[i], x[j] = x[j], x[i]", False),
        ("a, b = f(x)", False),
        ("a, *b = c", False),
        ("a = b = 0", False),
        ("a = x, y", False),
    ],
)
def test_what_counts_as_assigned_together(code: str, counted: bool) -> None:
    assert list(pairs_in(parse(code))) == [1] * counted


def test_a_docstring_is_neither_a_statement_nor_lines_of_its_function() -> None:
    nodes = parse('def f():\n    """Text\n\n    in lines."""\n    return 1\n')
    (function,) = (node for node in nodes if isinstance(node, ast.FunctionDef))
    assert lines_of(function) == 2
    assert len(statements_in(nodes)) == 1


def test_a_long_statement_has_more_than_thirty_expressions() -> None:
    # A sum of n names has n names and n - 1 sums.
    assert not is_long(ast.parse("+".join("a" * 15)))
    assert is_long(ast.parse("+".join("a" * 16)))
