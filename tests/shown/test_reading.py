"""What a log of another tool shows."""

from __future__ import annotations

from dataclasses import replace

from adjudge.data.conversion import LogSummary, MetricRows
from shown import assert_shown

LOG = LogSummary(
    source="facts.eval",
    format="inspect",
    title="an Inspect log",
    rows_kind="grades",
    rows=1024,
    prompts=256,
    statuses={"ok": 1020, "unparsed": 4},
    metrics=(
        MetricRows(metric="qa", judge="gpt", rows=512, measured=508, labels=20, from_judge=3),
        MetricRows(metric="match", judge=None, rows=512, measured=512, labels=0),
    ),
    dropped={"a sample without scores": 2},
    notes=("epochs of one sample share a prompt_id",),
)


def test_a_log_of_grades() -> None:
    assert_shown(
        LOG,
        [
            "1,024 grades about 256 prompts from an Inspect log: 1,020 ok, 4 unparsed",
            "metric | judge | rows | scored | labels | started from the judge's answer",
            "qa | gpt | 512 | 508 | 20 | 3",
            "match | – | 512 | 512 | 0 | 0",
            "note: epochs of one sample share a prompt_id",
            "left out 2 rows: a sample without scores",
        ],
    )
    assert LOG.to_frame()["metric"].to_list() == ["qa", "match"]


LABELS = replace(
    LOG,
    title="a Label Studio export",
    rows_kind="labels",
    rows=1,
    prompts=None,
    statuses={},
    metrics=(MetricRows(metric=None, judge=None, rows=1, measured=0, labels=1),),
    dropped={},
    notes=(),
)


def test_a_log_of_labels() -> None:
    assert_shown(
        LABELS,
        [
            "1 label from a Label Studio export",
            "metric | judge | rows | labels",
            "– | – | 1 | 1",
        ],
    )
