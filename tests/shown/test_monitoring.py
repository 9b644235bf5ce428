"""What monitoring shows: draws, a calm monitor, an alarm, groups, and its picture."""

from __future__ import annotations

from dataclasses import replace

import pytest
from shown_monitoring import (
    ALARM,
    ANSWERED,
    BY_GROUP,
    CALM,
    CALM_GROUP,
    DRAW,
    OTHER_JUDGE,
    SAME_JUDGE,
)

from adjudge.errors import ArgumentError
from adjudge.policy.audits import AuditPath
from shown import assert_shown, html_lines, legend, named_points, words, y_ticks

_RATES = "audits | counted | wrong | error rate | interval (%) | e, limit | e, alpha | alarm"
_BECAME = "Status of the audits; they count in the order of drawing"
_COUNTS = "audits | drawn | returned | pending | missing | not counted yet | human ties"


def test_a_draw() -> None:
    assert_shown(
        DRAW,
        [
            "64 audits drawn at a rate of 5 %; 1,200 of 2,000 rows served are accepted",
            "Label them: adjudge label ROWS --plan AUDITS -o labels.csv (ROWS: the judged texts), "
            "then adjudge monitor check AUDITS --labels labels.csv.",
            "left out 795 rows: not accepted",
            "left out 5 rows: id served before",
        ],
    )
    stored = replace(DRAW, audit_rate=None, n_new=4)
    assert html_lines(stored)[0] == (
        "64 audits drawn, 4 of them new; 1,200 of 2,000 rows served are accepted"
    )


def test_no_alarm() -> None:
    assert_shown(
        CALM,
        [
            "No alarm in 5 audits, 1 of them wrong (20 %); the alarm limit is 0.15, not your "
            "alpha 0.10",
            "Not counted yet: 1 returned audit, drawn after 1 pending one (for at most 14 days).",
            "Running error rate, with an interval that holds at all times (95 %); evidence e "
            "that it is above the limit 0.15 (alarm at 20), and above alpha 0.10",
            _RATES,
            "all | 5 | 1 | 20 % | [0.4, 87.1] | 0.759 | 1.12 | no",
            "all, missing = wrong | 6 | 2 | 33.3 % | [3.0, 90.0] | 2 | 1.12 | no",
            _BECAME,
            _COUNTS,
            "all | 9 | 7 | 1 | 1 | 1 | 1",
            "Promise: as promised",
            "detail: What this assumes and does not promise",
            "detail: It does not promise: as not promised",
            "detail: It assumes: as assumed",
            "warning: the audit rate was changed",
            "left out 2 rows: label changed after it was counted",
            "figure: the running error rate with its band, and the evidence that it is above 0.15: "
            "an alarm is raised where it meets the line.",
        ],
    )
    worst = replace(CALM_GROUP, worst=replace(CALM_GROUP.worst, alarm=True))
    assert "with every missing audit counted as wrong there would be an alarm" in html_lines(
        replace(CALM, groups=(worst,))
    )


def test_an_alarm_of_a_policy_by_pac() -> None:
    assert_shown(
        ALARM,
        [
            "bad: ALARM at audit 1,212 (1,200 counted); the alarm limit is your alpha 0.10",
            "Stop accepting, or recalibrate on audits drawn after the alarm: adjudge monitor "
            "recalibrate AUDITS --state STATE. Continue to draw audits for it, whether or not the "
            "verdicts are used. To accept more than before, label rows at random.",
            "Running error rate, with an interval that holds at all times (95 %); evidence e "
            "that it is above the limit 0.10 (alarm at 20), and above alpha 0.10",
            _RATES,
            "all | 1,300 | 390 | 30 % | [26.0, 34.0] | 10^31 | 10^54 | yes",
            _BECAME,
            _COUNTS,
            "all | 1,300 | 1,300 | 0 | 0 | 0 | 0",
            "the error rate appears to rise at audit 1,100: an estimate, without an interval",
            "Promise: as promised",
            "detail: What this assumes and does not promise",
            "detail: pac itself can fail with probability 10 %: a false alarm about a policy as "
            "calibrated has a probability of at most 15 %",
            "detail: It does not promise: as not promised",
            "detail: It assumes: as assumed",
            "figure: the running error rate with its band, and the evidence that it is above 0.10: "
            "an alarm is raised where it meets the line.",
        ],
    )


def test_groups() -> None:
    lines = html_lines(BY_GROUP)
    assert lines[:2] == [
        "bad: ALARM in prose at audit 1,212; the alarm limit is 0.15, not your alpha 0.10",
        "Stop accepting, and calibrate on rows labelled at random: the policy decides on batches.",
    ]
    assert "(97.5 %)" in lines[2]
    assert "(alarm at 40)" in lines[2]
    assert lines[4:6] == [
        "code | 5 | 1 | 20 % | [0.4, 87.1] | 0.759 | 1.12 | no",
        "prose | 1,300 | 390 | 30 % | [26.0, 34.0] | 10^31 | 10^54 | yes",
    ]
    assert list(BY_GROUP.figures()) == ["monitor code", "monitor prose"]


