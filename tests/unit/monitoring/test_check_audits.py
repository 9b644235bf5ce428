"""A check from audits to alarm: what counts, in which order, what is kept, what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from plain_monitor import first_alarm

from adjudge import auditing, calibrate, check_audits, draw_audits, recalibrate, select
from adjudge.cli import run
from adjudge.data import read_result, write_result, write_rows
from adjudge.errors import AdjudgeError
from adjudge.policy.audits import Monitor
from adjudge.policy.result import Policy
from adjudge.selection import Jury, Learned
from adjudge.selection.doubts.base import DoubtMethod
from adjudge.store import open_store

DAY = 86_400.0
NOW = 1_800_000_000.0
PARTS = {"id": [f"c{i}" for i in range(300)], "p_a": [0.95] * 300, "judge": ["j"] * 300}


@pytest.fixture(scope="module")
def policy() -> Policy:
    """scope at alpha 0.1, all labels right but 12: it accepts everything up to p_a = 0.95."""
    return calibrate({**PARTS, "label": ["B"] * 12 + ["A"] * 288}, alpha=0.1)


def audits(labels: list[str | None], **columns: list[str]) -> pl.DataFrame:
    """Audits of verdict A with these labels, in their order."""
    n = len(labels)
    return pl.DataFrame(
        {
            "id": [f"a{i}" for i in range(n)], "drawn": range(1, n + 1), "judge": "j",
            "p_a": 0.95, "accepted": True, "label": pl.Series(labels, dtype=pl.String), **columns,
        }
    )  # fmt: skip


def random_labels(n: int, rate: float, seed: int = 0) -> list[str | None]:
    return ["B" if wrong else "A" for wrong in np.random.default_rng(seed).random(n) < rate]


def outcomes(monitor: Monitor) -> str:
    """One letter for each audit."""
    return "".join(own[0] for own in monitor.outcomes)


def test_the_alarm_is_where_the_plain_process_raises_it(policy: Policy) -> None:
    labels = random_labels(300, 0.3)
    wrong = [int(label == "B") for label in labels]
    monitor = check_audits(audits(labels), policy)
    [group] = monitor.groups
    assert (monitor.limit, monitor.delta, monitor.horizon) == (0.15, 0.05, 1000)
    assert group.alarm_at == first_alarm(wrong, 0.15, 0.05, 1000) is not None
    assert (group.rate.n, group.rate.n_errors) == (300, sum(wrong))
    assert 0.3 in group.rate.interval
    assert group.rate.interval.level == 0.95
    # The picture has the audit of the alarm among its points, with the share wrong up to it.
    path, alarm = group.path, group.alarm_at
    assert path.error_rate[path.audits.index(alarm)] == pytest.approx(np.mean(wrong[:alarm]))
    assert group.rate.log10_e_alpha > group.rate.log10_e
    # An alarm stays one, whatever comes later.
    later = check_audits(audits(labels + ["A"] * 2000), policy)
    assert later.groups[0].alarm_at == group.alarm_at
    assert later.groups[0].rate.log10_e < 0 < later.groups[0].rate.most_log10_e


def test_the_limit_is_the_guarantees_own(policy: Policy) -> None:
    pac = calibrate({**PARTS, "label": ["A"] * 300}, alpha=0.1, guarantee="pac")
    rows = audits(["A"] * 20)
    fdr = calibrate({**PARTS, "label": ["A"] * 300}, alpha=0.1, guarantee="fdr")
    assert check_audits(rows, pac).limit == 0.1
    assert check_audits(rows, fdr).limit == 0.15
    assert check_audits(rows, policy).limit == 0.15
    assert check_audits(rows, policy, limit=0.3).limit == 0.3
    loose = calibrate({**PARTS, "label": ["A"] * 300}, alpha=0.7)
    with pytest.raises(AdjudgeError, match=r"limit = 1.05: is not below 1: name a --limit"):
        check_audits(rows, loose)


def test_audits_wait_behind_a_pending_one_until_its_deadline(
    policy: Policy, tmp_path: Path
) -> None:
    state = tmp_path / "state.json"
    rows = audits(["A", "B", None, "A", None, "tie"])
    first = check_audits(rows, policy, state=state, now=NOW)
    assert outcomes(first) == "rwpppp"
    [group] = first.groups
    assert (group.n_drawn, group.n_returned, group.n_pending, group.n_waiting) == (6, 4, 2, 2)
    before = check_audits(rows, policy, state=state, now=NOW + 13.9 * DAY)
    assert before == first
    after = check_audits(rows, policy, state=state, now=NOW + 14 * DAY)
    assert outcomes(after) == "rwmrmt"
    [group] = after.groups
    assert (group.n_missing, group.n_ties, group.rate.n, group.worst.n) == (2, 1, 3, 5)
    assert (group.rate.n_errors, group.worst.n_errors) == (1, 3)
    # Its label comes too late, another is changed after it counted: neither changes anything.
    rows = audits(["A", "A", "B", "A", None, "tie"])
    last = check_audits(rows, policy, state=state, now=NOW + 15 * DAY)
    assert last.outcomes == after.outcomes
    assert last.dropped == {
        "label changed after it was counted": 1,
        "label after the deadline of its audit": 1,
    }


def test_the_time_of_drawing_counts_where_it_is_known(policy: Policy) -> None:
    at = ["2026-01-01T00:00:00+00:00", "2026-01-30T00:00:00", "2026-01-30T00:00:00"]
    rows = audits([None, "A", "A"], drawn_at=at)
    start = 1_767_225_600  # 2026-01-01
    assert outcomes(check_audits(rows, policy, now=start + 13 * DAY)) == "ppp"
    assert outcomes(check_audits(rows, policy, now=start + 20 * DAY)) == "mrr"
    with pytest.raises(AdjudgeError, match="column drawn_at: 'soon' is not a time"):
        check_audits(audits(["A"], drawn_at=["soon"]), policy)


def test_a_check_in_steps_is_the_check_at_once_and_safe_to_repeat(
    policy: Policy, tmp_path: Path
) -> None:
    labels = random_labels(400, 0.12)
    whole = check_audits(audits(labels), policy, now=NOW)
    state, text = tmp_path / "state.json", ""
    for end in (1, 50, 50, 173, 400, 173, 400):
        rows = audits(labels)[:end]
        step = check_audits(rows, policy, state=state, now=NOW)
        text = state.read_text()
    assert step == whole
    assert read_result(state, Monitor) == whole
    check_audits(audits(labels), policy, state=state, now=NOW + DAY)
    assert state.read_text() == text


def test_ties_count_as_the_policy_says(policy: Policy) -> None:
    strict = calibrate({**PARTS, "label": ["A"] * 300}, alpha=0.1, ties="error")
    rows = audits(["tie"] * 30)
    assert outcomes(check_audits(rows, policy)) == "t" * 30
    assert check_audits(rows, policy).groups[0].rate.error_rate is None
    assert check_audits(rows, strict).alarm


def test_groups_share_delta_and_wait_each_for_themselves(policy: Policy, tmp_path: Path) -> None:
    labels = [None, *random_labels(199, 0.5)]
    topics = ["code"] * 100 + ["prose"] * 100
    rows = audits(labels, topic=topics)
    state = tmp_path / "s.json"
    monitor = check_audits(rows, policy, by="topic", state=state, now=NOW)
    code, prose, new = monitor.groups
    assert [g.group for g in monitor.groups] == ["code", "prose", "(new groups)"]
    assert [g.delta for g in monitor.groups] == pytest.approx([0.05 / 3] * 3)
    assert (code.rate.n, code.n_waiting, prose.rate.n, new.rate.n) == (0, 99, 100, 0)
    wrong = [int(label == "B") for label in labels[100:]]
    assert prose.alarm_after == first_alarm(wrong, 0.15, 0.05 / 3, 1000)
    assert prose.alarm_at == 100 + (prose.alarm_after or 0)
    more = pl.concat([rows, audits(["A"] * 5, topic=["sums"] * 5)]).with_columns(
        id=pl.format("a{}", pl.int_range(205)), drawn=pl.int_range(1, 206)
    )
    later = check_audits(more, policy, state=state, now=NOW)
    assert later.groups[2].rate.n == 5
    assert later.groups[1].alarm_at == prose.alarm_at


def test_the_groups_of_a_policy_are_known_beforehand() -> None:
    rows = {**PARTS, "label": ["A"] * 300, "topic": ["code", "prose"] * 150}
    made = calibrate(rows, alpha=0.1, by="topic")
    monitor = check_audits(audits(["A"] * 4, topic=["code"] * 4), made, by="topic")
    assert [g.group for g in monitor.groups] == ["code", "prose"]
    with pytest.raises(AdjudgeError, match="of group 'sums', which has no rule in the policy"):
        check_audits(audits(["A"], topic=["sums"]), made, by="topic")


def test_a_state_is_of_one_policy_and_of_terms_that_were_chosen_once(
    policy: Policy, tmp_path: Path
) -> None:
    state, rows = tmp_path / "s.json", audits(["A", "B"])
    check_audits(rows, policy, state=state, limit=0.2)
    other = calibrate({**PARTS, "label": ["A"] * 300}, alpha=0.2)
    for options, message in (
        ({"policy": other}, "is of another policy: give each policy its own --state"),
        ({"limit": 0.3}, "limit = 0.3: the state has 0.2; give another --state"),
        ({"delta": 0.1}, "delta = 0.1: the state has 0.05"),
        ({"horizon": 50}, "horizon = 50: the state has 1000.0"),
        ({"by": "judge"}, "by = 'judge': the state has None"),
        ({"audits": audits(["A", "B"]).with_columns(id=pl.Series(["x", "y"]))},
         "column drawn: audit 1 is 'x', but 'a0' in the state"),
    ):  # fmt: skip
        given = {"audits": rows, "policy": policy, "state": state, **options}
        with pytest.raises(AdjudgeError) as caught:
            check_audits(**given)  # type: ignore[arg-type]
        assert message in str(caught.value)
        assert "\n" not in str(caught.value)
    assert check_audits(rows, policy, state=state).limit == 0.2


def test_a_damaged_state_is_refused_in_one_line_and_left_alone(
    policy: Policy, tmp_path: Path
) -> None:
    state, rows = tmp_path / "s.json", audits(["A", "B"])
    check_audits(rows, policy, state=state)
    whole = state.read_text()
    for damage in (whole[:-30], whole.replace('"right"', '"wrong"', 1), "{}", '{"kind": "policy"}'):
        state.write_text(damage)
        with pytest.raises(AdjudgeError) as caught:
            check_audits(rows, policy, state=state)
        assert str(state) in str(caught.value)
        assert "\n" not in str(caught.value)
        assert state.read_text() == damage


def test_a_state_in_a_store_is_the_state_of_a_file(policy: Policy, tmp_path: Path) -> None:
    place, rows = tmp_path / "s.db", audits(random_labels(50, 0.1))
    in_file = check_audits(rows, policy, state=tmp_path / "s.json", now=NOW)
    assert check_audits(rows[:20], policy, state=place, now=NOW).outcomes == in_file.outcomes[:20]
    assert check_audits(rows, policy, state=place, now=NOW) == in_file
    store = open_store(place)
    store.keep_monitor(policy.rules_id, "not JSON")
    store.close()
    with pytest.raises(AdjudgeError, match="s.db, monitor .*: is not JSON"):
        check_audits(rows, policy, state=place)


def test_lists_with_gaps_and_rows_of_another_kind_are_refused(policy: Policy) -> None:
    rows = audits(["A"] * 4)
    for bad, message in (
        (rows.filter(pl.col("drawn") != 2), "audit 2 is missing; give the complete file"),
        (rows.drop("drawn"), "column drawn: is missing"),
        (rows.with_columns(drawn=pl.lit("x")), "audit 1 is missing"),
    ):
        with pytest.raises(AdjudgeError) as caught:
            check_audits(bad, policy)
        assert message in str(caught.value)
    grades = pl.DataFrame({"id": ["x"], "judge": [1], "p_pass": [0.9], "drawn": [1]})
    with pytest.raises(
        AdjudgeError, match="the policy is about verdicts on pairs, but these are grades"
    ):
        check_audits(grades, policy)


def test_audits_of_another_judge_are_refused(policy: Policy) -> None:
    with pytest.raises(AdjudgeError, match="the policy was made for j .unnamed., not for k"):
        check_audits(audits(["A"]).with_columns(judge=pl.lit("k")), policy)


def test_grades_are_audited_too() -> None:
    parts = {"id": range(60), "p_pass": [0.9] * 60, "judge_name": ["j"] * 60}
    made = calibrate({**parts, "human": [1] * 60}, alpha=0.1)
    new = {**parts, "id": range(100, 160), "human": [1] * 20 + [0] * 20 + [1] * 20}
    drawn = draw_audits(select(new, made).rows, audit_rate=1, secret="a secret for these tests")
    labels = pl.DataFrame({"id": new["id"], "label": ["pass"] * 20 + ["fail"] * 20 + ["pass"] * 20})
    monitor = check_audits(drawn.rows.drop("human"), made, labels=labels)
    assert outcomes(monitor) == "r" * 20 + "w" * 20 + "r" * 20
    again = recalibrate(drawn.rows, monitor, alpha=0.9)
    assert (again.about, again.accepts) == ("grades", "below")


def test_rules_keep_their_name_when_words_change(policy: Policy) -> None:
    assert replace(policy, promise="other words", adjudge_version="9").rules_id == policy.rules_id
    moved = replace(policy.groups[0], threshold=0.1, accepts="below")
    assert replace(policy, groups=(moved,)).rules_id != policy.rules_id
    assert replace(policy, min_answer_mass=0.7).rules_id != policy.rules_id


def test_policies_that_decide_alike_by_other_labels_have_other_names(tmp_path: Path) -> None:
    """A batch is decided by the labels, a learned doubt by its weights: neither has a threshold."""

    def learn(seed: int, **options: str) -> Policy:
        rng = np.random.default_rng(seed)
        p = rng.random(300)
        label = np.where(rng.random(300) < 0.02, p < 0.5, p > 0.5)
        rows = {"id": range(300), "p_a": p, "label": np.where(label, "A", "B")}
        return calibrate(pl.DataFrame(rows), alpha=0.3, **options)  # type: ignore[arg-type]

    for options in ({"guarantee": "fdr"}, {"doubt": "learned"}):
        one, other = learn(1, **options), learn(2, **options)
        assert one.threshold is other.threshold is None
        assert one.rules_id != other.rules_id
        assert read_again(one, tmp_path).rules_id == one.rules_id


# --- from draw to a new policy -----------------------------------------------------------------


@pytest.fixture(scope="module")
def drifted() -> tuple[Policy, pl.DataFrame]:
    """A policy with a threshold, and audits: 150 as calibrated, then 450 that are often wrong."""
    rng = np.random.default_rng(7)

    def rows(n: int, prefix: str, *, worse: float) -> pl.DataFrame:
        p = 0.5 + 0.5 * rng.random(n)
        right = rng.random(n) < np.where(p > 0.9, 1 - worse / 3, 1 - worse) * p
        label = np.where(right, "A", "B")
        return pl.DataFrame(
            {"id": [f"{prefix}{i}" for i in range(n)], "p_a": p, "label": label, "judge": "j"}
        )

    policy = calibrate(rows(800, "c", worse=0.0), alpha=0.1)
    new = pl.concat([rows(400, "n", worse=0.0), rows(1400, "l", worse=0.3)])
    served = select(new, policy).rows
    return policy, draw_audits(served, audit_rate=0.9, secret="a secret for these tests").rows


def test_audits_after_the_alarm_calibrate_below_the_old_threshold(drifted, tmp_path: Path) -> None:
    policy, rows = drifted
    state = tmp_path / "state.json"
    monitor = check_audits(rows, policy, state=state)
    assert monitor.alarm_at is not None
    assert monitor.cuts[0].at == policy.threshold
    again = recalibrate(rows, state, alpha=0.2)
    assert again.n_calibration == rows.height - monitor.alarm_at
    assert again.cuts == monitor.cuts
    # Ever so loose: still no verdict beyond the old threshold, and never all of them.
    loose = recalibrate(rows, state, alpha=0.9)
    assert (loose.accepts, loose.threshold) == ("below", policy.threshold)
    assert "drawn after the alarm" in loose.warnings[-1]
    beyond = {"id": ["x", "y"], "p_a": [0.5001, 0.999], "judge": ["j", "j"]}
    assert select(beyond, loose).rows["accepted"].to_list() == [False, True]
    since = recalibrate(rows, monitor, alpha=0.2, since_change=True)
    change = monitor.groups[0].change_at
    assert change is not None
    assert since.n_calibration == rows.height - change + 1 > again.n_calibration
    assert "without proof" in since.warnings[-1]
    assert "this is not proven" in since.assumptions[-1]
    assert read_again(again, tmp_path) == again


def read_again(policy: Policy, folder: Path) -> Policy:
    from adjudge import read_policy

    return read_policy(write_result(policy, folder / "again.json"))


def test_audits_calibrate_up_to_the_first_pending_one(drifted) -> None:
    """What comes back first is no random part: wrong verdicts may come sooner or later."""
    policy, rows = drifted
    rang = check_audits(rows, policy, now=0.0).alarm_at
    assert rang is not None
    late = pl.col("drawn").is_in([rang + 80, rang + 120])
    some = rows.with_columns(label=pl.when(~late).then("label"))
    waiting = check_audits(some, policy, now=0.0)
    made = recalibrate(some, waiting, alpha=0.2)
    assert made.n_calibration == 79
    assert made.dropped["audit drawn after a pending one"] == rows.height - rang - 80
    gone = check_audits(some, policy, wait=0.0, now=0.0)
    assert recalibrate(some, gone, alpha=0.2).n_calibration == rows.height - rang - 2


def test_what_the_old_policy_refused_stays_refused() -> None:
    """Nobody audited a group that it abstained on: a rule for all rows would accept it."""
    rng = np.random.default_rng(3)
    right = np.concatenate([np.ones(300), rng.integers(0, 2, 300)]) == 1
    old = {"id": range(600), "p_a": 0.6 + 0.39 * rng.random(600),
           "lang": ["en"] * 300 + ["de"] * 300, "label": np.where(right, "A", "B")}  # fmt: skip
    policy = calibrate(old, alpha=0.1, by="lang")
    assert [g.accepts == "none" for g in policy.groups] == [False, True]
    new = {**old, "id": range(1000, 1600), "label": ["B"] * 40 + ["A"] * 560}
    drawn = draw_audits(select(new, policy).rows, audit_rate=1, secret="not a secret: a test").rows
    monitor = check_audits(drawn, policy)
    assert "adjudge monitor recalibrate AUDITS --state STATE" in str(monitor)
    with pytest.raises(AdjudgeError, match="min_answer_mass = 0.05: the audited policy has 0.1"):
        recalibrate(drawn, monitor, min_answer_mass=0.05)
    assert recalibrate(drawn, monitor, alpha=0.2, min_answer_mass=0.2).min_answer_mass == 0.2
    again = recalibrate(drawn, monitor, alpha=0.2)
    assert (again.by, again.min_answer_mass) == ("lang", policy.min_answer_mass)
    rows = select(new, again).rows
    assert rows.filter("accepted")["lang"].unique().to_list() == ["en"]


def test_after_alarms_of_several_groups_the_first_counts(policy: Policy) -> None:
    """To start at the latest one would keep what a group has shown before it only if it is calm."""
    rows = audits(["B"] * 30 + ["A"] * 30 + ["B"] * 60)
    rows = rows.with_columns(topic=pl.Series(["x"] * 60 + ["y"] * 60))
    monitor = check_audits(rows, policy, by="topic")
    first, second = [group.alarm_at for group in monitor.groups if group.alarm_at is not None]
    assert first < 60 < second
    assert monitor.alarm_at == first
    assert recalibrate(rows, monitor, alpha=0.9).n_calibration == 120 - first


@pytest.mark.parametrize(
    ("doubt", "judges"),
    [(Jury(), ("x", "y")), (Learned(jury=Jury()), ("x", "y")), (Learned(), ("x",))],
)
def test_what_select_wrote_is_audited_as_it_was_accepted(
    doubt: DoubtMethod, judges: tuple[str, ...]
) -> None:
    """By the learned verdict or the jury's; the judge's own is in another column."""
    rng = np.random.default_rng(5)
    people = rng.integers(0, 2, 500)
    parts = []
    for judge in judges:
        p = 1 / (1 + np.exp(-(2 * (2 * people - 1) + rng.normal(size=500))))
        label = np.where(people == 1, "A", "B")
        parts.append(pl.DataFrame({"id": range(500), "judge": judge, "p_a": p, "label": label}))
    rows = pl.concat(parts)
    made = calibrate(rows, alpha=0.2, doubt=doubt)
    served = select(rows.with_columns(pl.col("id") + 1000), made).rows
    drawn = draw_audits(served, audit_rate=1, secret="a secret for these tests").rows
    assert drawn.height == served["accepted"].sum()
    wrong = (drawn["verdict"] != drawn["label"]).sum()
    monitor = check_audits(drawn, made)
    assert (monitor.groups[0].rate.n, monitor.groups[0].rate.n_errors) == (drawn.height, wrong)
    assert "but a cut needs a judge's own uncertainty" in str(monitor.no_recalibration)


def test_a_rule_that_accepts_everything_is_cut_at_its_largest_score(policy: Policy) -> None:
    assert policy.accepts == "all"
    rows = audits(["B"] * 6 + ["A"] * 200)
    again = recalibrate(rows, check_audits(rows, policy), alpha=0.1)
    assert (again.accepts, again.threshold) == ("below", max(policy.groups[0].scores))


def test_what_cannot_calibrate_again_says_so(policy: Policy, drifted, tmp_path: Path) -> None:
    calm = check_audits(audits(["A"] * 9), policy)
    rows = audits(["B"] * 60)
    batch = calibrate({**PARTS, "label": ["A"] * 300}, alpha=0.1, guarantee="fdr")
    rung = check_audits(rows, batch)
    assert "calibrate on rows labelled at random: the policy decides on batches" in str(rung)
    marked = rows.with_columns(sampled_by=pl.lit("audit"))
    for state, message in (
        (calm, "it has no alarm"),
        (tmp_path / "none.json", "it has no alarm"),
        (rung, "the policy decides on batches, and has no threshold"),
        (check_audits(drifted[1], drifted[0]), "audit 1 is 'a0', but 'n"),
    ):
        with pytest.raises(AdjudgeError) as caught:
            recalibrate(marked, state)
        assert message in str(caught.value)
    with pytest.raises(AdjudgeError, match="after an alarm: adjudge monitor recalibrate AUDITS"):
        calibrate(marked, alpha=0.1)


def test_the_old_policys_rules_hold_unless_others_are_chosen(drifted) -> None:
    _, rows = drifted
    old = {"id": range(800), "p_a": rows["p_a"].max(), "judge": "j", "label": "A"}
    old = pl.DataFrame(old).with_columns(p_a=0.5 + 0.5 * (pl.col("id") + 1) / 801)
    policy = calibrate(old, alpha=0.12, guarantee="pac", delta=0.2, ties="error")
    monitor = check_audits(rows, policy)
    again = recalibrate(rows, monitor)
    assert (again.alpha, again.guarantee, again.delta, again.ties) == (0.12, "pac", 0.2, "error")
    other = recalibrate(rows, monitor, alpha=0.3, guarantee="scope", ties="drop")
    assert (other.alpha, other.guarantee, other.delta, other.ties) == (0.3, "scope", None, "drop")


def test_a_store_of_states_knows_which_one_rang(drifted, tmp_path: Path) -> None:
    policy, rows = drifted
    place = tmp_path / "s.db"
    check_audits(rows, policy, state=place)
    assert recalibrate(rows, place, alpha=0.2).n_calibration > 0


def test_the_verbs_end_in_two_on_alarm_and_write_what_they_say(
    drifted, capsys: pytest.CaptureFixture[str]
) -> None:
    policy, rows = drifted
    write_result(policy, "policy.json")
    write_rows(rows.drop("label"), "audits.jsonl")
    write_rows(rows.select("id", "label"), "labels.csv")
    command = ["monitor", "check", "audits.jsonl", "--policy", "policy.json", "--state", "s.json"]
    assert run(command) == 0
    assert (
        "No audit is counted yet: nothing is known; the alarm limit is 0.15"
        in capsys.readouterr().out
    )
    command += ["--labels", "labels.csv"]
    assert run([*command, "--json", "-o", "m.json", "--plot", "m.svg"]) == 2
    printed = json.loads(capsys.readouterr().out)
    kept, state = (json.loads(Path(name).read_text()) for name in ("m.json", "s.json"))
    assert kept.pop("command").startswith("adjudge monitor check audits.jsonl")
    state.pop("command", None)
    assert printed == kept == state
    assert Path("m.svg").read_text().startswith("<?xml")
    again = ["monitor", "recalibrate", "audits.jsonl", "--state", "s.json", "--labels"]
    capsys.readouterr()
    assert run([*again, "labels.csv", "--alpha", "0.2"]) == 0
    words = f"{' '.join(again)} labels.csv --alpha 0.2"
    assert capsys.readouterr().out.endswith(f"next: adjudge {words} -o policy.json\n")
    assert run([*again, "labels.csv", "--alpha", "0.2", "-o", "new.json"]) == 0
    select_next = "select NEW --policy new.json -o selected.csv"
    needed = "(NEW: later rows)"
    assert capsys.readouterr().out.endswith(f"next: adjudge {select_next} {needed}\n")
    assert run([*again, "labels.csv", "--alpha", "0.0001"]) == 2
    assert "next: adjudge calibrate NEW --alpha 0.0001" in capsys.readouterr().out
    assert run(["policy", "verify", "new.json"]) == 0
    assert run([*command, "--limit", "0.5"]) == 1


@pytest.mark.attack("rows that do not count")
def test_an_audit_of_a_verdict_that_was_not_accepted_is_refused(policy: Policy) -> None:
    rows = audits(["A"] * 5).with_columns(accepted=pl.lit(True))
    check_audits(rows, policy)
    mixed = rows.with_columns(accepted=pl.col("drawn") != 3)
    with pytest.raises(
        AdjudgeError, match=r"row 3, column accepted: this audit is of a verdict that"
    ):
        check_audits(mixed, policy)


@pytest.mark.attack("monitors")
@pytest.mark.parametrize("place", ["s.json", "s.db"])
def test_a_check_that_another_one_overtakes_continues_from_its_counts(
    policy: Policy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """The first check has read the old state when a second one counts more audits and ends."""
    state = tmp_path / place
    labels = random_labels(40, 0.1)
    check_audits(audits(labels[:10]), policy, state=state, now=NOW)
    read, overtaken = auditing.read_monitor, []

    def read_and_be_overtaken(*given: Any) -> Monitor | None:
        before = read(*given)
        if not overtaken:
            overtaken.append(True)
            check_audits(audits(labels), policy, state=state, now=NOW)
        return before

    monkeypatch.setattr(auditing, "read_monitor", read_and_be_overtaken)
    changed = ["B" if label == "A" else "A" for label in labels[:20]]
    slow = check_audits(audits(changed), policy, state=state, now=NOW)
    assert (len(slow.ids), slow.dropped) == (40, {"label changed after it was counted": 20})
    assert outcomes(slow) == "".join("w" if label == "B" else "r" for label in labels)
    assert auditing.read_monitor(state, policy.rules_id) == slow


@pytest.mark.attack("clocks")
def test_a_clock_that_was_set_back_keeps_no_audit_pending_for_years(
    policy: Policy, tmp_path: Path
) -> None:
    """Ten years ahead at the first check, or where the audits were served."""
    state, years = tmp_path / "s.json", 3650 * DAY
    rows = audits(["A", None, "A"])
    assert outcomes(check_audits(rows, policy, state=state, now=NOW + years)) == "rpp"
    assert outcomes(check_audits(rows, policy, state=state, now=NOW)) == "rpp"
    assert outcomes(check_audits(rows, policy, state=state, now=NOW + 13 * DAY)) == "rpp"
    assert outcomes(check_audits(rows, policy, state=state, now=NOW + 14 * DAY)) == "rmr"
    ahead = rows.with_columns(drawn_at=pl.lit("2070-01-01T00:00:00"))
    served = tmp_path / "served.json"
    assert outcomes(check_audits(ahead, policy, state=served, now=NOW)) == "rpp"
    assert outcomes(check_audits(ahead, policy, state=served, now=NOW + 14 * DAY)) == "rmr"


def test_failed_rows_are_counted_by_status_and_are_no_audits(policy: Policy) -> None:
    rows = audits(["A", "B", "B", "A", "B"], status=["ok", "error", "ok", "ok", "refused"])
    monitor = check_audits(rows, policy)
    [group] = monitor.groups
    assert monitor.ids == ("a0", "a2", "a3")
    assert outcomes(monitor) == "rwr"
    assert (group.n_drawn, group.rate.n, group.rate.n_errors) == (3, 3, 1)
    assert monitor.dropped == {"status error": 1, "status refused": 1}
    # Audits are numbered without them, so that the next check continues.
    alone = audits(["A", "B", "A"]).with_columns(id=pl.Series(["a0", "a2", "a3"]))
    assert replace(check_audits(alone, policy), dropped=monitor.dropped) == monitor


def test_labels_by_a_model_are_refused_or_stated(policy: Policy) -> None:
    rows = audits(["A", "B", "A"], labelled_by=["person", "model", "person"])
    with pytest.raises(AdjudgeError, match="1 label of 3 was made by a model.*--model-labels"):
        check_audits(rows, policy)
    monitor = check_audits(rows, policy, model_labels=True)
    assert outcomes(monitor) == "rwr"
    [remark] = [text for text in monitor.warnings if "model" in text]
    assert remark.startswith("1 label was made by a model")


def test_labels_that_started_from_the_judge_are_not_used_and_counted(policy: Policy) -> None:
    labels = pl.DataFrame(
        {
            "id": ["a0", "a1", "a2"],
            "label": ["A", "A", "B"],
            "started_from": ["nothing", "judge", "nothing"],
        }
    )
    monitor = check_audits(audits([None] * 3).drop("label"), policy, labels=labels, now=NOW)
    assert outcomes(monitor) == "rpp"
    reason = "label started from the judge's answer: not used, its row is unlabelled"
    assert monitor.dropped == {reason: 1}


def test_the_columns_and_the_words_of_audits_can_be_named(policy: Policy) -> None:
    rows = audits(["A", "B", "A"]).rename({"label": "vote"})
    rows = rows.with_columns(pl.col("vote").replace({"A": "first", "B": "no idea"}))
    monitor = check_audits(rows, policy, columns={"label": "vote"}, labels_as={"no idea": "B"})
    assert outcomes(monitor) == "rwr"
    labels = {"id": ["A0", "a1", "a2"], "label": ["A", "B", "A"]}
    alone = audits([None] * 3).drop("label")
    assert outcomes(check_audits(alone, policy, labels=labels)) == "ppp"
    assert outcomes(check_audits(alone, policy, labels=labels, alike_ids=True)) == "rwr"


def test_audits_of_another_served_model_are_named() -> None:
    made = calibrate({**PARTS, "label": ["A"] * 300, "served_model": ["m-1"] * 300}, alpha=0.1)
    monitor = check_audits(audits(["A"] * 4, served_model=["m-2"] * 4), made)
    remark = "served_model is m-2 in some rows, but the policy was calibrated on m-1"
    assert any(text.startswith(remark) for text in monitor.warnings)
    same = check_audits(audits(["A"] * 4, served_model=["m-1"] * 4), made)
    assert not any("served_model" in text for text in same.warnings)


def test_audits_of_a_policy_by_criterion_are_of_several() -> None:
    criteria = ["quality", "brevity"]
    parts = {**PARTS, "criterion": criteria * 150}
    made = calibrate({**parts, "label": ["A"] * 300}, alpha=0.1, by="criterion")
    rows = audits(["A"] * 4, criterion=criteria * 2)
    assert outcomes(check_audits(rows, made)) == "rrrr"
    assert len(check_audits(rows, made, by="criterion").groups) == 2
    with pytest.raises(AdjudgeError, match="has 2 criteria: brevity, quality"):
        check_audits(rows, calibrate({**PARTS, "label": ["A"] * 300}, alpha=0.1))


def test_failed_audits_do_not_calibrate_again(policy: Policy) -> None:
    labels: list[str | None] = ["B"] * 6 + ["A"] * 200
    rows = audits(labels, status=["ok"] * 206)
    again = recalibrate(rows, check_audits(rows, policy), alpha=0.1)
    failed = pl.int_range(pl.len()).is_in([2, 99])
    more = audits([*labels[:2], "B", *labels[2:98], "B", *labels[98:]])
    more = more.with_columns(status=pl.when(failed).then(pl.lit("error")).otherwise(pl.lit("ok")))
    monitor = check_audits(more, policy)
    made = recalibrate(more, monitor, alpha=0.1)
    assert (made.n_calibration, made.n_errors) == (again.n_calibration, again.n_errors) == (202, 2)
    assert made.threshold == again.threshold
    assert made.dropped == {**again.dropped, "status error": 2}
