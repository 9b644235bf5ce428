"""The options of a run: one set for all doors, and what is refused instead of ignored."""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from parses import count_parses

from adjudge import judge_pairs, judge_pairs_async, plan_judging
from adjudge.data import write_rows
from adjudge.errors import ArgumentError
from adjudge.judges import Backend, JudgingOptions, make_judge, parse_protocol
from adjudge.judges.backends.openai import OpenAIBackend
from adjudge.judges.interface import Choice, Question
from adjudge.judges.protocols.likert import Likert
from adjudge.judges.protocols.preference import Preference
from adjudge.records import Item, Pair, Reply, Subject
from adjudge.simulate.pairs import simulate_pairs
from adjudge.store import use_store

PAIRS = simulate_pairs(300, seed=3)
SIMULATED = "simulated:accuracy=0.8"


class Constant(Backend):
    """Always the same answer."""

    name = "constant:1"
    wants: frozenset[type] = frozenset({Choice})

    def identity(self) -> Mapping[str, Any]:
        return {"backend": "constant"}

    async def ask(self, question: Question) -> Reply:
        assert isinstance(question.want, Choice)
        return Reply(status="ok", logprobs=dict.fromkeys(question.want.options, -1.0))


@pytest.mark.parametrize("call", [judge_pairs, judge_pairs_async, plan_judging])
def test_every_call_has_the_options_by_name_with_the_same_defaults(call: Any) -> None:
    fields = {field.name: field for field in dataclasses.fields(JudgingOptions)}
    parameters = dict(inspect.signature(call).parameters)
    assert parameters.pop("pairs").kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    assert parameters.keys() == fields.keys()
    for name, parameter in parameters.items():
        assert parameter.kind is inspect.Parameter.KEYWORD_ONLY, name
        if name != "stop":
            assert parameter.default == fields[name].default, name


def test_every_option_is_explained_once() -> None:
    explained = re.findall(
        r"^    (\w+): [A-Za-z]", inspect.getdoc(JudgingOptions) or "", re.MULTILINE
    )
    assert explained == [field.name for field in dataclasses.fields(JudgingOptions)]


def test_unknown_names_and_too_many_arguments_are_refused() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'limt'"):
        judge_pairs(PAIRS, judge=SIMULATED, limt=3)  # type: ignore[call-arg]  # on purpose
    with pytest.raises(TypeError, match="too many positional arguments"):
        judge_pairs(PAIRS, SIMULATED)  # type: ignore[call-arg]  # on purpose
    with pytest.raises(TypeError, match="missing a required argument: 'pairs'"):
        judge_pairs(judge=SIMULATED)  # type: ignore[call-arg]  # on purpose
    with pytest.raises(ArgumentError, match="judge = .*write openai:MODEL or the like"):
        judge_pairs(PAIRS, store=None)
    assert judge_pairs(pairs=PAIRS[:2], judge=SIMULATED, store=None).summary.rows == 2


def test_a_run_shows_itself_shortly() -> None:
    run = judge_pairs(PAIRS, judge=SIMULATED, store=None)
    assert repr(run) == (
        "JudgingRun('simulated:accuracy=0.8,position_bias=0,noise=0,seed=0', 'preference': 300 ok)"
    )
    assert str(run) == str(run.summary)
    assert run._repr_html_() == run.summary._repr_html_()
    assert run == dataclasses.replace(run)
    assert run != judge_pairs(PAIRS[:5], judge=SIMULATED, store=None)


@pytest.mark.parametrize(
    "option",
    [
        {"base_url": "http://localhost:1/v1"},
        {"timeout": 3.0},
        {"api_key_env": "MY_KEY"},
        {"extra_body": {"top_k": 1}},
    ],
)
@pytest.mark.parametrize("call", [judge_pairs, plan_judging])
def test_a_backend_object_with_options_of_a_backend_is_refused(
    call: Any, option: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "")
    (name,) = option
    with pytest.raises(ArgumentError, match=f"{name} = .*set it on the constant:1 object itself"):
        call(PAIRS, judge=Constant(), store=None, **option)


