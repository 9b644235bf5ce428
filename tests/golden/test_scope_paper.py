"""Figures that the SCOPE paper prints, and the simulator's run of its protocol, pinned."""

from __future__ import annotations

import pytest

from adjudge.reproduce.scope import PUBLISHED, reproduce_scope
from adjudge.uncertainty import preference_entropy

#: alpha -> (coverage, error share) of scope on the simulator: 2,000 items, 1,000 splits, seed 0.
#: Written by: adjudge reproduce scope --json
SIMULATED = {
    0.05: (0.136, 0.046),
    0.10: (0.313, 0.098),
    0.15: (0.491, 0.149),
    0.20: (0.664, 0.200),
    0.25: (0.905, 0.250),
}


def test_the_entropy_example_of_appendix_b1():
    assert preference_entropy([0.95])[0] == pytest.approx(0.20, abs=0.005)
    assert preference_entropy([0.5])[0] == pytest.approx(0.693, abs=0.0005)


def test_table_3_at_alpha_010():
    table = {(p.dataset, p.judge, p.method): p for p in PUBLISHED if p.alpha == 0.10}
    row = table["mt-bench", "Qwen2.5-7B", "scope"]
    assert (row.coverage, row.risk) == (0.246, 0.097)
    row = table["rewardbench", "Qwen2.5-32B", "scope"]
    assert (row.coverage, row.risk) == (0.983, 0.098)
    row = table["chatbot-arena", "Llama-3.1-70B", "scope"]
    assert (row.coverage, row.risk) == (0.583, 0.099)


def test_figure_2_of_qwen_7b_is_found_by_name():
    rows = [row for row in PUBLISHED if row.is_of("MT-Bench", "vllm:Qwen2.5-7B-Instruct")]
    figure = {p.alpha: p.coverage for p in rows if p.method == "scope"}
    assert figure == {0.05: 0.018, 0.10: 0.246, 0.15: 0.556, 0.20: 0.802, 0.25: 0.991}


def test_the_protocol_on_the_simulator():
    seen = reproduce_scope().datasets[0].evaluation
    result = {
        m.alpha: (m.coverage, m.risk)
        for m in seen.methods
        if (m.method, m.signal) == ("scope", "preference_entropy")
    }
    for alpha, (coverage, risk) in SIMULATED.items():
        assert result[alpha] == pytest.approx((coverage, risk), abs=0.001)
