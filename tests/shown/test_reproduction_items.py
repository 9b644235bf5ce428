"""What the list of a paper's tables, figures and claims shows."""

from __future__ import annotations

from dataclasses import replace

from adjudge_papers.items import ItemValue, PaperItem, ReproductionItems
from shown import assert_shown, terminal_lines

TABLE = PaperItem(
    paper="soft-elo", name="Table 2", about="Held-out error", status="with differences",
    values=(
        ItemValue(name="mean error, hard", ours=47.25, published=45.9),
        ItemValue(name="change of Spearman, least", ours=-0.0042, published=-0.011, digits=3),
        ItemValue(name="judges", ours=3.0, digits=0),
        ItemValue(name="c = 0.75", ours=26.93, published=26.9, noise=0.05),
        ItemValue(name="c = 0.95", ours=58.6, published=57.6, noise=0.05, why="other battles"),
    ),
    figure="errors", reason="3 of the paper's 8 judges",
)  # fmt: skip
ITEMS = ReproductionItems(
    items=(
        TABLE,
        PaperItem(
            paper="soft-elo", name="Figure 11", about="Order", status="not possible",
            reason="the rows hold the mean of both orders",
        ),
        PaperItem(
            paper="soft-elo", name="Table 1", about="Agreement", status="other judges or data",
            values=(ItemValue(name="kappa, least", ours=0.21, published=0.147, digits=3),),
            reason="mine.csv",
        ),
        PaperItem(
            paper="diagnosis", name="Table 1", about="Cycles", status="simulated",
            values=(ItemValue(name="rate", ours=0.031, published=0.028, digits=3),),
        ),
    )
)  # fmt: skip


def test_items_of_two_papers() -> None:
    assert_shown(
        ITEMS,
        [
            "4 items: 1 with differences, 1 other judges or data, 1 simulated, 1 not possible",
            "Status of each paper's items",
            "paper | items | reproduced | with differences | other judges or data | simulated | "
            "not possible",
            "soft-elo | 3 | 0 | 1 | 1 | 0 | 1",
            "diagnosis | 1 | 0 | 0 | 0 | 1 | 0",
            "soft-elo, 3 items: 1 with differences, 1 other judges or data, 1 not possible",
            "item | about | status | value | ours | paper | difference",
            "Table 2 | Held-out error | with differences | mean error, hard | 47.2 | 45.9 | +1.4",
            "Table 2 | Held-out error | with differences | change of Spearman, least | -0.004 | "
            "-0.011 | +0.007",
            "Table 2 | Held-out error | with differences | judges | 3 | – | –",
            "Table 2 | Held-out error | with differences | c = 0.75 | 26.9 | 26.9 | +0.0, equal "
            "within noise",
            "Table 2 | Held-out error | with differences | c = 0.95 | 58.6 | 57.6 | +1.0, differs: "
            "other battles",
            "Figure 11 | Order | not possible | the rows hold the mean of both orders | – | – | –",
            "Table 1 | Agreement | other judges or data | kappa, least | 0.210 | – | –",
            "3 of the paper's 8 judges: Table 2",
            "mine.csv: Table 1",
            "diagnosis, 1 item: 1 simulated",
            "item | about | status | value | ours | paper | difference",
            "Table 1 | Cycles | simulated | rate | 0.031 | 0.028 | –",
        ],
    )
    assert terminal_lines(replace(ITEMS, items=()))[0] == "no items"


def test_items_as_a_table() -> None:
    frame = ITEMS.to_frame()
    assert frame["item"].to_list() == [
        *["Table 2"] * 5,
        "Figure 11",
        "Table 1",
        "Table 1",
    ]
    assert frame["ours"].to_list() == [47.25, -0.0042, 3.0, 26.93, 58.6, None, 0.21, 0.031]
