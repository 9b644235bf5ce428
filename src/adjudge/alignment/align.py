"""Align a judge's prompt with people's labels, and certify the gain on labels it never saw.

1. The labels are divided into propose, select and certify (`parts.py`).
2. The own prompt is asked about propose; its mistakes suggest candidates (`candidates.py`).
3. Candidates and the own prompt are compared on select, by halving.
4. The best one is chosen only if its gain on select exceeds one standard error; otherwise the own
   prompt stays and certify stays unread.
5. Certify is asked once for the own and the chosen prompt: paired gain, both accuracies, a policy.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import polars as pl

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
    mean_over_clusters,
    paired_gain,
    rows_needed,
    smallest_gain,
    standard_error,
)
from adjudge.alignment.parts import (
    PARTS,
    SHARES,
    Labelled,
    Partition,
    check_labels,
    check_shares,
    find_look,
    freeze,
    open_partition,
    read_labelled,
    take_look,
    texts_of,
)
from adjudge.alignment.result import (
    Alignment,
    AlignmentPlan,
    AlignmentRun,
    ChangedRow,
    PastLook,
    TriedPrompt,
)
from adjudge.data import Reading
from adjudge.errors import ArgumentError, JudgeError, UnusableRepliesError
from adjudge.judges.criteria import read_criteria
from adjudge.judges.interface import Backend
from adjudge.judges.options import JudgingOptions
from adjudge.judges.prices import Price
from adjudge.judges.prompting import builtin_prompt, read_prompt
from adjudge.judges.subjects import Subjects, SubjectSource
from adjudge.policy.result import Policy
from adjudge.present.text import count as count_of
from adjudge.selection import calibrate, find_guarantee
from adjudge.store import store_name, use_store
from adjudge.store.interface import DEFAULT_STORE, StorePlace, content_hash
from adjudge.validation import count, exact_level, one_of

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
    seed: int = 0,
    announce: Callable[[str], None] | None = None,
    **reading: Unpack[Reading],
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
        seed: Seed of everything random.
        announce: Function that gets a line about each step.
        **reading: Names of columns and words in labels: see `adjudge.data.Reading`.

    The gain is measured on rows that neither the proposals nor the choice used. "No gain shown" is
    the usual result: most other prompts are not better.
    """
    options = {**locals(), **reading}
    # Without a store, one temporary store serves the whole run, so that nothing is asked twice.
    with use_store(None) if store is None else nullcontext(store) as place:
        return _set_up({**options, "store": place}).search()


def plan_alignment(rows: SubjectSource, **options: Any) -> AlignmentPlan:
    """What `align` would do with the same arguments: parts, smallest gain, most calls and cost.

    Args:
        rows: Labelled pairs, or labelled items for grade.
        options: As in `align`.
    """
    return _set_up({**(align.__kwdefaults__ or {}), **options, "rows": rows}).plan()


