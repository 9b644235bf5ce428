"""The reporting paper's statements, reproduced by `adjudge_papers.reporting`."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from adjudge.errors import ArgumentError, DataError
from adjudge.estimation import proposition_51
from adjudge.simulate.pairs import simulate_pairs
from adjudge_papers.paper import stated_values
from adjudge_papers.reporting import reproduce_reporting
from adjudge_papers.reporting_simulation import length_curve
from shown import title
from simulators import simulate_items

LISTING = tuple(stated_values("reporting", "Figure 8").values())


def protocol(data=None, **options):  # type: ignore[no-untyped-def]
    """Section 8.2 with the simulation as short as it can be."""
    return reproduce_reporting(data, repeats=10, **options)


@pytest.fixture(scope="module")
def paper():  # type: ignore[no-untyped-def]
    return reproduce_reporting(repeats=1000, seed=1)


def test_statements(paper) -> None:
    items = {i.name: {v.name: (v.ours, v.published) for v in i.values} for i in paper.items}
    # Two statements do not hold as written; the list must keep saying so.
    assert items["Figure 3"]["equal split, p = 0.3"] == (362, 200)
    shorter = "rates at which Algorithm 1 is shorter than an equal split, %"
    shares = [items[f"Figure {k}"][shorter] for k in range(9, 17)]
    assert {stated for _, stated in shares} == {100}
    assert 80 < min(ours for ours, _ in shares) < 100
    settings = paper.rows("settings")
    count = sum(row["length_adaptive"] < row["length_equal"] for row in settings)
    low, high = (f(row["coverage"] for row in settings) for f in (min, max))
    assert str(paper).startswith(
        f"Corrected 95 % intervals cover {100 * low:.1f} to {100 * high:.1f} % at 168 rates; "
        f"Algorithm 1 makes {count} of them shorter"
    )


def test_coverage_bias_and_length(paper) -> None:
    assert len(paper.rows("figures")) == 8
    for one in paper.rows("figures"):
        assert one["coverage_low"] > 0.925
        assert one["coverage_adaptive_low"] > 0.925
        assert one["length_adaptive"] < one["length_equal"]
        inner = paper.rows("settings", figure=one["figure"])[3:18]
        assert max(abs(row["corrected"] - row["rate"]) for row in inner) < 0.02


def test_figure_3_shrinks_with_labels_and_algorithm_1_is_never_much_longer() -> None:
    for p in (0.3, 0.5, 0.7, 0.9):
        curve = length_curve(p)
        equal, adaptive = (np.array([row[way] for row in curve]) for way in ("equal", "adaptive"))
        assert (np.diff(equal[20:]) < 0).all()
        assert (adaptive <= equal * 1.03).all()


def test_every_figure_of_the_paper_is_drawn(paper) -> None:
    drawn = {name: figure.draw() for name, figure in paper.figures().items()}
    assert set(drawn) == {f"figure{i}" for i in (*range(2, 8), *range(9, 17))}
    assert len(drawn["figure3"].axes[0].lines) == 8
    assert len(drawn["figure5"].axes[0].lines) == 7
    stamps = {name: [t.get_text() for t in figure.texts] for name, figure in drawn.items()}
    assert stamps.pop("figure3") == stamps.pop("figure4") == []  # formulas
    assert stamps.pop("figure7")[-1] == "simulated"
    assert {texts[-1] for texts in stamps.values()} == {"simulated, as in the paper"}
    for number in (6, *range(9, 17)):
        panels = drawn[f"figure{number}"].axes
        assert len(panels) == 3
        assert all(panel.get_xlabel() == "true rate" for panel in panels)


def test_figure_2_shows_where_the_bias_turns(paper) -> None:
    figure = paper.figures()["figure2"].draw()
    left, middle, right = figure.axes
    assert title(left) == "Bias changes sign at 0.750"
    assert [text.get_text() for text in left.texts if text.get_text()] == ["1 − q0", "1 − q1"]
    too_high = left.lines[1]
    assert too_high.get_ydata()[0] == pytest.approx(0.3)
    [run] = paper.rows("run", rate=0.5)
    held = run["low"] <= 0.5 <= run["high"]
    assert title(middle) == f"Corrected interval {'holds' if held else 'misses'} the rate"
    assert middle.texts[1].get_text() == f"corrected {run['corrected']:.3f}"
    main = paper.rows("settings", figure="10")
    largest = max(abs(row["corrected"] - row["rate"]) for row in main)
    assert title(right) == f"Largest bias after correction: {largest:.3f}"


def _listing(p, q0, q1, n, m0, m1, alpha=0.05):  # type: ignore[no-untyped-def]
    """The code of the paper's Figure 8, as it stands there."""
    z = norm.ppf(1 - alpha / 2)
    p, q0, q1 = (n * p + z**2 / 2) / (n + z**2), (m0 * q0 + 1) / (m0 + 2), (m1 * q1 + 1) / (m1 + 2)
    n, m0, m1 = n + z**2, m0 + 2, m1 + 2
    th = (p + q0 - 1) / (q0 + q1 - 1)
    dth = 2 * z**2 * (-(1 - th) * q0 * (1 - q0) / m0 + th * q1 * (1 - q1) / m1)
    se = sqrt(p * (1 - p) / n + (1 - th) ** 2 * q0 * (1 - q0) / m0 + th**2 * q1 * (1 - q1) / m1) / (
        q0 + q1 - 1
    )
    return th + dth - z * se, th + dth + z * se  # fmt: skip


