"""Figures that the SCOPE paper prints, and the simulator's run of its protocol, pinned."""

from __future__ import annotations

import pytest

from adjudge.statistics.entropy import preference_entropy
from adjudge_papers.items import read_published, read_rows
from adjudge_papers.scope import PublishedRisk, ScopeReproduction, reproduce_scope
from adjudge_papers.scope_figures import PICTURES
from shown import title

RISKS = [PublishedRisk(**row) for row in read_rows(read_published("scope")["risks"])]

#: Simulated judge on the simulated benchmark: accuracy, ECE, AUROC of preference_entropy, AUROC of
#: annotators, verbalized and swap and vote by coin; then coverage and error share of scope at 0.10.
#: Written by: adjudge reproduce scope --sample 500 --splits 200 --json
SIMULATED = {
    ("mt-bench", "simulated-7b"): (0.750, 0.092, 0.675, 0.584, 0.550, 0.708, 0.173, 0.091),
    ("mt-bench", "simulated-14b"): (0.744, 0.135, 0.678, 0.581, 0.595, 0.631, 0.263, 0.088),
    ("mt-bench", "simulated-32b"): (0.800, 0.118, 0.754, 0.604, 0.591, 0.656, 0.630, 0.097),
    ("mt-bench", "simulated-70b"): (0.782, 0.130, 0.794, 0.645, 0.638, 0.597, 0.614, 0.093),
    ("rewardbench", "simulated-7b"): (0.862, 0.074, 0.800, 0.655, 0.696, 0.711, 0.805, 0.096),
    ("rewardbench", "simulated-14b"): (0.868, 0.069, 0.840, 0.661, 0.728, 0.639, 0.876, 0.096),
    ("rewardbench", "simulated-32b"): (0.876, 0.073, 0.860, 0.646, 0.750, 0.621, 0.917, 0.093),
    ("rewardbench", "simulated-70b"): (0.882, 0.087, 0.853, 0.649, 0.787, 0.626, 0.930, 0.096),
    ("chatbot-arena", "simulated-7b"): (0.734, 0.139, 0.657, 0.630, 0.611, 0.661, 0.297, 0.094),
    ("chatbot-arena", "simulated-14b"): (0.774, 0.117, 0.749, 0.661, 0.643, 0.647, 0.529, 0.096),
    ("chatbot-arena", "simulated-32b"): (0.810, 0.096, 0.765, 0.690, 0.613, 0.646, 0.640, 0.101),
    ("chatbot-arena", "simulated-70b"): (0.802, 0.116, 0.784, 0.653, 0.633, 0.597, 0.684, 0.100),
}
#: The title of every panel: each is computed from what the panel draws.
TITLES = {
    "figure-02": [
        "mt-bench (simulated)\n17 to 63 % accepted at alpha 0.1",
        "rewardbench (simulated)\n80 to 93 % accepted at alpha 0.1",
        "chatbot-arena (simulated)\n30 to 68 % accepted at alpha 0.1",
    ],
    "figure-03": [
        "mt-bench (simulated)\n20 of 20 means at or below alpha",
        "rewardbench (simulated)\n20 of 20 means at or below alpha",
        "chatbot-arena (simulated)\n18 of 20 means at or below alpha",
    ],
    "table-03": [
        "mt-bench (simulated)\nMeans above alpha, 4 judges:\nvanilla 4, heuristic 4, naive 4",
        "rewardbench (simulated)\nMeans above alpha, 4 judges:\nvanilla 4, heuristic 2, naive 2",
        "chatbot-arena (simulated)\nMeans above alpha, 4 judges:\n"
        "vanilla 4, heuristic 4, naive 4, scope 1",
    ],
    "quality": [
        "ECE: BPE is lowest in 12 of 12",
        "AUROC: BPE is highest in 4 of 12",
        "AUPRC: BPE is highest in 12 of 12",
    ],
}


def test_the_entropy_example_of_appendix_b1():
    assert preference_entropy([0.95])[0] == pytest.approx(0.20, abs=0.005)
    assert preference_entropy([0.5])[0] == pytest.approx(0.693, abs=0.0005)


def test_table_3_at_alpha_010():
    table = {(p.dataset, p.judge, p.method): p for p in RISKS if p.alpha == 0.10}
    row = table["mt-bench", "Qwen2.5-7B", "scope"]
    assert (row.coverage, row.risk) == (0.246, 0.097)
    row = table["rewardbench", "Qwen2.5-32B", "scope"]
    assert (row.coverage, row.risk) == (0.983, 0.098)
    row = table["chatbot-arena", "Llama-3.1-70B", "scope"]
    assert (row.coverage, row.risk) == (0.583, 0.099)


def test_figure_2_of_qwen_7b_is_found_by_name():
    rows = [row for row in RISKS if row.is_of("MT-Bench", "vllm:Qwen2.5-7B-Instruct")]
    figure = {p.alpha: p.coverage for p in rows if p.method == "scope"}
    assert figure == {0.05: 0.018, 0.10: 0.246, 0.15: 0.556, 0.20: 0.802, 0.25: 0.991}


@pytest.fixture(scope="module")
def simulated() -> ScopeReproduction:
    return reproduce_scope(sample=500, splits=200)


def test_the_protocol_on_the_simulator(simulated: ScopeReproduction) -> None:
    measured = {}
    for one in simulated.datasets:
        for key in one.keys:
            own = {s.signal: s for s in one.qualities if s.judge == key[0]}
            entropy = own["preference_entropy"]
            others = ("annotators", "verbalized", "swap_vote_by_coin")
            [row] = [row for row in one.rows_of("scope", key) if row.alpha == 0.1]
            measured[one.dataset, key[0]] = (
                *(entropy.accuracy, entropy.ece, entropy.auroc),
                *(own[name].auroc for name in others),
                *(row.coverage, row.risk),
            )
    assert list(measured) == list(SIMULATED)
    for name, numbers in SIMULATED.items():
        assert measured[name] == pytest.approx(numbers, abs=0.00051), name


def test_every_picture(simulated: ScopeReproduction) -> None:
    pictures = simulated.figures()
    assert list(pictures) == list(TITLES)
    for name, picture in pictures.items():
        assert [title(axes) for axes in picture.draw().axes] == TITLES[name], name


def test_every_item_is_simulated_or_has_no_numbers(simulated: ScopeReproduction) -> None:
    states = {item.name: item.status for item in simulated.items}
    assert [name for name, state in states.items() if state == "not possible"] == [
        *("Figure 1", "Figure 4", "Figure 5", "Figure 6"),
    ]
    assert {f"Table {k}" for k in (1, 2, 3)} <= states.keys()
    assert {"Figure 2a", "Figure 2b", "Figure 2c", "Figure 3", "Theorem 2.1"} <= states.keys()
    assert {"Summary, risk control", "Summary, uncertainty quality"} <= states.keys()
    assert states["Appendix B.1"] == "reproduced"  # a formula
    drawn = {item.figure for item in simulated.items} - {None}
    assert drawn == set(PICTURES)
    assert all(value.ours is not None for item in simulated.items for value in item.values)