@dataclass
class _Setup:
    """One alignment: everything checked before the first call."""

    asking: Asking
    own: Candidate
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
    builtin: bool
    tried: dict[Candidate, TriedPrompt] = field(default_factory=dict)
    rejected: list[TriedPrompt] = field(default_factory=list)
    #: Candidates that were dropped because of errors of the server.
    broken: set[Candidate] = field(default_factory=set)

    def part(self, name: str) -> list[Labelled]:
        rows = [row for row in self.labelled if self.partition.parts[row.cluster] == name]
        # By hash, so that every candidate is asked about the same first rows.
        return sorted(rows, key=lambda row: (row.cluster, str(texts_of(row.subject))))

    def check_parts(self) -> None:
        """Refuse an empty part, and a further look, before the first call."""
        prompts = len({row.cluster for row in self.labelled})
        if any(len({row.cluster for row in self.part(name)}) < 2 for name in PARTS):
            remedy = "each part needs two or more: label answers to other prompts too"
            raise ArgumentError("rows", f"{prompts} different prompts", remedy)
        find_look(self.partition, self.looks, self._compared(self.own))

    def plan(self) -> AlignmentPlan:
        sizes = {name: len(self.part(name)) for name in PARTS}
        most = sizes["propose"] + sizes["select"] * (self.candidates + 1) + 2 * sizes["certify"]
        longest = sorted(self.labelled, key=lambda row: -len(str(texts_of(row.subject))))
        cases = [Mistake(row, row.label, 0.0) for row in longest]
        each, cost = 0.0, 0.0
        for way in (self.own, *self._without_proposer(self.own, cases)):
            rows = [row for row in self.labelled if row.subject not in way.demonstrations]
            plan = self.asking.plan([row.subject for row in rows], way)
            each = max(each, plan.calls / len(rows))
            cost = max(cost, (plan.cost_estimate or 0.0) / len(rows))
            known = plan.cost_estimate is not None
        calls, dollars = round(most * each), most * cost
        if self.proposer is not None:
            items, shown = rewrite_requests(cases, self.candidates, stage="1")
            plan = self.asking.plan(items, Rewriting(self.own.prompt, shown), self.proposer)
            calls, dollars = calls + plan.calls, dollars + (plan.cost_estimate or 0.0)
            known = known and plan.cost_estimate is not None
        return AlignmentPlan(
            judge=self.asking.judge.name,
            **{f"n_{name}": size for name, size in sizes.items()},
            candidates=self.candidates,
            smallest_gain=smallest_gain(sizes["certify"]),
            looks_left=self.looks - len(self.partition.ledger),
            most_calls=calls,
            most_cost=dollars if known else None,
            dropped=self.dropped,
        )

    def search(self) -> AlignmentRun:
        """Propose, select, certify."""
        propose, select, certify = map(self.part, PARTS)
        first = self.asking.ask(self.own, propose)
        self._refuse_little_headroom(self._accuracy(self.own, propose), len(certify))
        self.partition = freeze(self.store, self.partition)
        mistakes = _mistakes(first, propose)
        best: Candidate | None = None
        for stage in range(1, self.rounds + 1):
            fresh = self._propose(best or self.own, mistakes, stage)
            finalists = [*self._halve(fresh, select), *([best] if best else [])]
            if finalists:
                best = max(finalists, key=lambda c: (self._accuracy(c, select), c.name))
        chosen = None
        if best is not None:
            d = self.asking.right(best, select) - self.asking.right(self.own, select)
            clusters = [row.cluster for row in select]
            gains = mean_over_clusters(d, clusters) > standard_error(d, clusters)
            chosen = best if gains else None
        return self._certify(chosen, best, select, certify)

    def _accuracy(self, candidate: Candidate, rows: Sequence[Labelled]) -> float:
        right = self.asking.right(candidate, rows)
        return mean_over_clusters(right, [row.cluster for row in rows])

    def _refuse_little_headroom(self, accuracy: float, rows: int) -> None:
        headroom = 1 - accuracy
        if smallest_gain(rows) > headroom:
            needed = rows_needed(max(headroom, 0.01))
            labels = math.ceil(100 * needed / self.partition.shares[2])
            remedy = (
                f"the own prompt is right on {accuracy:.0%} of propose, so at most "
                f"{headroom:.0%} can be gained, and {rows} certify labels cannot show that: "
                f"about {labels:,} labels are needed"
            )
            raise ArgumentError("rows", f"{len(self.labelled)} labels", remedy)

    def _without_proposer(self, start: Candidate, mistakes: Sequence[Mistake]) -> list[Candidate]:
        """Demonstrations, and reasons first; not those that the judge or prompt does not allow."""
        reasons = reason_first(self.own, self.asking.protocol, builtin=self.builtin)
        listed = [*show_mistakes(start, mistakes), *reasons]
        return [candidate for candidate in listed if self.asking.refusal_of(candidate) is None]

    def _propose(
        self, start: Candidate, mistakes: Sequence[Mistake], stage: int
    ) -> list[Candidate]:
        proposals = self._without_proposer(start, mistakes)
        left = self.candidates - len(self.tried) - len(self.rejected)
        share = math.ceil(left / (self.rounds - stage + 1))
        known = {self.own, *self.tried}
        proposals = [candidate for candidate in proposals if candidate not in known]
        wanted = share - len(proposals)
        if self.proposer is not None and mistakes and wanted > 0:
            rewrites = self._rewrites(self.proposer, start, mistakes, wanted, stage)
            proposals += [candidate for candidate in rewrites if candidate not in known]
        return proposals[: max(0, left)]

    def _rewrites(
        self,
        proposer: Backend,
        start: Candidate,
        mistakes: Sequence[Mistake],
        wanted: int,
        stage: int,
    ) -> list[Candidate]:
        self.announce(f"round {stage}: asking {proposer.name} for {count_of(wanted, 'prompt')}")
        items, cases = rewrite_requests(mistakes, wanted, stage=str(stage))
        run = self.asking.run(items, proposer, Rewriting(start.prompt, cases))
        if run.summary.statuses.get("error") == len(items):
            detail = next(iter(run.judgments["detail"]), None)
            remedy = "repair it and run the same command again to resume"
            raise JudgeError(f"{proposer.name} failed on all requests ({detail}): {remedy}")
        texts = dict(run.judgments.select("id", "text").iter_rows())
        rewrites: dict[Candidate, None] = {}
        for item in items:
            read = read_rewrite(item.id, texts.get(item.id), start, cases[item.id])
            if isinstance(read, Candidate):
                read = self.asking.refusal_of(read) or read
            if isinstance(read, str):
                self.rejected.append(TriedPrompt(name=item.id, rows=0, accuracy=None, dropped=read))
            else:
                rewrites.setdefault(read)
        return list(rewrites)

    def _halve(self, candidates: list[Candidate], rows: Sequence[Labelled]) -> list[Candidate]:
        """Ask all about the first rows, the better half about twice as many, until all rows."""
        n = min(len(rows), max(_FIRST, math.ceil(len(rows) / 4)))
        alive = candidates
        while alive:
            self.announce(f"asking {count_of(len(alive), 'prompt')} about {n} rows")
            asked, alive = alive, [each for each in alive if self._ask(each, rows[:n])]
            if len(asked) > 1 and self.broken.issuperset(asked):
                reason = self.tried[asked[0]].dropped
                remedy = "repair the judge and run the same command again to resume"
                raise JudgeError(f"all prompts failed ({reason}): {remedy}")
            if n == len(rows):
                break
            ranked = sorted(alive, key=lambda c: (-self._accuracy(c, rows[:n]), c.name))
            alive = ranked[: math.ceil(len(ranked) / 2)]
            n = min(len(rows), 2 * n)
        self.asking.ask(self.own, rows)
        return alive

    def _ask(self, candidate: Candidate, rows: Sequence[Labelled]) -> bool:
        """Ask a candidate; False if its failures drop it."""
        accuracy = dropped = None
        try:
            answers = self.asking.ask(candidate, rows, needed=False)
        except UnusableRepliesError as error:
            dropped = str(error)
        else:
            accuracy = self._accuracy(candidate, rows)
            failed = sum(verdict is None for verdict in answers.verdicts.values())
            if answers.too_many_errors:
                self.broken.add(candidate)
                dropped = answers.too_many_errors
            elif failed > _MOST_FAILED * len(rows):
                dropped = f"{failed} of {len(rows)} rows have no verdict"
        self.tried[candidate] = TriedPrompt(
            name=candidate.name, rows=len(rows), accuracy=accuracy, dropped=dropped
        )
        return dropped is None

    def _certify(
        self,
        chosen: Candidate | None,
        best: Candidate | None,
        select: Sequence[Labelled],
        certify: Sequence[Labelled],
    ) -> AlignmentRun:
        suspects = self._suspects(select)
        compared, policy, changed = ({}, None, []) if chosen is None else self._compare(chosen)
        broken = count_of(len(self.broken), "prompt")
        warnings = [f"{broken} dropped because of errors: run again to ask again"]
        result = Alignment(
            judge=self.asking.judge.name,
            proposer=None if self.proposer is None else self.proposer.name,
            protocol=self.asking.protocol,
            chosen=None if chosen is None else chosen.name,
            looks=self.looks,
            n_propose=len(self.part("propose")),
            n_select=len(select),
            n_certify=len(certify),
            smallest_gain=smallest_gain(len(certify)),
            own_on_select=self._accuracy(self.own, select),
            best_on_select=None if best is None else self._accuracy(best, select),
            tried=(*self.tried.values(), *self.rejected),
            own_prompt=self.own.prompt.text,
            suspects=tuple(row.subject.id for row in suspects),
            changed=tuple(changed),
            calls=self.asking.calls,
            cost=self.asking.cost,
            alpha=self.alpha,
            guarantee=self.guarantee,
            seed=self.seed,
            store=store_name(self.store) or "memory",
            dropped=self.dropped,
            ledger=tuple(
                PastLook(look=look.look, own=look.own, chosen=look.chosen)
                for look in self.partition.ledger
            ),
            warnings=tuple(warnings) if self.broken else (),
            assumptions=_ASSUMED,
            **compared,
        )
        subjects = {row.subject.id: row.subject for row in certify}
        final = chosen or self.own
        return AlignmentRun(
            result=result,
            prompt=final.prompt,
            demonstrations=final.demonstrations,
            policy=policy,
            suspects=self._with_controls(suspects, select),
            changed=[{**vars(row), **texts_of(subjects[row.id])} for row in changed],
        )

    def _compared(self, own: Candidate) -> dict[str, str]:
        """What a look at certify compares, as the store remembers it."""
        rows = sorted(
            content_hash([*texts_of(row.subject).values(), row.label])
            for row in self.part("certify")
        )
        return {"own": self.asking.describe(own), "rows": _hash("".join(rows))}

    def _compare(self, chosen: Candidate) -> tuple[dict[str, Any], Policy, list[ChangedRow]]:
        """Take the look, ask both about certify, and compare them."""
        certify = self.part("certify")
        compared = {**self._compared(self.own), "chosen": self.asking.describe(chosen)}
        self.partition, look = take_look(self.store, self.partition, self.looks, compared)
        self.announce(f"look {look} of {self.looks}: asking both prompts about certify")
        before, after = (self.asking.ask(candidate, certify) for candidate in (self.own, chosen))
        clusters = [row.cluster for row in certify]
        own, aligned = (self.asking.right(candidate, certify) for candidate in (self.own, chosen))
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
        frame, repeated = after.frame, len(set(clusters)) < len(clusters)
        if repeated:
            prompts = {row.subject.id: row.cluster for row in certify}
            frame = frame.with_columns(
                prompt_id=pl.col("id").replace_strict(prompts, return_dtype=pl.String)
            )
        policy = calibrate(
            frame,
            alpha=self.alpha,
            guarantee=self.guarantee,
            cluster="prompt_id" if repeated else None,
            seed=self.seed,
        )
        fields = {
            "gain": gain,
            "interval": interval,
            "own_accuracy": mean_over_clusters(own, clusters),
            "own_interval": accuracy_interval(own, clusters, looks=self.looks),
            "aligned_accuracy": mean_over_clusters(aligned, clusters),
            "aligned_interval": accuracy_interval(aligned, clusters, looks=self.looks),
            "look": look,
            "aligned_prompt": chosen.prompt.text,
            "demonstrations": len(chosen.demonstrations),
            "reason": chosen.reason,
            "own_cost_per_row": before.cost,
            "aligned_cost_per_row": after.cost,
            "accepted_share": policy.coverage if policy.feasible else 0.0,
        }
        return fields, policy, changed

    def _suspects(self, select: Sequence[Labelled]) -> list[Labelled]:
        """Rows of select on which every good prompt stands against the label."""
        complete = [
            self.asking.right(candidate, select)
            for candidate, correct in self.asking.correct.items()
            if all(row.subject.id in correct for row in select)
        ]
        best = max(right.mean() for right in complete)
        clusters = [row.cluster for row in select]
        good = [
            right
            for right in complete
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
        return [{"id": row.subject.id, **texts_of(row.subject)} for row in mixed]


def _mistakes(answers: Answers, rows: Sequence[Labelled]) -> list[Mistake]:
    """The wrong verdicts, the surest first; rows without a verdict teach nothing."""
    wrong = [
        Mistake(row, answers.verdicts[row.subject.id], answers.doubts[row.subject.id])
        for row in rows
        if answers.verdicts[row.subject.id] not in (None, row.label)
    ]
    return sorted(wrong, key=lambda mistake: (mistake.doubt, mistake.row.cluster))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _set_up(given: Mapping[str, Any]) -> _Setup:
    """Check everything that can be checked before the first call."""
    protocol = one_of(given["protocol"], PROTOCOLS, "protocol")
    for name, least in (("candidates", 1), ("rounds", 1), ("looks", 1), ("seed", 0)):
        count(given[name], name, least=least)
    exact_level(given["alpha"])
    find_guarantee(given["guarantee"])
    shares = check_shares(given["shares"])
    names = ("store", "max_cost", "prices", "concurrency", "rpm", "timeout")
    running = JudgingOptions(**{name: given[name] for name in names})
    of_judge = ("judge", "protocol", "prompt", "base_url", "api_key_env")
    asked = ("samples", "max_tokens", "criteria")
    first = replace(running, **{name: given[name] for name in (*of_judge, *asked)})
    judge = first.make_judge()
    first.price_of(judge, for_run=True)
    if given.get("labels_columns") is not None:
        raise ArgumentError("labels_columns", given["labels_columns"], "labels are in the rows")
    with closing(
        Subjects(
            given["rows"],
            protocol=judge.protocol,
            format=given["format"],
            columns=given.get("columns"),
            labels_as=given.get("labels_as"),
            seed=given["seed"],
        )
    ) as subjects:
        subjects.survey()
        labelled, dropped = read_labelled(list(subjects))
    check_labels(labelled)
    options = {name: given[name] for name in asked if given[name] is not None}
    if "criteria" in options:
        options["criteria"] = read_criteria(options["criteria"])
    builtin = given["prompt"] is None
    prompt = builtin_prompt(protocol) if builtin else read_prompt(given["prompt"])
    copied = ("candidates", "rounds", "looks", "alpha", "guarantee", "store", "seed")
    setup = _Setup(
        # What the backend object has is not repeated.
        asking=Asking(judge.backend, protocol, options, replace(running, timeout=None)),
        own=Candidate("own", prompt),
        builtin=builtin,
        proposer=_proposer(given, running),
        labelled=labelled,
        dropped={**subjects.dropped, **dropped},
        partition=open_partition(given["store"], labelled, shares=shares, seed=given["seed"]),
        announce=given["announce"] or (lambda _: None),
        **{name: given[name] for name in copied},
    )
    setup.check_parts()
    return setup


def _proposer(given: Mapping[str, Any], running: JudgingOptions) -> Backend | None:
    if given["proposer"] is None:
        return None
    options = replace(
        running,
        judge=given["proposer"],
        protocol=Rewriting(builtin_prompt(given["protocol"]), {}),
        base_url=given["proposer_base_url"],
    )
    made = options.make_judge()
    options.price_of(made, for_run=True)
    return made.backend
