"""What repeated runs show: with and without labels, by groups, a gate, reasons, the picture."""

from __future__ import annotations

from dataclasses import replace

from adjudge.estimation.runs import Gate, GroupRuns, RunRate, RunsEstimate
from adjudge.records import Interval
from shown import assert_shown, html_lines, panel, title


def rate(statistic: str, value: float, *, labelled: int = 50) -> RunRate:
    ends = Interval(value - 0.1, value + 0.05, level=0.95)
    return RunRate(
        statistic=statistic, estimate=value, interval=ends, by_judge=value + 0.02,
        n_labelled=labelled,
    )  # fmt: skip


GROUP = GroupRuns(
    group=None,
    questions=150,
    fewest_runs=3,
    most_runs=4,
    rates=(rate("pass@1", 0.7), rate("pass@3", 0.9), rate("pass^3", 0.5)),
    flips=0.25,
    flips_interval=Interval(0.2, 0.31, level=0.95),
    suite_error=0.02,
    gate=Gate(at=0.65, passes=True, flips=0.12, interval=Interval(0.01, 0.4, level=0.95)),
    questions_narrow=0.5**0.5,
    runs_narrow=0.9,
)
RUNS = RunsEstimate(
    confidence_level=0.95,
    k=3,
    by=None,
    labelled=True,
    groups=(GROUP,),
    assumptions=("FIRST",),
    warnings=("A WARNING",),
    dropped={"no judge verdict": 2},
)


def test_runs_with_labels() -> None:
    assert_shown(
        RUNS,
        [
            "People would find: 70 % [60.0, 75.0] of the runs pass, 90 % [80.0, 95.0] of the "
            "questions pass in one of 3 runs, 50 % [40.0, 55.0] in all 3",
            "Twice as many questions would narrow pass@1 by 29 %, twice as many runs of these by "
            "10 %.",
            "warning: A WARNING",
            "Rates over questions, corrected by labels",
            "statistic | rate | interval (%) | judge | labelled | questions | runs",
            "pass@1 | 70 % | [60.0, 75.0] | 72 % | 50 | 150 | 3 to 4",
            "pass@3 | 90 % | [80.0, 95.0] | 92 % | 50 | 150 | 3 to 4",
            "pass^3 | 50 % | [40.0, 55.0] | 52 % | 50 | 150 | 3 to 4",
            "two runs of one question have different verdicts in 25 % [20.0, 31.0] of the cases",
            "by the judge a gate at 65 % passes now; two runs of the suite would end differently "
            "in 12 % [1.0, 40.0] of the cases, with nothing changed",
            "left out 2 rows: no judge verdict",
            "detail: What this assumes",
            "detail: FIRST",
            "figure: pass@1, pass@3 and pass^3, with intervals over questions.",
        ],
    )


def test_runs_without_labels_are_the_judges() -> None:
    alone = replace(RUNS, labelled=False, warnings=())
    lines = html_lines(alone)
    assert lines[0].startswith("By this judge: 70 % [60.0, 75.0] of the runs pass")
    assert "statistic | rate | interval (%) | questions | runs" in lines
    assert title(panel(alone)) == "How often runs pass, by this judge"


def test_a_rate_that_is_not_known_has_its_reason() -> None:
    unknown = replace(GROUP.rates[2], estimate=None, interval=None, reason="WHY")
    some = replace(RUNS, groups=(replace(GROUP, rates=(*GROUP.rates[:2], unknown)),))
    lines = html_lines(some)
    assert lines[0].endswith("90 % [80.0, 95.0] of the questions pass in one of 3 runs")
    assert "all rows – pass^3: WHY" in lines
    none = replace(RUNS, groups=(replace(GROUP, rates=(unknown,)),))
    assert html_lines(none)[0] == (
        "bad: By this judge 52 % of the runs pass; people's rate is not known"
    )
