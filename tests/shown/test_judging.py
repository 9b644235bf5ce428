"""What a run of a judge, its plan, the list of weights and a labelling round show."""

from __future__ import annotations

from dataclasses import replace

from adjudge.judges.summary import Judging, JudgingPanel, JudgingPlan, JudgingPlans
from adjudge.judges.weights import KnownModel, ModelList
from adjudge.server.label_summary import (
    LabellingSummary,
    RaterAgreement,
    RaterComment,
    RaterSummary,
)
from shown import assert_shown, html_lines, terminal_lines

RUN = Judging(
    judge="openai:gpt-x",
    protocol="preference",
    judge_fingerprint="f" * 16,
    subjects=130,
    dropped={"no second answer": 4},
    notes=("votes on turn 1 only",),
    rows=120,
    statuses={"ok": 111, "censored": 6, "error": 3},
    measured=117,
    not_asked=10,
    calls={"ok": 230, "error": 5},
    reused=12,
    first_slot_share=0.613,
    first_slot_orders=234,
    agreement=0.7321,
    agreement_rows=56,
    undecided=2,
    prompt_tokens=12345,
    completion_tokens=678,
    calls_without_tokens=1,
    cost=1.25,
    cost_this_run=0.75,
    price_source="prices of 2025-06",
    elapsed_s=9.5,
    calls_per_second=24.7,
    stopped="max_cost",
    output="out.jsonl",
    store="adjudge.db",
)


def test_a_run() -> None:
    assert_shown(
        RUN,
        [
            "bad: openai:gpt-x asked by preference: 120 rows, 111 ok, 6 censored, 3 error",
            "Rows without a score are not used by other commands.",
            "calls | 235 | 9.5 s, 24.7 a second, 5 error, 12 reused",
            "answer shown first preferred | 61.3 % | of 234 answers",
            "verdict matches label | 73.2 % | of 56 rows with both",
            "no verdict | 2 | of 117 scored rows: neither answer is ahead",
            "cost this run | $0.7500 | $1.2500 for all rows; prices of 2025-06",
            "left out 4 input rows: no second answer",
            "10 of 130 subjects not asked yet",
            "rows written to out.jsonl",
            "note: votes on turn 1 only",
            "detail: Details",
            "detail: tokens this run: 13,023, 12,345 read, 678 written; 1 call without a count",
        ],
    )


def test_ties_and_the_probability_of_the_letters() -> None:
    run = replace(
        RUN,
        statuses={"ok": 100, "off_answer": 20},
        measured=100,
        judge_ties=7,
        median_answer_mass=0.0312,
        min_answer_mass=0.1,
    )
    lines = html_lines(run)
    assert lines[0] == "bad: openai:gpt-x asked by preference: 120 rows, 100 ok, 20 off_answer"
    assert "no verdict | 9 | of 100 scored rows: 7 judge ties, never accepted" in lines
    limit = "median; a row below 10 % is off_answer"
    assert f"probability of the letters | 3.1 % | {limit}" in lines
    sure = html_lines(replace(run, median_answer_mass=0.98))
    assert f"detail: probability of the letters asked for: 98 %, {limit}" in sure


def test_a_run_is_eight_lines_at_most_with_the_next_step() -> None:
    usual = replace(
        RUN, rows=117, measured=117, statuses={"ok": 117}, not_asked=0, dropped={}, notes=(),
        judge_ties=3, median_answer_mass=0.99, min_answer_mass=0.1,
    )  # fmt: skip
    assert len(str(usual).splitlines()) <= 7


