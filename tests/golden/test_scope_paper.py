"""Figures that the SCOPE paper prints, and the simulator's run of its protocol, pinned."""

from __future__ import annotations

import pytest

from adjudge.statistics.entropy import preference_entropy
from adjudge_papers.paper import paper_tables
from adjudge_papers.scope import PICTURES, ScopeReproduction, reproduce_scope
from shown import title

TABLES = paper_tables("scope")

#: Simulated judge on the simulated benchmark: accuracy, ECE, AUROC of preference_entropy, AUROC of
#: annotators, verbalized and swap and vote by coin; then coverage and error share of scope at 0.10.
#: Written by: adjudge reproduce scope --sample 500 --splits 200 --json
SIMULATED = {
    ("mt-bench", "simulated-7b"): (0.764, 0.109, 0.713, 0.614, 0.596, 0.723, 0.261, 0.089),
    ("mt-bench", "simulated-14b"): (0.758, 0.105, 0.701, 0.616, 0.628, 0.706, 0.330, 0.089),
    ("mt-bench", "simulated-32b"): (0.800, 0.078, 0.777, 0.643, 0.547, 0.746, 0.639, 0.097),
    ("mt-bench", "simulated-70b"): (0.794, 0.078, 0.816, 0.714, 0.589, 0.718, 0.664, 0.093),
    ("rewardbench", "simulated-7b"): (0.854, 0.065, 0.816, 0.670, 0.705, 0.773, 0.824, 0.098),
    ("rewardbench", "simulated-14b"): (0.868, 0.065, 0.825, 0.706, 0.679, 0.726, 0.873, 0.096),
    ("rewardbench", "simulated-32b"): (0.862, 0.060, 0.864, 0.692, 0.693, 0.717, 0.890, 0.094),
    ("rewardbench", "simulated-70b"): (0.876, 0.065, 0.847, 0.711, 0.728, 0.687, 0.922, 0.096),
    ("chatbot-arena", "simulated-7b"): (0.728, 0.110, 0.730, 0.620, 0.602, 0.661, 0.397, 0.095),
    ("chatbot-arena", "simulated-14b"): (0.776, 0.068, 0.791, 0.686, 0.607, 0.726, 0.619, 0.094),
    ("chatbot-arena", "simulated-32b"): (0.812, 0.063, 0.797, 0.696, 0.647, 0.739, 0.680, 0.097),
    ("chatbot-arena", "simulated-70b"): (0.822, 0.079, 0.778, 0.751, 0.602, 0.711, 0.710, 0.097),
}
#: The title of every panel: each is computed from what the panel draws.
TITLES = {
    "figure-02": [
        "mt-bench\n26 to 66 % accepted at alpha 0.1",
        "rewardbench\n82 to 92 % accepted at alpha 0.1",
        "chatbot-arena\n40 to 71 % accepted at alpha 0.1",
    ],
    "figure-03": [
        "mt-bench\n20 of 20 means at or below alpha",
        "rewardbench\n20 of 20 means at or below alpha",
        "chatbot-arena\n20 of 20 means at or below alpha",
    ],
}


def test_the_entropy_example_of_appendix_b1():
    assert preference_entropy([0.95])[0] == pytest.approx(0.20, abs=0.005)
    assert preference_entropy([0.5])[0] == pytest.approx(0.693, abs=0.0005)


def test_table_3_at_alpha_010():
    table = {(p["dataset"], p["judge"], p["method"]): p for p in TABLES["risks"].published}
    row = table["mt-bench", "Qwen2.5-7B", "scope"]
    assert (row["coverage"], row["risk"]) == (0.246, 0.097)
    row = table["rewardbench", "Qwen2.5-32B", "scope"]
    assert (row["coverage"], row["risk"]) == (0.983, 0.098)
    row = table["chatbot-arena", "Llama-3.1-70B", "scope"]
    assert (row["coverage"], row["risk"]) == (0.583, 0.099)


def test_figure_2_of_qwen_7b_is_found_by_name():
    curves = TABLES["curves"]
    figure = {
        theirs["alpha"]: theirs["coverage"]
        for theirs in curves.published
        if curves.matches(
            {"dataset": "MT-Bench", "judge": "vllm:Qwen2.5-7B-Instruct", "alpha": theirs["alpha"]},
            theirs,
        )
    }
    assert figure == {0.05: 0.018, 0.10: 0.246, 0.15: 0.556, 0.20: 0.802, 0.25: 0.991}


@pytest.fixture(scope="module")
def simulated() -> ScopeReproduction:
    return reproduce_scope(sample=500, splits=200)


def test_the_protocol_on_the_simulator(simulated: ScopeReproduction) -> None:
    measured = {}
    for row in simulated.rows("risks", method="scope"):
        own = {
            quality["signal"]: quality
            for quality in simulated.rows("qualities", dataset=row["dataset"])
            if quality["judge"] == row["judge"]
        }
        entropy = own["preference_entropy"]
        others = ("annotators", "verbalized", "swap_vote_by_coin")
        measured[row["dataset"], row["judge"]] = (
            *(entropy["accuracy"], entropy["ece"], entropy["auroc"]),
            *(own[name]["auroc"] for name in others),
            *(row["coverage"], row["risk"]),
        )
    assert list(measured) == list(SIMULATED)
    for name, numbers in SIMULATED.items():
        assert measured[name] == pytest.approx(numbers, abs=0.00051), name


def test_the_simulator_shows_the_papers_pattern(simulated: ScopeReproduction) -> None:
    """BPE mostly has the highest AUROC, scope keeps its level, baselines and naive do not."""
    items = {item.name: {v.name: v.ours for v in item.values} for item in simulated.items}
    best = items["Table 1"]["highest AUROC: BPE, % of judges with it"]
    assert best is not None
    assert best > 50
    assert items["Figure 3"]["mean error shares above alpha"] == 0
    times = items["Abstract and section 4.2"]["times the coverage of naive"]
    assert times is not None
    assert times > 1.2


def test_every_picture(simulated: ScopeReproduction) -> None:
    pictures = simulated.figures()
    assert list(pictures) == list(TITLES)
    for name, picture in pictures.items():
        figure = picture.draw()
        assert [title(axes) for axes in figure.axes] == TITLES[name], name
        assert [text.get_text() for text in figure.texts] == ["simulated"]


def test_every_item_is_simulated_or_has_no_numbers(simulated: ScopeReproduction) -> None:
    states = {item.name: item.status for item in simulated.items}
    assert [name for name, state in states.items() if state == "not possible"] == [
        *("Figure 1", "Figure 4", "Figure 5", "Figure 6"),
    ]
    assert {f"Table {k}" for k in (1, 2, 3)} <= states.keys()
    assert {"Figure 2a", "Figure 2b", "Figure 2c", "Figure 3", "Theorem 2.1"} <= states.keys()
    assert states["Appendix B.1"] == "reproduced"  # a formula
    drawn = {item.figure for item in simulated.items} - {None}
    assert drawn == set(PICTURES)
    assert all(value.ours is not None for item in simulated.items for value in item.values)