def test_every_item_of_the_paper_is_listed_with_its_number(paper) -> None:
    items = {item.name: item for item in paper.items}
    figures = [f"Figure {k}" for k in range(1, 17)]
    assert list(items) == ["Table 1", "Table 2", *figures, *(
        f"Proposition {k}" for k in ("5.1", "5.2", "6.1")
    )]  # fmt: skip
    drawn = paper.figures()
    assert all(item.figure in drawn for item in paper.items if item.figure is not None)
    states = {name: item.status for name, item in items.items()}
    others = {"Table 2": "simulated", "Figure 7": "simulated", "Figure 1": "not possible"}
    assert {name: states.pop(name) for name in others} == others
    assert {*states.values()} == {"reproduced", "with differences"}
    exact = ("Table 1", "Figure 4", "Figure 8", "Proposition 6.1")
    assert {states[name] for name in exact} == {"reproduced"}
    assert {states[name] for name in ("Figure 3", "Proposition 5.1")} == {"with differences"}
    compared = [value for item in items.values() for value in item.values if value.differs]
    assert all(value.why and "not the authors" not in value.why for value in compared)
    assert pytest.approx(_listing(0.55, 0.7, 0.9, 1000, 100, 100), abs=1e-6) == LISTING
    numbers = {
        (name, value.name): (round(value.ours, value.digits), value.published)
        for name, item in items.items()
        for value in item.values
        if value.ours is not None
    }
    assert numbers["Figure 8", "low"] == (0.3006, LISTING[0])
    assert numbers["Figure 3", "equal split, p = 0.3"] == (362, 200)
    assert numbers["Figure 2", "rate at which the judge's bias changes sign"] == (0.751, 0.75)
    assert numbers["Figure 4", "least q0 = q1"] == (0.854, 0.854)
    assert numbers["Proposition 5.1", "labels, the same of each class, from"] == (6, None)
    name = "|bias| after / before, at most, with this many labels"
    assert numbers["Proposition 5.1", name] == (0.782, pytest.approx(1.6 / 0.36 / 6))
    assert numbers["Table 1", "(v) misclassification"][0] == pytest.approx(0, abs=0.005)


def test_noise_is_what_another_seed_does(paper) -> None:
    """Of all numbers with noise from draws, about 95 % are within the noise of two runs."""
    other = reproduce_reporting(repeats=paper.settings["repeats"], splits=2, sample=300, seed=77)
    pairs = [
        (one, again)
        for item, twin in zip(paper.items, other.items, strict=True)
        for one, again in zip(item.values, twin.values, strict=True)
        if one.noise is not None and one.published is not None and one.noise > 1e-6
    ]
    apart = [
        abs(one.ours - again.ours) <= 2**0.5 * max(one.noise, again.noise) for one, again in pairs
    ]
    assert len(apart) > 20
    assert np.mean(apart) > 0.85


def test_proposition_51_is_above_its_bound_and_refuses_coins() -> None:
    for q in (0.51, 0.6, 0.75, 0.9, 1.0):
        labels = proposition_51(q)
        assert labels is not None
        bound = 2 * q / (2 * q - 1) ** 2
        assert labels % 2 == 0
        assert bound < labels + 1e-9
        assert labels - 2 <= bound + 1e-9
    assert proposition_51(0.75) == 8  # the bound is exactly 6, and must be exceeded
    assert proposition_51(0.5) is None
    with pytest.raises(ArgumentError, match="from 0 to 1"):
        proposition_51(1.2)


def test_table_2_on_probabilities_covers_too_often_by_eq_6(paper) -> None:
    models = paper.rows("protocol")
    assert all(abs(row["bias"]) < 0.02 for row in models)
    assert np.mean([row["coverage"] for row in models]) > 0.975