def test_a_clean_run_claims_no_loss_and_a_stopped_one_says_how_to_resume() -> None:
    clean = replace(RUN, rows=117, measured=117, statuses={"ok": 117}, cost=0.0, cost_this_run=0.0)
    assert html_lines(clean)[0] == "openai:gpt-x asked by preference: 117 rows, 117 ok"
    assert "take part in nothing else" not in str(clean)
    assert "cost | none" in terminal_lines(clean)
    stopped = replace(RUN, stopped="interrupted")
    assert str(stopped).splitlines()[:2] == [
        "openai:gpt-x asked by preference: interrupted, 120 complete rows written",
        "Run the same command again to resume.",
    ]
    stopped = replace(stopped, rows=0, measured=0, statuses={}, not_asked=None)
    assert str(stopped).splitlines()[:2] == [
        "openai:gpt-x asked by preference: interrupted, no rows written",
        "Run the same command again to resume.",
    ]
    fast = replace(RUN, elapsed_s=0.0693, calls_per_second=3391.1)
    assert "0.069 s, 3,391 a second" in str(fast)
    unknown = replace(RUN, cost=None, cost_this_run=None)
    assert "no price for this model: give --prices FILE" in str(unknown)


PLAN = JudgingPlan(
    judge="openai:gpt-x",
    protocol="preference",
    judge_fingerprint="f",
    subjects=50,
    calls=100,
    kept=40,
    to_ask=60,
    prompt_tokens_estimate=30_000,
    completion_tokens_most=70,
    cost_estimate=0.0123,
    price_source="prices of 2025-06",
)


def test_a_plan() -> None:
    assert_shown(
        PLAN,
        [
            "openai:gpt-x asked by preference, 50 subjects: 60 calls to make",
            "calls | 100 | 40 of them in the store already",
            "tokens to read, about | 30,000 | characters / 4",
            "tokens to write, at most | 70",
            "cost, about | $0.0123 | prices of 2025-06",
        ],
    )
    assert terminal_lines(replace(PLAN, cost_estimate=0.0))[-1] == "cost | none"
    assert terminal_lines(replace(PLAN, cost_estimate=None))[-1] == (
        "cost | unknown | no price for this model: give --prices FILE"
    )


OTHER = replace(
    RUN, judge="anthropic:c", statuses={"ok": 130}, rows=130, measured=130, not_asked=0,
    calls={"ok": 260}, reused=0, first_slot_share=0.5, agreement=None, cost_this_run=None,
)  # fmt: skip
PANEL = JudgingPanel(judges=(RUN, OTHER), output="out.jsonl", store="adjudge.db")


def test_a_run_of_several_judges() -> None:
    assert_shown(
        PANEL,
        [
            "bad: 2 judges asked by preference: 250 rows, 241 ok, 6 censored, 3 error",
            "Rows without a score are not used by other commands.",
            "openai:gpt-x | 117/120 | first slot 61.3 %, matches labels 73.2 %, cost $0.7500",
            "anthropic:c | 130/130 | first slot 50 %, cost unknown",
            "left out 4 input rows: no second answer",
            "openai:gpt-x: 10 of 130 subjects not asked yet",
            "rows of all judges written to out.jsonl",
            "note: votes on turn 1 only",
        ],
    )
    stopped = replace(PANEL, judges=tuple(replace(r, stopped="interrupted") for r in PANEL.judges))
    assert str(stopped).splitlines()[:2] == [
        "2 judges asked by preference: interrupted, 250 complete rows written",
        "Run the same command again to resume.",
    ]
    assert PANEL.to_frame()["judge"].to_list() == ["openai:gpt-x", "anthropic:c"]


PLANS = JudgingPlans(plans=(PLAN, replace(PLAN, judge="anthropic:c", kept=0, to_ask=100)))


def test_a_plan_of_several_judges() -> None:
    assert_shown(
        PLANS,
        [
            "2 judges asked by preference, 50 subjects: 160 calls to make, about $0.0246",
            "judge | calls | in the store | to read, about | to write, at most | cost, about",
            "openai:gpt-x | 100 | 40 | 30,000 | 70 | $0.0123",
            "anthropic:c | 100 | 0 | 30,000 | 70 | $0.0123",
        ],
    )
    unknown = replace(PLANS, plans=(PLAN, replace(PLAN, cost_estimate=None)))
    assert terminal_lines(unknown)[0].endswith("; no price for some of them: give --prices FILE")