def test_the_picture() -> None:
    figure = CALM.plot()
    assert figure.get_suptitle() == "No alarm in 5 audits, 20 % of them wrong"
    rate, evidence = figure.axes
    assert words(rate) == ("", "", "error rate of accepted")
    assert legend(rate) == [
        "95 % band, valid at all times", "running error rate", "limit 0.15", "alpha 0.10",
    ]  # fmt: skip
    assert named_points(rate)["running error rate"] == [
        (1, 0), (3, pytest.approx(1 / 3)), (5, 0.2),
    ]  # fmt: skip
    (band,) = rate.collections
    corners = {(x, round(y, 3)) for x, y in band.get_paths()[0].vertices}
    assert {(5.0, 0.004), (5.0, 0.871), (3.0, 0.95)} <= corners
    assert words(evidence) == (
        "",
        "audits counted, in the order of drawing",
        "evidence (log scale)",
    )
    drawn = named_points(evidence)
    assert drawn["evidence e"] == [(0, 0), (1, -0.05), (3, 0.1), (5, -0.12)]
    assert y_ticks(evidence) == ["0.1", "1", "10"]
    assert drawn["alarm at 20"] == [(0, pytest.approx(1.30103)), (1, pytest.approx(1.30103))]


def test_the_picture_of_an_alarm_marks_it() -> None:
    figure = BY_GROUP.plot(figure="monitor prose")
    assert figure.get_suptitle() == "prose: alarm after 1,212 audits: error rate above 0.15"
    figure.draw_without_rendering()
    for axes in figure.axes:  # no line runs through a legend
        assert axes.get_legend().get_window_extent().y0 >= axes.get_window_extent().y1
    for axes in figure.axes:
        assert [line.get_xdata()[0] for line in axes.lines if line.get_linestyle() == ":"] == [1212]
    assert legend(figure.axes[0])[0] == "97.5 % band, valid at all times"
    assert legend(figure.axes[1]) == ["evidence e", "alarm at 40", "the alarm"]
    assert y_ticks(figure.axes[1]) == ["10^0", "10^8", "10^16", "10^24", "10^32"]
    assert "alpha 0.10" not in legend(ALARM.plot().axes[0])
    empty = AuditPath(audits=(), error_rate=(), low=(), high=(), log10_e=())
    with pytest.raises(ArgumentError, match="label some audits first"):
        replace(CALM, groups=(replace(CALM_GROUP, path=empty),)).plot()


def test_a_judge_asked_for_the_first_time() -> None:
    lines = html_lines(ANSWERED)
    assert lines[:2] == [
        "4 anchors asked 2 times: this is how openai:m answers",
        "Run the same command again, as often as you like, to check it.",
    ]


def test_a_judge_that_answers_as_before() -> None:
    lines = html_lines(SAME_JUDGE)
    assert lines[0] == (
        "No sign that the judge changed: no alarm in round 1, 4 of 4 anchors compared, 1 with a "
        "new verdict"
    )
    assert "1 | 2026-11-02 06:00 | 4 | 1 | 0.631 | 2.51 | 80 | no" in lines
    assert "left out 1 anchor: fewer than two usable answers" in lines
    scores = replace(SAME_JUDGE, rounds=(replace(SAME_JUDGE.rounds[0], n_moved=None),))
    assert html_lines(scores)[0].endswith("4 of 4 anchors compared")


def test_a_judge_that_changed() -> None:
    lines = html_lines(OTHER_JUDGE)
    assert lines[0] == "bad: ALARM: the judge changed (round 2, after 3 of 4 anchors)"
    assert "adjudge monitor renew ANSWERS --policy POLICY --state STATE" in lines[1]
    assert "2 | 2026-11-02 06:00 | 4 | 3 | 10^5 | 10^5 | 240 | yes" in lines
    assert (
        "The judge changed; the audits of its accepted verdicts raise no alarm. Either alarm is "
        "false with a probability of at most 7.5 %"
    ) in lines
    assert "warning: m-2 answered; at calibration m-1" in lines


@pytest.mark.parametrize(
    ("judge", "audits", "changed", "words"),
    [
        (False, False, "none", "Neither the anchors nor the audits raise an alarm"),
        (False, True, "stream", "bad: Only the audits raise an alarm, the anchors do not: 4 of 4"),
        (True, False, "judge", "The judge changed; the audits"),
        (
            True,
            True,
            "judge, perhaps the stream too",
            "whether the stream changed too is not known",
        ),
    ],
)
def test_who_changed(judge: bool, audits: bool, changed: str, words: str) -> None:
    result = replace(OTHER_JUDGE if judge else SAME_JUDGE, audit_alarm=audits, audit_delta=0.05)
    assert result.changed == changed
    assert any(words in line for line in html_lines(result))


def test_before_the_first_round_audits_say_nothing_about_the_judge() -> None:
    first = replace(ANSWERED, audit_alarm=True, audit_delta=0.05)
    assert first.changed is None
    assert html_lines(first) == html_lines(ANSWERED)


def test_an_alarm_of_the_audits_alone_leads() -> None:
    result = replace(SAME_JUDGE, audit_alarm=True, audit_delta=0.05)
    lines = html_lines(result)
    assert "the old labels cannot help" in lines[1]
    assert any(line.startswith("What the judge is asked changed, or the") for line in lines)


def test_the_picture_of_a_round() -> None:
    figure = OTHER_JUDGE.plot()
    assert figure.get_suptitle() == "Round 2: the judge changed"
    [axes] = figure.axes
    assert named_points(axes)["evidence e"] == [(0, 0), (1, 0.5), (2, 1), (4, 5.2)]
    assert legend(axes) == ["evidence e", "alarm at 240", "the alarm"]
    assert y_ticks(axes) == ["10^0", "10^2", "10^4", "10^6"]
    calm = SAME_JUDGE.plot()
    assert calm.get_suptitle() == "Round 1: no sign that the judge changed"
    assert legend(calm.axes[0]) == ["evidence e", "alarm at 80"]
