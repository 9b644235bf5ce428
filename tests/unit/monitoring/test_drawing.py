"""Which rows are drawn, in which order, and what a second draw adds."""

from __future__ import annotations

import polars as pl
import pytest
from scipy import stats

from adjudge.cli import run
from adjudge.data import read_judgments, write_rows
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
    assert run_.summary.dropped == {"the same row again": 3, "not accepted": 10}
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
    rows = served(80).with_columns(size=0.9)
    odd = first.with_columns(size=pl.concat_list("p_a", "p_a"))
    with pytest.raises(DataError, match="column size: has List.Float64. here, but Float64 in"):
        draw_audits(rows, audit_rate=0.5, secret=SECRET, earlier=odd)
    text = draw_audits(rows, audit_rate=0.5, secret=SECRET,
                       earlier=first.with_columns(size=pl.lit("high")))  # fmt: skip
    assert set(text.rows["size"]) == {"high", "0.9"}
    for wrong in (pl.concat_list("p_a", "p_a"), pl.lit("high")):
        other = first.with_columns(p_a=wrong)
        with pytest.raises(DataError, match="row 1, column p_a"):
            draw_audits(rows, audit_rate=0.5, secret=SECRET, earlier=other)


def test_rows_that_the_judge_failed_are_counted_by_status_and_never_drawn() -> None:
    rows = served(12).with_columns(status=pl.lit("ok")).rows(named=True)
    rows[1] |= {"status": "refused"}
    rows[2] |= {"p_a": None, "verdict": "timeout"}
    rows[3] |= {"p_a": None, "verdict": None}
    rows[4] |= {"status": " ERROR "}  # not accepted either
    run_ = draw_audits(rows, audit_rate=1, secret=SECRET)
    assert run_.rows["id"].to_list() == ["r5", "r6", "r7", "r9", "r10", "r11"]
    assert run_.summary.dropped == {
        "status error": 2,
        "status refused": 1,
        "not accepted": 2,
        "accepted without a verdict": 1,
    }
    assert (run_.summary.n_served, run_.summary.n_accepted) == (12, 6)


def test_audits_of_rows_with_words_of_a_failure_can_be_read_again() -> None:
    rows = served(12).rows(named=True)
    rows[2] |= {"p_a": None, "verdict": "timeout"}
    audits = draw_audits(rows, audit_rate=1, secret=SECRET).rows
    assert set(audits["status"]) == {"ok"}
    assert read_judgments(audits)["status"].to_list() == ["ok"] * 8


def test_one_id_is_one_audit_and_one_verdict(caplog: pytest.LogCaptureFixture) -> None:
    rows = served(8)
    other = rows.with_columns(p_a=0.2, verdict=pl.lit("B"))
    with pytest.raises(DataError, match="id 'r0', judge 'j' is in the file twice"):
        draw_audits(pl.concat([rows, other]), audit_rate=1, secret=SECRET)
    # Two protocols are two rows: the first that was accepted is the audit.
    asked = [rows.with_columns(protocol=pl.lit(name)) for name in ("preference", "likelihood")]
    run_ = draw_audits(pl.concat(asked), audit_rate=1, secret=SECRET)
    assert set(run_.rows["protocol"]) == {"preference"}
    assert run_.summary.dropped == {"not accepted": 4, "id served before": 6}
    assert "audits are drawn among 2 protocols: likelihood, preference" in caplog.text


def test_ids_that_are_alike_are_named_also_between_two_draws(
    caplog: pytest.LogCaptureFixture,
) -> None:
    first = draw_audits(served(8), audit_rate=1, secret=SECRET).rows
    again = served(8).with_columns(pl.col("id").str.to_uppercase())
    assert "nearly equal" not in caplog.text
    both = draw_audits(again, audit_rate=1, secret=SECRET, earlier=first).rows
    assert both.height == 12
    assert "6 ids are nearly equal to another" in caplog.text


def test_rows_and_earlier_audits_are_read_in_any_spelling() -> None:
    rows = served(20).with_columns(status=pl.lit("ok"))
    plain = draw_audits(rows, audit_rate=0.5, secret=SECRET)
    first = draw_audits(rows[:10], audit_rate=0.5, secret=SECRET).rows
    names = {"id": "Id", "accepted": "ACCEPTED", "status": "Status", "verdict": "Verdict "}
    spelled = rows.rename(names).with_columns(pl.lit(" a ").alias("Verdict "))
    assert (
        draw_audits(spelled, audit_rate=0.5, secret=SECRET).rows["verdict"].to_list()
        == ["A"] * plain.rows.height
    )
    earlier = first.rename({"drawn": "Drawn", "id": "ID"})
    both = draw_audits(spelled, audit_rate=0.5, secret=SECRET, earlier=earlier)
    assert both.rows.select("id", "drawn").equals(plain.rows.select("id", "drawn"))


def test_a_flag_of_a_failure_is_named_and_read_when_the_caller_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    rows = served(8).with_columns(is_error=pl.col("id") == "r1")
    assert draw_audits(rows, audit_rate=1, secret=SECRET).rows.height == 6
    assert "--column status=is_error (columns=)" in caplog.text
    run_ = draw_audits(rows, audit_rate=1, secret=SECRET, columns={"status": "is_error"})
    assert "r1" not in run_.rows["id"].to_list()
    assert run_.summary.dropped == {"status error": 1, "not accepted": 2}


def test_grades_are_drawn_with_their_words() -> None:
    rows = {
        "id": list("abcd"),
        "judge_name": ["j", "j", "j", "j"],
        "judge": [1, 0, 1, None],
        "p_pass": [0.9, 0.1, 0.8, None],
        "status": ["ok", "ok", "ok", "error"],
        "accepted": [True, True, False, True],
    }
    run_ = draw_audits(rows, audit_rate=1, secret=SECRET)
    assert run_.rows.select("id", "judge", "p_pass").rows() == [("a", 1, 0.9), ("b", 0, 0.1)]
    assert run_.summary.dropped == {"status error": 1, "not accepted": 1}
    words = {"id": ["a", "b"], "verdict": ["pass", "Fail"], "accepted": [True, True]}
    assert draw_audits(words, audit_rate=1, secret=SECRET).rows["verdict"].to_list() == [
        "pass",
        "Fail",
    ]


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


def test_of_a_conversation_one_turn_is_drawn_at_random() -> None:
    """Turns of one conversation are wrong together: a second one is no new evidence."""
    row = pl.int_range(pl.len())
    rows = served(4_000).with_columns(conversation_id=pl.format("c{}", row // 8), turn=row % 8)
    drawn = draw_audits(rows, audit_rate=0.5, secret=SECRET).rows
    assert drawn["conversation_id"].is_unique().all()
    assert drawn.height > 480
    counts = drawn["turn"].value_counts().sort("turn")["count"].to_list()
    assert len(counts) == 6  # two of eight are not accepted
    assert stats.chisquare(counts).pvalue > 1e-4
    again = draw_audits(rows, audit_rate=1, secret=SECRET, earlier=drawn)
    assert again.rows["conversation_id"].is_unique().all()
    alone = rows.with_columns(conversation_id=pl.lit(None, pl.String))
    whole = draw_audits(rows.drop("conversation_id"), audit_rate=0.5, secret=SECRET).rows
    assert draw_audits(alone, audit_rate=0.5, secret=SECRET).rows["id"].equals(whole["id"])