HERE = KnownModel(
    name="small", judge="llamacpp:small", description="Small 1B", licence="MIT",
    size=98_700_000, sha256="0" * 64, cached=True, path="/cache/small.gguf",
)  # fmt: skip
LISTED = ModelList(folder="/cache", models=(HERE, replace(HERE, name="other", cached=False)))


def test_the_list_of_weights() -> None:
    assert_shown(
        LISTED,
        [
            "2 models, 1 on this machine",
            "Ask one with --judge llamacpp:small; weights are kept in /cache.",
            "name | model | licence | size | here",
            "small | Small 1B | MIT | 99 MB | /cache/small.gguf",
            "other | Small 1B | MIT | 99 MB | adjudge models pull other",
        ],
    )
    assert LISTED.to_frame()["name"].to_list() == ["small", "other"]


LABELLING = LabellingSummary(
    pairs=60,
    pairs_labelled=40,
    n_labels=75,
    sampled_by={"random": 55, "doubt": 20},
    raters=(
        RaterSummary(
            rater="ann", labels=40, skipped=3, ties=5,
            left_share=0.46, left_low=0.31, left_high=0.62,
        ),
        RaterSummary(
            rater="bob", labels=35, skipped=0, ties=35,
            left_share=None, left_low=None, left_high=None,
        ),
    ),
    agreement=(
        RaterAgreement(
            rater_1="ann", rater_2="bob", pairs=33, raw=0.81, kappa=0.625, alpha=None
        ),
    ),
)  # fmt: skip


def test_a_labelling_round() -> None:
    assert_shown(
        LABELLING,
        [
            "75 labels on 40 of 60 pairs",
            "drawn: 55 by random, 20 by doubt",
            "labels drawn by doubt cannot calibrate; labels drawn at random can",
            "rater | labels | ties | skipped | chose the left side | 95 % interval",
            "ann | 40 | 5 | 3 | 46 % | 31 % to 62 %",
            "bob | 35 | 35 | 0 | – | –",
            "Agreement on pairs that both labelled",
            "rater | and | pairs | agree | kappa | Krippendorff's alpha",
            "ann | bob | 33 | 81 % | 0.62 | –",
        ],
    )
    assert LABELLING.to_frame()["rater"].to_list() == ["ann", "bob"]


def test_comments_of_raters_are_text_on_one_line() -> None:
    written = RaterComment(id="p1", rater="ann", label="A", comment="[b]both\nwrong \x9b31m<i>")
    skipped = replace(written, label=None, comment="too long " * 30)
    few = LabellingSummary(pairs=2, pairs_labelled=1, n_labels=1, comments=(written, skipped))
    head = "pair | rater | label | comment"
    first = "p1 | ann | A | [b]both wrong \\x9b31m<i>"
    last = f"p1 | ann | skipped | {'too long ' * 11}t…{' too long' * 11}"
    assert_shown(few, ["1 label on 1 of 2 pairs", "Comments", head, first, last])
    many = replace(few, comments=(written,) * 21)
    assert_shown(
        many,
        ["1 label on 1 of 2 pairs", "The first 20 of 21 comments", head, *[first] * 20],
    )


GRADING = replace(
    LABELLING,
    about="grades",
    raters=(
        RaterSummary(
            rater="ann", labels=40, skipped=3, ties=0,
            left_share=None, left_low=None, left_high=None, mean=0.625,
        ),
    ),
)  # fmt: skip
SCORING = replace(GRADING, about="scores", raters=(replace(GRADING.raters[0], mean=3.257),))


def test_a_round_of_single_answers() -> None:
    assert_shown(
        GRADING,
        [
            "75 labels on 40 of 60 answers",
            "drawn: 55 by random, 20 by doubt",
            "labels drawn by doubt cannot calibrate; labels drawn at random can",
            "rater | labels | skipped | passed",
            "ann | 40 | 3 | 62 %",
            "Agreement on answers that both labelled",
            "rater | and | answers | agree | kappa | Krippendorff's alpha",
            "ann | bob | 33 | 81 % | 0.62 | –",
        ],
    )
    assert html_lines(SCORING)[3:5] == [
        "rater | labels | skipped | mean score",
        "ann | 40 | 3 | 3.26",
    ]
