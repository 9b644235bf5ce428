"""The simulators of examples/: what their docstrings show is true."""

from __future__ import annotations

import doctest

import simulators


def test_the_examples_in_their_docstrings() -> None:
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    failed, tried = doctest.testmod(simulators, optionflags=flags)
    assert tried > 10
    assert not failed