def test_probabilities_that_are_0_and_1_are_verdicts() -> None:
    rng = np.random.default_rng(3)
    human = (rng.random(300) < 0.6).astype(int)
    judge = np.where(rng.random(300) < 0.85, human, 1 - human)
    verdicts = {"model": ["m"] * 300, "judge": judge, "human": human}
    words = np.where(human == 1, "pass", "fail")
    grades = {"model": ["m"] * 300, "p_pass": judge.astype(float), "human": words}
    one, other = (protocol(rows, splits=20) for rows in (verdicts, grades))
    assert one.rows("protocol") == other.rows("protocol")
    winners = np.where(human == 1, "A", "B")
    sides = {"model_a": ["x"] * 300, "model_b": ["y"] * 300, "label": winners}
    said = protocol({**sides, "judge": np.where(judge == 1, "A", "B")}, splits=20)
    shares = protocol({**sides, "p_a": judge.astype(float)}, splits=20)
    said, shares = (
        [{**row, "judge": ""} for row in done.rows("protocol")] for done in (said, shares)
    )
    assert said == shares
    with pytest.raises(DataError, match="has 2 judges: one, two"):
        protocol({**sides, "p_a": judge * 0.5, "judge": ["one", "two"] * 150})


def test_table_2_is_compared_only_with_the_papers_judge_and_models() -> None:
    rng = np.random.default_rng(0)
    rows = {"model_a": ["gpt-4"] * 200, "model_b": ["llama-13b"] * 200,
            "label": np.where(rng.random(200) < 0.7, "A", "B"), "p_a": rng.random(200)}  # fmt: skip

    def table_2(judge: str) -> tuple[str, str, str]:
        done = protocol({**rows, "judge": [judge] * 200}, splits=5)
        item = next(item for item in done.items if item.name == "Table 2")
        return item.status, item.reason, str(done)

    status, reason, text = table_2("openai:gpt-4.1-mini")
    assert (status, reason) == ("with differences", "2 of the paper's 6 rows")
    assert "  paper  " in text
    for judge in ("gpt-4o", "simulated:accuracy=0.8"):
        status, _, text = table_2(judge)
        assert status == ("simulated" if "sim" in judge else "other judges or data")
        assert "  paper  " not in text.split("Tables, figures and claims")[0].split("Table 2")[1]
        # The published table is shown whole.
        assert "Table 2 and Figure 7, Chatbot Arena: as published" in text
        assert "fastchat-t5-3b" in text


def test_a_judge_is_asked_about_pairs_and_about_items() -> None:
    pairs = [
        {"id": pair.id, "prompt": pair.prompt, "response_a": pair.response_a,
         "response_b": pair.response_b, "label": pair.label, "model_a": "x", "model_b": "y"}
        for pair in simulate_pairs(120, seed=2)
    ]  # fmt: skip
    judge = "simulated:accuracy=0.85,noise=0.6,seed=1"
    done = protocol(pairs, judge=judge, sample=100, splits=10, store=None)
    assert [(row["model"], row["rows"]) for row in done.rows("protocol")] == [
        ("x", 100),
        ("y", 100),
    ]
    x, y = done.rows("protocol")
    assert x["judge"] == y["judge"] == judge
    assert x["bias_naive"] == pytest.approx(-y["bias_naive"], abs=0.1)
    items = [
        {"id": item.id, "prompt": item.prompt, "response": item.response, "model": "z",
         "reference": item.extra["reference"], "human": item.extra["human"]}
        for item in simulate_items(60, seed=2)
    ]  # fmt: skip
    done = protocol(items, judge=judge, splits=10, store=None)
    assert [(row["model"], row["rows"]) for row in done.rows("protocol")] == [("z", 60)]
    with pytest.raises(ArgumentError, match="pairs or items"):
        protocol(judge=judge)


def test_figure_7_counts_every_model_and_says_how_many_splits_spoke() -> None:
    rng = np.random.default_rng(0)
    models = [f"m{k:02d}" for k in range(30)]
    human = {m: (rng.random(60) < 0.5).astype(int) for m in models}
    judge = {m: np.where(rng.random(60) < 0.9, human[m], 1 - human[m]) for m in models}
    human["m29"][:] = 1
    rows = [
        {"model": m, "human": int(h), "judge": int(j)}
        for m in models
        for h, j in zip(human[m], judge[m], strict=True)
    ]
    done = protocol(rows, splits=20)
    axes = done.plot(figure="figure7").axes[0]
    better = sum(
        abs(row["bias"]) < abs(row["bias_naive"])
        for row in done.rows("protocol")
        if row["bias"] is not None
    )
    title = f"Correction brings {better} of 29 models closer to the human rate"
    assert axes.get_title(loc="left") == f"{title}\n1 more without an estimate"
    assert axes.get_xlabel().endswith("the 24 models with most rows")
    labels = [tick.get_text() for tick in axes.get_yticklabels()]
    assert len(labels) == 24
    for label, row in zip(labels, done.rows("protocol"), strict=False):
        refused = f" ({20 - row['refused']} splits)" if row["refused"] else ""
        assert label == row["model"] + refused


