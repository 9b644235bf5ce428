"""What the reproduction of the Soft-Elo paper shows: our numbers, the paper's, and the picture."""

from __future__ import annotations

from dataclasses import replace

import pytest

from adjudge_papers.items import ItemValue, PaperItem
from adjudge_papers.paper import MeasuredTable
from adjudge_papers.soft_elo import SoftEloReproduction
from shown import terminal_lines, words


def _judge(judge: str, hard: float, soft: float, **others: object) -> dict[str, object]:
    return {"corpus": "lmarena100k", "judge": judge, "battles": 700, "models": 22,
            "hard_mae": hard, "soft_mae": soft, **others}  # fmt: skip


PAPER = SoftEloReproduction(
    settings={"splits": 5, "draws": 50},
    seed=42,
    tables=(
        MeasuredTable(
            name="judges", data="lmarena100k", source="yours",
            rows=(
                _judge("mine", 40.0, 30.0),
                _judge("Qwen3-32B", 28.1, 16.9, mean_score=1.49, kappa=0.171, beta=0.482,
                       hard_spearman=0.961, hard_width=140.2, hard_width_low=80.0,
                       hard_width_high=190.0, hard_coverage=0.9),
            ),
        ),
        MeasuredTable(
            name="languages", data="lmarena100k", source="yours",
            rows=({"corpus": "lmarena100k", "language": "en", "judges": 2, "prompts": 812,
                   "hard_mae": 87.3, "soft_mae": 21.4, "own_beta": 0.49, "agreement": 0.671,
                   "mean_score": 1.62, "mean_score_sd": 0.2, "agreement_sd": 0.03},),
        ),
    ),
    items=(
        PaperItem(paper="soft-elo", name="Table 2", about="Held-out error", status="reproduced",
                  values=(ItemValue(name="mean error, hard", ours=28.1, published=27.5),),
                  reason="1 of the paper's 8 rows"),
        PaperItem(paper="soft-elo", name="Figure 10", about="Languages", status="reproduced",
                  figure="figure-10"),
    ),
    warnings=("Qwen3-32B, lmarena100k: low beta",),
)  # fmt: skip


def test_the_soft_elo_paper() -> None:
    lines = terminal_lines(PAPER)
    assert lines[:6] == [
        "Soft targets cut the held-out error by 32 %, the mean over 2 runs of judges on corpora: "
        "34.0 hard, 23.4 soft",
        "The paper has 27.5 hard, 16.7 soft for 1 of them.",
        "Tables 1, 2 and 4, held-out error in Elo: lmarena100k",
        "corpus, judge | |s| | kappa | beta | hard | soft | rho hard",
        "lmarena100k, mine | – | – | – | 40.0 | 30.0 | –",
        "lmarena100k, Qwen3-32B | 1.49 | 0.171 | 0.48 | 28.1 | 16.9 | 0.961",
    ]
    assert lines[6] == "paper | 1.51 | 0.162 | 0.50 | 27.5 | 16.7 | 0.968"
    assert lines[7] == "Tables 1, 2 and 4, held-out error in Elo: as published"
    # Every published row, whichever judges are here.
    assert "comparia, Qwen3-32B | – | 0.124 | 0.13 | 62.4 | 49.7 | 0.808 | 0.577" in lines
    assert "lmarena100k, Qwen3-32B | 140 [80, 190] | 90 %" in lines
    assert "paper | 132 [79, 184] | 88.6 %" in lines
    assert "lmarena100k, DeepSeek-V3.2 | 39.5 | 27.4 | 30.2 | 48.3 | 74" in lines
    # The paper's languages are means over eight judges, ours over two.
    at = lines.index("lmarena100k, en, 2 | 812 | 87.3 | 21.4 | 1.62 | 67.1 % | 0.49")
    assert lines[at + 1].startswith("Table 6 and appendix E, by language")
    assert "lmarena100k, en, 8 | 13,423 | 86.6 | 20.6 | 0.920 | 0.923" in lines
    assert "Table 2 | Held-out error | reproduced | mean error, hard | 28.1 | 27.5 | +0.6" in lines
    assert "1 of the paper's 8 rows: Table 2" in lines
    assert "warning: Qwen3-32B, lmarena100k: low beta" in lines
    assert PAPER.to_frame()["judge"].to_list() == ["mine", "Qwen3-32B"]


def test_what_is_simulated_or_missing_is_said() -> None:
    invented = replace(
        PAPER, tables=tuple(replace(table, source="simulated") for table in PAPER.tables)
    )
    lines = terminal_lines(invented)
    assert lines[1].startswith("Simulated battles of the release's shape")
    assert not any(line.startswith("paper |") for line in lines)
    assert invented.plot().texts[-1].get_text() == "simulated"
    none = replace(PAPER, tables=())
    assert terminal_lines(none)[0] == "No judge could be compared with people"


def test_languages_as_a_picture() -> None:
    assert list(PAPER.figures()) == ["figure-10"]
    figure = PAPER.plot()
    assert not figure.texts
    assert [words(axes)[::2] for axes in figure.axes] == [
        ("Mean |s| from 1.62", "mean |s|"),
        ("Agreement, %, from 67", "people take the judge's side, %"),
    ]
    heights = [bar.get_height() for axes in figure.axes for bar in axes.patches]
    assert heights == pytest.approx([1.62, 67.1])
