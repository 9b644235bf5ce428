"""Align a judge's prompt with people's labels, and certify the gain on labels it never saw.

1. The labels are divided into propose, select and certify (`parts.py`).
2. The own prompt is asked about propose; its mistakes suggest candidates (`candidates.py`).
3. Candidates and the own prompt are compared on select, by halving.
4. The best one is chosen only if its gain on select exceeds one standard error; otherwise the own
   prompt stays and certify stays unread.
5. Certify is asked once for the own and the chosen prompt: paired gain, both accuracies, a policy.
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from adjudge.alignment.asking import Answers, Asking
from adjudge.alignment.candidates import (
    Candidate,
    Mistake,
    Rewriting,
    read_rewrite,
    reason_first,
    rewrite_requests,
    show_mistakes,
)
from adjudge.alignment.numbers import (
    accuracy_interval,
    paired_gain,
    rows_needed,
    smallest_gain,
    standard_error,
)
from adjudge.alignment.parts import (
    SHARES,
    Labelled,
    Partition,
    check_labels,
    check_shares,
    freeze,
    open_partition,
    read_labelled,
    take_look,
)
from adjudge.alignment.result import (
    Alignment,
    AlignmentPlan,
    AlignmentRun,
    ChangedRow,
    PastLook,
    TriedPrompt,
)
from adjudge.errors import ArgumentError, UnusableRepliesError
from adjudge.judges.interface import Backend
from adjudge.judges.judging import plan_judging
from adjudge.judges.options import JudgingOptions
from adjudge.judges.prices import Price
from adjudge.judges.prompting import builtin_prompt, read_prompt
from adjudge.judges.subjects import Subjects, SubjectSource
from adjudge.policy.result import Policy
from adjudge.records import Item, Pair, Subject
from adjudge.selection import calibrate
from adjudge.store import store_name
from adjudge.store.interface import DEFAULT_STORE, StorePlace
from adjudge.validation import FloatArray, count, one_of

PROTOCOLS = ("preference", "grade")
#: The first rows of select that every candidate is asked about, at least.
_FIRST = 12
#: A candidate with more failed rows than this is dropped.
_MOST_FAILED = 0.5
#: A good prompt, for suspect labels.
_GOOD = 0.80
_ASSUMED = (
    "labels were drawn at random from the rows that will be judged",
    "rows of one prompt can be alike; prompts are independent",
    "the interval of the gain is checked by simulation, not proven",
    "these labels were not used to write the own prompt",
    "no look was taken elsewhere: another store does not know the parts and looks of this one",
)


def align(
    rows: SubjectSource,
    *,
    judge: str | Backend,
    protocol: str = "preference",
    prompt: str | Path | None = None,
    proposer: str | Backend | None = None,
    candidates: int = 12,
    rounds: int = 2,
    shares: Sequence[int] = SHARES,
    looks: int = 1,
    alpha: float = 0.1,
    guarantee: str = "scope",
    store: StorePlace = DEFAULT_STORE,
    max_cost: float | None = None,
    prices: str | Path | Mapping[str, Price] | None = None,
    criteria: str | Path | None = None,
    samples: int | None = None,
    max_tokens: int | None = None,
    base_url: str | None = None,
    api_key_env: str | None = None,
    proposer_base_url: str | None = None,
    concurrency: int | None = None,
    rpm: float | None = None,
    timeout: float | None = None,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    labels_as: Mapping[str, str] | None = None,
    seed: int = 0,
    announce: Callable[[str], None] | None = None,
) -> AlignmentRun:
    """Search a better prompt on one part of the labels; certify its gain on a part it never saw.

    Args:
        rows: Labelled pairs, or labelled items for grade. A file, a frame or records.
        judge: The judge, such as openai:MODEL.
        protocol: How to ask: preference for pairs, grade for single answers.
        prompt: Your own prompt file. Default: the built-in prompt.
        proposer: Model that rewrites the prompt, such as openai:MODEL. Without it the candidates
            are demonstrations, and reasons first.
        candidates: Most prompts to try.
        rounds: Rounds of proposals; each starts from the best prompt so far.
        shares: Percent of the labels to propose, to select and to certify. They are fixed by the
            first run.
        looks: How often certify can be asked for the final number, declared before the first look.
        alpha: Error level of the policy for the chosen prompt.
        guarantee: Guarantee of the policy: scope, fdr or pac.
        store: Store of all replies, of the parts and of the looks: a file or postgresql://...
        max_cost: Stop before judge and proposer together spend more than this many dollars.
        prices: Your prices (JSON or CSV), in dollars per million tokens.
        criteria: Your own criteria (JSON) or rubric (text), for grade.
        samples: Answers to draw per order, for judges without logprobs.
        max_tokens: Maximum tokens of a written answer.
        base_url: Any OpenAI-compatible server, for the judge.
        api_key_env: Environment variable with the key. Default: the backend's.
        proposer_base_url: Any OpenAI-compatible server, for the proposer.
        concurrency: Maximum calls in flight. Default: the judge's.
        rpm: Maximum requests per minute, retries included.
        timeout: Seconds to wait for one answer from a server.
        format: Name of a public format, if it cannot be detected from content.
        columns: Columns with other names, ours to yours. Usual names need no entry.
        labels_as: Meaning of words in label columns.
        seed: Seed of everything random.
        announce: Function that gets a line about each step.

    The gain is measured on rows that neither the proposals nor the choice used. "No gain shown" is
    the usual result: most other prompts are not better.
    """
    setup = _set_up(locals())
    return setup.search()


def plan_alignment(rows: SubjectSource, **options: Any) -> AlignmentPlan:
    """What `align` would do with the same arguments: parts, smallest gain, most calls and cost.

    Args:
        rows: Labelled pairs, or labelled items for grade.
        options: As in `align`.
    """
    return _set_up({**_defaults(), **options, "rows": rows}).plan()


def _defaults() -> dict[str, Any]:
    return dict(align.__kwdefaults__ or {})


@dataclass
class _Setup:
    """One alignment: everything checked before the first call."""

    asking: Asking
    own: Candidate
    builtin: bool
    proposer: Backend | None
    labelled: Sequence[Labelled]
    dropped: Mapping[str, int]
    partition: Partition
    candidates: int
    rounds: int
    looks: int
    alpha: float
    guarantee: str
    store: StorePlace
    seed: int
    announce: Callable[[str], None]
    tried: dict[Candidate, TriedPrompt] = field(default_factory=dict)
    rejected: list[TriedPrompt] = field(default_factory=list)

    def part(self, name: str) -> list[Labelled]:
        rows = [row for row in self.labelled if self.partition.parts[row.cluster] == name]
        # By hash, so that every candidate is asked about the same first rows.
        return sorted(rows, key=lambda row: (_hash(row.cluster), row.subject.id))

    def plan(self) -> AlignmentPlan:
        sizes = {name: len(self.part(name)) for name in ("propose", "select", "certify")}
        each, cost = self._cost_of_a_row()
        most = sizes["propose"] + sizes["select"] * (self.candidates + 1) + 2 * sizes["certify"]
        return AlignmentPlan(
            judge=self.asking.judge.name,
            **{f"n_{name}": size for name, size in sizes.items()},
            candidates=self.candidates,
            smallest_gain=smallest_gain(max(1, sizes["certify"])),
            looks_left=(self.partition.looks or self.looks) - len(self.partition.ledger),
            most_calls=round(most * each) + (self.candidates if self.proposer else 0),
            most_cost=None if cost is None else most * cost,
            dropped=self.dropped,
        )

    def _cost_of_a_row(self) -> tuple[float, float | None]:
        subjects = [row.subject for row in self.labelled]
        protocol = self.own.protocol(self.asking.protocol, self.asking.options)
        running = {f.name: getattr(self.asking.running, f.name) for f in _shared_fields()}
        plan = plan_judging(
            subjects, **{**running, "judge": self.asking.judge, "protocol": protocol, "store": None}
        )
        cost = plan.cost_estimate
        return plan.calls / len(subjects), None if cost is None else cost / len(subjects)

    def search(self) -> AlignmentRun:
        """Propose, select, certify."""
        propose, select, certify = (self.part(name) for name in ("propose", "select", "certify"))
        first = self.asking.ask(self.own, propose)
        accuracy = float(first.right(propose).mean())
        self._refuse_little_headroom(accuracy, len(certify))
        self.partition = freeze(self.store, self.partition)
        mistakes = _mistakes(first, propose)
        best: Candidate | None = None
        start = self.own
        for stage in range(1, self.rounds + 1):
            proposals = self._propose(start, mistakes, stage)
            fresh = [candidate for candidate in proposals if candidate not in self.tried]
            survivors = self._halve([*([best] if best else []), *fresh], select)
            if survivors:
                best = max(survivors, key=lambda c: (self._right(c, select).mean(), c.name))
                start = best
        own_right = self._right(self.own, select)
        chosen = None
        if best is not None:
            d = self._right(best, select) - own_right
            clusters = [row.cluster for row in select]
            chosen = best if d.mean() > standard_error(d, clusters) else None
        return self._certify(chosen, best, select, certify)

    def _refuse_little_headroom(self, accuracy: float, rows: int) -> None:
        headroom = 1 - accuracy
        if rows == 0 or smallest_gain(rows) > headroom:
            needed = rows_needed(max(headroom, 0.01))
            labels = math.ceil(100 * needed / self.partition.shares[2])
            remedy = (
                f"the own prompt is right on {accuracy:.0%} of propose, so at most "
                f"{headroom:.0%} can be gained, and {rows} certify labels cannot show that: "
                f"about {labels:,} labels are needed"
            )
            raise ArgumentError("rows", f"{len(self.labelled)} labels", remedy)

    def _propose(
        self, start: Candidate, mistakes: Sequence[Mistake], stage: int
    ) -> list[Candidate]:
        proposals = show_mistakes(start, mistakes)
        if stage == 1:
            proposals += [
                candidate
                for candidate in reason_first(self.own, self.asking.protocol, builtin=self.builtin)
                if self.asking.can_ask(candidate)
            ]
        left = self.candidates - len(self.tried) - len(self.rejected)
        share = math.ceil(left / (self.rounds - stage + 1))
        if self.proposer is not None and mistakes:
            wanted = max(0, share - len(proposals))
            proposals += self._rewrites(start, mistakes, wanted, stage)
        return proposals[: max(0, left)]

    def _rewrites(
        self, start: Candidate, mistakes: Sequence[Mistake], wanted: int, stage: int
    ) -> list[Candidate]:
        if wanted == 0 or self.proposer is None:
            return []
        self.announce(f"round {stage}: asking {self.proposer.name} for {wanted} prompts")
        items, cases = rewrite_requests(mistakes, wanted, stage=str(stage))
        run = self.asking.run(items, self.proposer, Rewriting(start.prompt, cases))
        texts = dict(run.judgments.select("id", "text").iter_rows())
        rewrites: dict[str, Candidate] = {}
        for item in items:
            read = read_rewrite(
                item.id,
                texts.get(item.id),
                start,
                cases[item.id],
                protocol=self.asking.protocol,
                options=self.asking.options,
            )
            if isinstance(read, str):
                self.rejected.append(TriedPrompt(name=item.id, rows=0, accuracy=None, dropped=read))
            else:
                rewrites.setdefault(read.prompt.sha256, read)
        return list(rewrites.values())

    def _halve(self, candidates: list[Candidate], rows: Sequence[Labelled]) -> list[Candidate]:
        """Ask all about the first rows, the better half about twice as many, until all rows."""
        n = min(len(rows), max(_FIRST, math.ceil(len(rows) / 4)))
        alive = candidates
        while alive:
            self.announce(f"asking {len(alive)} prompts about {n} rows")
            alive = [candidate for candidate in alive if self._ask(candidate, rows[:n])]
            self.asking.ask(self.own, rows[:n])
            if n == len(rows):
                break
            ranked = sorted(alive, key=lambda c: (-self._right(c, rows[:n]).mean(), c.name))
            alive = ranked[: math.ceil(len(ranked) / 2)]
            n = min(len(rows), 2 * n)
        if not alive:
            self.asking.ask(self.own, rows)
        return alive

    def _ask(self, candidate: Candidate, rows: Sequence[Labelled]) -> bool:
        """Ask a candidate; False if its failures drop it."""
        try:
            answers = self.asking.ask(candidate, rows)
        except UnusableRepliesError as error:
            self.tried[candidate] = TriedPrompt(
                name=candidate.name, rows=len(rows), accuracy=None, dropped=str(error)
            )
            return False
        failed = sum(verdict is None for verdict in answers.verdicts.values())
        dropped = None
        if failed > _MOST_FAILED * len(rows):
            dropped = f"{failed} of {len(rows)} rows have no verdict"
        self.tried[candidate] = TriedPrompt(
            name=candidate.name,
            rows=len(rows),
            accuracy=float(answers.right(rows).mean()),
            dropped=dropped,
        )
        return dropped is None

    def _right(self, candidate: Candidate, rows: Sequence[Labelled]) -> FloatArray:
        return self.asking.answers[candidate].right(rows)

    def _certify(
        self,
        chosen: Candidate | None,
        best: Candidate | None,
        select: Sequence[Labelled],
        certify: Sequence[Labelled],
    ) -> AlignmentRun:
        own_select = float(self._right(self.own, select).mean())
        best_select = None if best is None else float(self._right(best, select).mean())
        suspects = self._suspects(select)
        fields: dict[str, Any] = {
            "judge": self.asking.judge.name,
            "proposer": None if self.proposer is None else self.proposer.name,
            "protocol": self.asking.protocol,
            "chosen": None if chosen is None else chosen.name,
            "looks": self.looks,
            "n_propose": len(self.part("propose")),
            "n_select": len(select),
            "n_certify": len(certify),
            "smallest_gain": smallest_gain(len(certify)),
            "own_on_select": own_select,
            "best_on_select": best_select,
            "tried": (*self.tried.values(), *self.rejected),
            "own_prompt": self.own.prompt.text,
            "suspects": tuple(row.subject.id for row in suspects),
            "alpha": self.alpha,
            "guarantee": self.guarantee,
            "seed": self.seed,
            "store": store_name(self.store) or "memory",
            "dropped": self.dropped,
            "assumptions": _ASSUMED,
        }
        policy: Policy | None = None
        changed: list[ChangedRow] = []
        if chosen is not None:
            compared, policy, changed = self._compare(chosen, certify)
            fields |= compared
        result = Alignment(
            **fields,
            changed=tuple(changed),
            calls=self.asking.calls,
            cost=self.asking.cost,
            ledger=tuple(
                PastLook(look=look.look, own=look.own, chosen=look.chosen)
                for look in self.partition.ledger
            ),
        )
        texts = {row.subject.id: row.subject for row in certify}
        kept = chosen or self.own
        return AlignmentRun(
            result=result,
            prompt=kept.prompt,
            demonstrations=kept.demonstrations,
            policy=policy,
            suspects=self._with_controls(suspects, select),
            changed=[{**dataclasses.asdict(row), **_texts(texts[row.id])} for row in changed],
        )

    def _compare(
        self, chosen: Candidate, certify: Sequence[Labelled]
    ) -> tuple[dict[str, Any], Policy | None, list[ChangedRow]]:
        """Take the look, ask both about certify, and compare them."""
        settings = (
            candidate.protocol(self.asking.protocol, self.asking.options).settings()
            for candidate in (self.own, chosen)
        )
        own_name, chosen_name = (
            f"{candidate.name} {_hash(repr(sorted(each.items())))[:12]}"
            for candidate, each in zip((self.own, chosen), settings, strict=True)
        )
        self.partition, look = take_look(
            self.store,
            self.partition,
            looks=self.looks,
            own=f"{self.asking.judge.name}, {own_name}",
            chosen=f"{self.asking.judge.name}, {chosen_name}",
            rows=_hash("".join(sorted(_hash(row.subject.id + row.label) for row in certify))),
        )
        self.announce(f"look {look} of {self.looks}: asking both prompts about certify")
        before, after = (self.asking.ask(candidate, certify) for candidate in (self.own, chosen))
        clusters = [row.cluster for row in certify]
        own, aligned = before.right(certify), after.right(certify)
        gain, interval = paired_gain(own, aligned, clusters, looks=self.looks)
        changed = [
            ChangedRow(
                id=row.subject.id,
                change="fixed" if right else "broken",
                label=row.label,
                before=before.verdicts[row.subject.id],
                after=after.verdicts[row.subject.id],
            )
            for row, was, right in zip(certify, own, aligned, strict=True)
            if was != right
        ]
        policy = calibrate(
            after.frame, alpha=self.alpha, guarantee=self.guarantee, cluster=None, seed=self.seed
        )
        compared = {
            "gain": gain,
            "interval": interval,
            "own_accuracy": float(own.mean()),
            "own_interval": accuracy_interval(own, clusters, looks=self.looks),
            "aligned_accuracy": float(aligned.mean()),
            "aligned_interval": accuracy_interval(aligned, clusters, looks=self.looks),
            "look": look,
            "aligned_prompt": chosen.prompt.text,
            "demonstrations": len(chosen.demonstrations),
            "reason": chosen.reason,
            "own_cost_per_row": before.cost,
            "aligned_cost_per_row": after.cost,
            "accepted_share": policy.coverage if policy.feasible else 0.0,
        }
        return compared, policy, changed

    def _suspects(self, select: Sequence[Labelled]) -> list[Labelled]:
        """Rows of select on which every good prompt stands against the label."""
        complete = {
            candidate: answers.right(select)
            for candidate, answers in self.asking.answers.items()
            if len(answers.correct) == len(select)
        }
        if not complete:
            return []
        best = max(right.mean() for right in complete.values())
        clusters = [row.cluster for row in select]
        good = [
            right
            for right in complete.values()
            if right.mean() >= _GOOD and best - right.mean() <= 2 * standard_error(right, clusters)
        ]
        if len(good) < 2:
            return []
        wrong = np.all([right == 0 for right in good], axis=0)
        return [row for row, against in zip(select, wrong, strict=True) if against]

    def _with_controls(
        self, suspects: Sequence[Labelled], select: Sequence[Labelled]
    ) -> list[dict[str, Any]]:
        """The suspects among as many other rows, without their labels, in random order."""
        ids = {row.subject.id for row in suspects}
        controls = [row for row in select if row.subject.id not in ids][: len(suspects)]
        mixed = [*suspects, *controls]
        mixed.sort(key=lambda row: _hash(f"{self.seed}{row.subject.id}"))
        return [{"id": row.subject.id, **_texts(row.subject)} for row in mixed]


def _shared_fields() -> list[dataclasses.Field[Any]]:
    mine = ("judge", "protocol", "store", "announce", "stop", "progress")
    return [each for each in dataclasses.fields(JudgingOptions) if each.name not in mine]


def _mistakes(answers: Answers, rows: Sequence[Labelled]) -> list[Mistake]:
    """The wrong verdicts, the surest first; rows without a verdict teach nothing."""
    wrong = [
        Mistake(row, answers.verdicts[row.subject.id], answers.doubts[row.subject.id])
        for row in rows
        if answers.correct[row.subject.id] == 0 and answers.verdicts[row.subject.id] is not None
    ]
    return sorted(wrong, key=lambda mistake: (mistake.doubt, mistake.row.subject.id))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _texts(subject: Subject) -> dict[str, str]:
    if isinstance(subject, Pair):
        return {
            "prompt": subject.prompt,
            "response_a": subject.response_a,
            "response_b": subject.response_b,
        }
    return {"prompt": subject.prompt, "response": subject.response}


def rows_of(subjects: Sequence[Subject]) -> list[dict[str, Any]]:
    """The rows of a file that shows these subjects as demonstrations."""
    return [
        {
            "id": subject.id,
            **_texts(subject),
            **(
                {"label": subject.label}
                if isinstance(subject, Pair)
                else {"human": subject.extra.get("human")}
            ),
        }
        for subject in subjects
    ]


def _set_up(given: Mapping[str, Any]) -> _Setup:
    """Check everything that can be checked before the first call."""
    protocol = one_of(given["protocol"], PROTOCOLS, "protocol")
    for name, least in (("candidates", 1), ("rounds", 1), ("looks", 1), ("seed", 0)):
        count(given[name], name, least=least)
    shares = check_shares(given["shares"])
    names = ("store", "max_cost", "prices", "concurrency", "rpm", "timeout")
    shared = {name: given[name] for name in names}
    reading = {name: given[name] for name in ("format", "columns", "labels_as")}
    asked = {name: given[name] for name in ("samples", "max_tokens", "criteria")}
    first = JudgingOptions(
        judge=given["judge"],
        protocol=protocol,
        prompt=given["prompt"],
        base_url=given["base_url"],
        api_key_env=given["api_key_env"],
        **asked,
        **shared,
    )
    judge = first.make_judge()
    first.price_of(judge, for_run=True)
    proposer = _proposer(given, shared)
    kind: Literal["pairs", "items"] = "items" if protocol == "grade" else "pairs"
    subjects = list(Subjects(given["rows"], kind=kind, seed=given["seed"], **reading).read())
    wrong = next((s for s in subjects if isinstance(s, Item) != (kind == "items")), None)
    if wrong is not None:
        raise ArgumentError("protocol", protocol, "grade is for items, preference for pairs")
    labelled, dropped = read_labelled(subjects)
    check_labels(labelled)
    for row in labelled:
        judge.protocol.check(row.subject)
    partition = open_partition(given["store"], labelled, shares=shares, seed=given["seed"])
    if partition.looks is not None and partition.looks != given["looks"]:
        remedy = f"{partition.looks} were declared before: give --looks {partition.looks}"
        raise ArgumentError("looks", given["looks"], remedy)
    options = {name: value for name, value in asked.items() if value is not None}
    if given["criteria"] is not None:
        from adjudge.judges.criteria import read_criteria

        options["criteria"] = read_criteria(given["criteria"])
    own = builtin_prompt(protocol) if given["prompt"] is None else read_prompt(given["prompt"])
    announce = given["announce"] or (lambda _: None)
    return _Setup(
        asking=Asking(judge.backend, protocol, options, _running(first), given["max_cost"]),
        own=Candidate("own", own),
        builtin=given["prompt"] is None,
        proposer=proposer,
        labelled=labelled,
        dropped=dropped,
        partition=partition,
        candidates=given["candidates"],
        rounds=given["rounds"],
        looks=given["looks"],
        alpha=given["alpha"],
        guarantee=given["guarantee"],
        store=given["store"],
        seed=given["seed"],
        announce=announce,
    )


def _running(first: JudgingOptions) -> JudgingOptions:
    """How judge and proposer are asked; what the backend object has is not repeated."""
    return replace(
        first,
        prompt=None,
        criteria=None,
        samples=None,
        max_tokens=None,
        base_url=None,
        api_key_env=None,
        timeout=None,
    )


def _proposer(given: Mapping[str, Any], shared: Mapping[str, Any]) -> Backend | None:
    if given["proposer"] is None:
        return None
    options = JudgingOptions(
        judge=given["proposer"],
        protocol=Rewriting(builtin_prompt(given["protocol"]), {}),
        base_url=given["proposer_base_url"],
        **shared,
    )
    made = options.make_judge()
    options.price_of(made, for_run=True)
    return made.backend