def test_rows_without_a_model_are_counted_and_are_no_model() -> None:
    rows = {"judge": [1, 0] * 40, "human": [1, 0] * 40, "model": ["m"] * 50 + [None] * 30}
    done = protocol(rows, splits=5)
    assert [row["model"] for row in done.rows("protocol")] == ["m"]
    assert done.dropped == {"no by value": 30}
    winners = ["model_a", "model_b"] * 40
    battles = {"judge": winners, "human": winners, "model_a": ["x"] * 80}
    done = protocol(battles | {"model_b": ["y"] * 50 + [None] * 30}, splits=5)
    assert {row["model"]: row["rows"] for row in done.rows("protocol")} == {"x": 50, "y": 50}
    assert done.dropped == {"no model named": 30}


def answers(n: int = 160) -> dict[str, list[Any]]:
    rng = np.random.default_rng(5)
    human = (rng.random(n) < 0.6).astype(int)
    judge = np.where(rng.random(n) < 0.85, human, 1 - human)
    return {
        "id": [f"r{at}" for at in range(n)],
        "model": ["x", "y"] * (n // 2),
        "judge": judge.tolist(),
        "human": human.tolist(),
        "status": ["ok"] * n,
        "sampled_by": ["random"] * n,
    }


@pytest.mark.attack("status")
def test_grades_go_through_the_steps_of_all_rows() -> None:
    rows = answers()
    failed = {"id": "bad", "model": "x", "judge": 1, "human": 0, "status": "refused"}
    more = [
        {**failed, "sampled_by": "random"},
        {**failed, "id": "chosen", "status": "ok", "sampled_by": "doubt"},
        {name: values[0] for name, values in rows.items()},
    ]
    both = {name: [*values, *(row[name] for row in more)] for name, values in rows.items()}
    done = protocol(both, splits=5)
    assert done.rows("protocol") == protocol(rows, splits=5).rows("protocol")
    assert done.dropped == {
        "the same row again": 1,
        "label sampled by doubt: not used, its row is unlabelled": 1,
        "status refused": 1,
        "no label": 1,
    }
    with pytest.raises(DataError, match="made by a model"):
        protocol({**rows, "labelled_by": ["model"] * len(rows["id"])}, splits=5)
    scaled = [0.9 if at % 2 and one else one for at, one in enumerate(rows["judge"])]
    warned = protocol({**rows, "judge": scaled}, splits=5).warnings
    assert warned == ("two scales: 0 and 1 on x, probabilities on y",)


@pytest.mark.attack("status")
def test_pairs_go_through_the_steps_of_all_rows() -> None:
    rows = answers()
    sides = {"model_a": ["x"] * 160, "model_b": ["y"] * 160, "id": rows["id"]}
    pairs = {**sides, "p_a": [0.8 if one else 0.3 for one in rows["judge"]]}
    pairs["label"] = ["A" if one else "B" for one in rows["human"]]
    pairs["status"] = rows["status"]
    failed = {"id": "bad", "status": "error", "p_a": None, "label": "A"}
    again = {name: values[0] for name, values in pairs.items()}
    more = [{"model_a": "x", "model_b": "y", **failed}, again]
    both = {name: [*values, *(row[name] for row in more)] for name, values in pairs.items()}
    done = protocol(both, splits=5)
    assert done.rows("protocol") == protocol(pairs, splits=5).rows("protocol")
    assert done.dropped == {"the same row again": 1, "status error": 1}


def test_the_soft_elo_release_is_read_with_its_own_sides() -> None:
    n = 120
    # In the release 0 means that A won, for people and for the judge.
    pref = [0.0, 0.0, 1.0] * (n // 3)
    rows = {
        "row_id": list(range(n)), "model_a": ["x"] * n, "model_b": ["y"] * n, "human_pref": pref,
        "judge_pref": pref, "scores_a": ["{'clarity': 9.0}"] * n,
        "scores_b": ["{'clarity': 4.0}"] * n,
    }  # fmt: skip
    done = protocol(rows, splits=5)
    assert {row["model"]: row["rate"] for row in done.rows("protocol")} == {
        "x": pytest.approx(2 / 3), "y": pytest.approx(1 / 3)
    }  # fmt: skip
    assert [row["bias_naive"] for row in done.rows("protocol")] == [0, 0]
    with pytest.raises(ArgumentError, match="the SoftElo release has columns of its own"):
        protocol(rows, judge_column="judge_pref", splits=5)
