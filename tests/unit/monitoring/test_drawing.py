"""Which rows are drawn, in which order, and what a second draw adds."""

from __future__ import annotations

import polars as pl
import pytest
from scipy import stats

from adjudge.cli import run
from adjudge.data import write_rows
from adjudge.errors import ArgumentError, DataError
from adjudge.monitoring import AuditCoin, draw_audits

SECRET = "a secret for these tests"


def served(n: int, first: int = 0) -> pl.DataFrame:
    ids = [f"r{i}" for i in range(first, first + n)]
    kept = [i % 4 != 0 for i in range(first, first + n)]
    return pl.DataFrame({"id": ids, "judge": "j", "verdict": "A", "p_a": 0.9, "accepted": kept})


def test_the_coin_is_fair_repeatable_and_another_with_another_secret() -> None:
    names = [f"id-{i}" for i in range(5_000)]
    rate = 0.05
    drawn = {name for name in names if AuditCoin(rate, SECRET).draws(name)}
    assert drawn == {name for name in names if AuditCoin(rate, SECRET).draws(name)}
    assert stats.binomtest(len(drawn), len(names), rate).pvalue > 1e-4
    more = {name for name in names if AuditCoin(0.1, SECRET).draws(name)}
    assert drawn < more
    other = {name for name in names if AuditCoin(rate, SECRET + "!").draws(name)}
    assert stats.binomtest(len(drawn & other), len(drawn), rate).pvalue > 1e-4
    assert all(AuditCoin(1, SECRET).draws(name) for name in names[:100])


def test_accepted_rows_are_drawn_in_their_order_and_the_others_are_counted() -> None:
    rows = pl.concat([served(40), served(3)])  # the first three ids come again
    run_ = draw_audits(rows, audit_rate=0.5, secret=SECRET)
    coin = AuditCoin(0.5, SECRET)
    expected = [n for n, a in served(40).select("id", "accepted").rows() if a and coin.draws(n)]
    assert run_.rows["id"].to_list() == expected
    assert run_.rows["drawn"].to_list() == list(range(1, len(expected) + 1))
    assert set(run_.rows["sampled_by"]) == {"audit"}
    assert run_.rows.columns[:4] == ["id", "drawn", "sampled_by", "audit_rate"]
    assert run_.summary.dropped == {"not accepted": 11, "id served before": 2}
    assert (run_.summary.n_served, run_.summary.n_accepted) == (43, 30)


def test_a_later_draw_continues_the_numbers_and_changes_nothing_drawn_before() -> None:
    first = draw_audits(served(40), audit_rate=0.5, secret=SECRET)
    more = draw_audits(served(80), audit_rate=0.5, secret=SECRET, earlier=first.rows)
    apart = draw_audits(served(40, 40), audit_rate=0.5, secret=SECRET, earlier=first.rows)
    assert more.rows.equals(apart.rows)
    assert more.rows[: first.rows.height].equals(first.rows)
    assert more.summary.n_new == more.rows.height - first.rows.height > 0
    whole = draw_audits(served(80), audit_rate=0.5, secret=SECRET)
    assert more.rows.equals(whole.rows)


def test_earlier_audits_of_another_shape_are_refused_by_column() -> None:
    first = draw_audits(served(40), audit_rate=0.5, secret=SECRET).rows
    odd = first.with_columns(p_a=pl.concat_list("p_a", "p_a"))
    with pytest.raises(DataError, match="column p_a: has List.Float64. here, but Float64 in"):
        draw_audits(served(80), audit_rate=0.5, secret=SECRET, earlier=odd)
    text = draw_audits(served(80), audit_rate=0.5, secret=SECRET,
                       earlier=first.with_columns(p_a=pl.lit("high")))  # fmt: skip
    assert set(text.rows["p_a"]) == {"high", "0.9"}


def test_columns_of_the_rows_called_like_ours_are_kept_under_another_name() -> None:
    rows = served(9).with_columns(sampled_by=pl.lit("random"), drawn=pl.lit(7))
    out = draw_audits(rows, audit_rate=1, secret=SECRET).rows
    assert set(out["input_sampled_by"]) == {"random"}
    assert set(out["input_drawn"]) == {7}


def test_what_is_refused() -> None:
    rows = served(9)
    for call, message in (
        (lambda: AuditCoin(0, SECRET), "audit_rate = 0: give a number above 0"),
        (lambda: AuditCoin(0.1, "short"), "secret = '5 characters': give at least 16"),
        (
            lambda: draw_audits(rows.drop("accepted"), audit_rate=1, secret=SECRET),
            "column accepted: is missing; give the rows that adjudge select wrote",
        ),
        (
            lambda: draw_audits(
                rows.with_columns(accepted=pl.lit("maybe")), audit_rate=1, secret=SECRET
            ),
            "'maybe' is not true or false",
        ),
        (
            lambda: draw_audits(rows.with_columns(judge=pl.col("id")), audit_rate=1, secret=SECRET),
            "judge = None: choose one of r0, r1",
        ),
        (
            lambda: draw_audits(rows, audit_rate=1, secret=SECRET, judge="k"),
            "judge = 'k': the rows have j",
        ),
    ):
        with pytest.raises((ArgumentError, DataError)) as caught:
            call()
        assert message in str(caught.value)


def test_the_verb_writes_the_same_file_twice(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_rows(served(40), "served.csv")
    monkeypatch.setenv("AUDIT_SECRET", SECRET)
    command = [
        "monitor",
        "draw",
        "served.csv",
        "--audit-rate",
        "0.5",
        "--secret-env",
        "AUDIT_SECRET",
    ]
    assert run([*command, "-o", "a.csv"]) == 0
    assert "14 audits drawn at a rate of 50 %; 30 of 40 rows served" in capsys.readouterr().out
    assert run([*command, "--earlier", "a.csv", "-o", "b.csv"]) == 0
    with open("a.csv") as a, open("b.csv") as b:
        assert a.read() == b.read()
    # The file that is continued may be written over; the served rows may not.
    assert run([*command, "--earlier", "a.csv", "-o", "a.csv"]) == 0
    assert run([*command, "-o", "served.csv"]) == 1
    assert run(["monitor", "draw", "served.csv", "--secret-env", "AUDIT_SECRET"]) == 1
    assert "audit_rate = None: give a share" in capsys.readouterr().err