def test_concurrency_is_refused_where_the_object_has_its_own() -> None:
    with pytest.raises(ArgumentError, match="concurrency = 3: set it on the openai:m object"):
        judge_pairs(PAIRS, judge=OpenAIBackend("m"), store=None, concurrency=3)
    run = judge_pairs(PAIRS[:3], judge=Constant(), store=None, concurrency=3)
    assert run.summary.rows == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"judge": object()}, "give a Backend object"),
        ({"protocol": Preference}, "protocol = .*give an object of it"),
        ({"protocol": Preference(), "samples": 3}, "set it on the preference object itself"),
        ({"output": "rows.xlsx"}, "end it in .jsonl"),
        ({"limit": 0}, "limit = 0"),
        ({"seed": -1}, "seed = -1"),
        ({"concurrency": 0}, "concurrency = 0"),
        ({"rpm": 0.0}, "rpm = 0"),
        ({"max_cost": -1.0}, "max_cost = -1"),
        ({"retry": ["bad"]}, "retry = 'bad'"),
        ({"batch": True, "rpm": 3.0}, "a batch has no request rate"),
        ({"batch": True, "store": None}, "a batch continues after this process"),
        ({"batch": True}, "this judge has no batches"),
        ({"batch_folder": "here"}, "it needs batch"),
        ({"store": "s.jsonl", "output": "./s.jsonl"}, "this one is the store"),
        (
            {"store": "~/s.jsonl", "output": Path("~/s.jsonl").expanduser()},
            "this one is the store",
        ),
        ({"format": "llmbar"}, "it applies only to files"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_asked(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ArgumentError, match=message):
        judge_pairs(PAIRS, **{"judge": Constant(), **options})
    assert list(Path().iterdir()) == []


def test_the_seed_of_a_data_set_goes_with_a_protocol_that_draws_nothing() -> None:
    rows = [
        {"id": n, "prompt": "p", "chosen": f"good {n}", "rejected": f"bad {n}", "subset": "s"}
        | {"chosen_model": "x", "rejected_model": "y"}
        for n in range(40)
    ]
    Path("reward.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def sides(protocol: Any, seed: int | None) -> list[str]:
        judge = {"judge": "simulated:", "protocol": protocol, "store": None}
        return judge_pairs("reward.jsonl", seed=seed, **judge).judgments["chosen_at"].to_list()

    assert sides("preference", None) == sides(Preference(), 0)
    assert sides("preference", 1) == sides("verbalized", 1) != sides("preference", 0)


class MyLikert(Likert):
    """A scale of a package's own: what it is asked about comes with the class."""

    name = "my-likert"


def test_a_protocol_of_another_name_judges_items_from_a_file() -> None:
    rows = [{"id": str(n), "prompt": "q", "response": f"r{n}"} for n in range(4)]
    pl.DataFrame(rows).write_ndjson("items.jsonl")
    run = judge_pairs("items.jsonl", judge=Constant(), protocol=MyLikert(), store=None)
    assert set(run.judgments["protocol"]) == {"my-likert"}
    assert run.summary.subjects == 4


class MyTournament(Preference):
    """Compares single responses of one document with each other."""

    name = "my-tournament"
    tournaments = True


def test_a_protocol_of_another_name_makes_pairs_of_items() -> None:
    rows = [
        {"id": f"{d}{m}", "prompt": f"q{d}", "response": m, "doc_id": str(d), "model": m}
        for d in range(2)
        for m in ("x", "y", "z")
    ]
    pl.DataFrame(rows).write_csv("items.csv")
    run = judge_pairs("items.csv", judge=SIMULATED, protocol=MyTournament(), store=None)
    assert run.judgments["id"].to_list()[:3] == ["0/x/y", "0/x/z", "0/y/z"]
    assert run.summary.subjects == 6


class Counting(Preference):
    """Counts how often the questions of each subject are built."""

    def __init__(self) -> None:
        super().__init__()
        self.built: dict[str, int] = {}

    def questions(self, subject: Subject) -> Any:
        self.built[subject.id] = self.built.get(subject.id, 0) + 1
        return super().questions(subject)


@pytest.mark.parametrize("source", ["records", "file"])
def test_prompts_are_built_and_hashed_once_per_pair(
    source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from adjudge.judges import subjects as calls

    hashed = 0
    hash_question = calls.question_hash

    def counting(*given: Any) -> str:
        nonlocal hashed
        hashed += 1
        return hash_question(*given)

    monkeypatch.setattr(calls, "question_hash", counting)
    pairs: Any = PAIRS
    if source == "file":
        pairs = write_rows(pl.DataFrame([pair_row(pair) for pair in PAIRS]), "pairs.jsonl")
    protocol = Counting()
    run = judge_pairs(pairs, judge=Constant(), protocol=protocol, store="s.db", output="o.jsonl")
    assert (run.summary.rows, run.summary.calls_made) == (300, 600)
    assert protocol.built == {pair.id: 1 for pair in PAIRS}
    assert hashed == 600


def test_after_a_stop_the_rest_is_prepared_for_the_rows_alone() -> None:
    prices: Any = "prices.json"
    Path(prices).write_text('{"constant:1": {"prompt": 1000, "completion": 0}}')
    judge_pairs(PAIRS[200:], judge=Constant(), store="s.db")
    protocol = Counting()
    run = judge_pairs(
        PAIRS, judge=Constant(), protocol=protocol, store="s.db", prices=prices, max_cost=1e-6
    )
    assert run.summary.stopped == "max_cost"
    # What an earlier run has answered has its rows, although this run never came so far.
    assert run.judgments["id"].to_list()[-100:] == [pair.id for pair in PAIRS[200:]]
    assert set(protocol.built.values()) == {1}


def pair_row(pair: Pair) -> dict[str, str]:
    return {
        "id": pair.id,
        "prompt": pair.prompt,
        "response_a": pair.response_a,
        "response_b": pair.response_b,
    }


@pytest.mark.parametrize("call", [judge_pairs, plan_judging])
@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
def test_the_input_is_parsed_once(call: Any, suffix: str) -> None:
    write_rows(pl.DataFrame([pair_row(pair) for pair in PAIRS]), f"pairs{suffix}")
    with count_parses() as parses:
        call(f"pairs{suffix}", judge=Constant(), store=None)
    assert parses == {f"pairs{suffix}": 1}


def test_an_open_store_is_used_and_left_open() -> None:
    with use_store("s.db") as store:
        first = judge_pairs(PAIRS, judge=SIMULATED, store=store)
        again = judge_pairs(PAIRS, judge=SIMULATED, store=store)
        plan = plan_judging(PAIRS, judge=SIMULATED, store=store)
        assert store.latest_call_id() == 600
    assert (first.summary.reused, again.summary.reused, plan.kept) == (0, 600, 600)
    assert again.summary.store == "s.db"
    assert judge_pairs(PAIRS, judge=SIMULATED, store="sqlite:///s.db").summary.reused == 600


def test_a_run_that_stops_gives_its_claims_back_to_an_open_store() -> None:
    class Refusing(Constant):
        async def ask(self, question: Question) -> Reply:
            raise ZeroDivisionError

    with use_store("s.db") as store:
        with pytest.raises(ZeroDivisionError):
            judge_pairs(PAIRS, judge=Refusing(), store=store)
        with use_store("s.db") as other:
            judge = make_judge(Refusing(), parse_protocol("preference"))
            from adjudge.judges.subjects import prepare_calls

            keys = [work.key for pair in PAIRS for work in prepare_calls(judge, pair)]
            assert other.claim(keys, retry=(), since=0).busy == frozenset()


def test_items_and_pairs_are_told_apart_by_the_protocol() -> None:
    item = Item(id="1", prompt="q", response="r")
    with pytest.raises(ArgumentError, match="preference compares pairs; give Pair rows"):
        judge_pairs([item], judge=Constant(), store=None)
    with pytest.raises(ArgumentError, match="my-likert scores single responses; give Item rows"):
        judge_pairs(PAIRS, judge=Constant(), protocol=MyLikert(), store=None)
