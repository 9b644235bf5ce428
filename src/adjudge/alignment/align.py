"""Align a judge's prompt with people's labels, and certify the gain on labels it never saw.

1. The labels are divided into propose, select and certify (`parts.py`).
2. The own prompt is asked about propose; its mistakes suggest candidates (`candidates.py`).
3. Candidates and the own prompt are compared on select, by halving.
4. The best one is chosen only if its gain on select exceeds one standard error; otherwise the own
   prompt stays and certify stays unread.
5. Certify is asked once for the own and the chosen prompt: paired gain, both accuracies, a policy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Unpack

import polars as pl

from adjudge.alignment import parts
from adjudge.alignment.asking import AGAIN, Asking
from adjudge.alignment.candidates import (
    Candidate,
    Mistake,
    Rewriting,
    read_rewrite,
    rewrite_requests,
    show_mistakes,
)
from adjudge.alignment.numbers import (
    ERROR,
    accuracy_interval,
    measure_gain,
    questions_needed,
    smallest_gain,
    standard_error,
)
from adjudge.alignment.parts import SHARES, Labelled, Partition
from adjudge.alignment.result import (
    Alignment,
    AlignmentPlan,
    AlignmentRun,
    ChangedRow,
    TriedPrompt,
)
from adjudge.data import Reading
from adjudge.errors import ArgumentError, JudgeError, UnusableRepliesError
from adjudge.judges.criteria import read_criteria
from adjudge.judges.interface import Backend
from adjudge.judges.options import JudgingOptions
from adjudge.judges.prices import Price
from adjudge.judges.prompting import builtin_prompt, read_prompt
from adjudge.judges.subjects import SubjectSource
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
    "rows of one question can be alike; questions are independent",
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
class _Search:
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
    announce: Callable[[str], None] | None
    tried: dict[Candidate, TriedPrompt] = field(default_factory=dict)
    rejected: list[TriedPrompt] = field(default_factory=list)
    #: Candidates that were dropped because of errors of the server.
    broken: set[Candidate] = field(default_factory=set)

    def __post_init__(self) -> None:
        """Divide the rows; refuse an empty part, and a further look."""
        # By hash, so that every candidate is asked about the same first rows.
        ordered = sorted(self.labelled, key=lambda row: (row.question, str(row.texts)))
        self.propose, self.select, self.certify = (
            [row for row in ordered if self.partition.parts[row.question] == part]
            for part in parts.PARTS
        )
        sizes = [_questions(rows) for rows in (self.propose, self.select, self.certify)]
        if min(sizes) < 2:
            remedy = "each part needs two or more: label answers to other questions too"
            raise ArgumentError("rows", f"{sum(sizes)} different questions", remedy)
        hashes = sorted(content_hash([*row.texts.values(), row.label]) for row in self.certify)
        self.compared = {"own": self._describe(self.own), "rows": content_hash(hashes)}
        self.partition.find_look(self.looks, self.compared)
        self.common = {
            "judge": self.asking.judge.name,
            "n_propose": len(self.propose),
            "n_select": len(self.select),
            "n_certify": len(self.certify),
            "certify_questions": sizes[2],
            "smallest_gain": smallest_gain(sizes[2], self.looks),
            "dropped": self.dropped,
        }

    def plan(self) -> AlignmentPlan:
        most = len(self.propose) + len(self.select) * (self.candidates + 1) + 2 * len(self.certify)
        longest = sorted(self.labelled, key=lambda row: -len(str(row.texts)))
        cases = [Mistake(row, row.label) for row in longest]
        plans = []
        for way in (self.own, *self._without_proposer(self.own, cases)):
            subjects = [row.subject for row in longest if row.subject not in way.demonstrations]
            plans.append(self.asking.plan(subjects, self.asking.make_judge(way).protocol))
        calls = most * max(plan.calls / plan.subjects for plan in plans)
        cost = most * max((plan.cost_estimate or 0.0) / plan.subjects for plan in plans)
        if self.proposer is not None:
            items, shown = rewrite_requests(cases, self.candidates, stage=1)
            rewriting = Rewriting(self.own.prompt, shown)
            plans.append(self.asking.plan(items, rewriting, self.proposer))
            calls, cost = calls + plans[-1].calls, cost + (plans[-1].cost_estimate or 0.0)
        return AlignmentPlan(
            **self.common,
            candidates=self.candidates,
            looks_left=self.looks - len(self.partition.ledger),
            most_calls=round(calls),
            most_cost=None if any(plan.cost_estimate is None for plan in plans) else cost,
        )

    def search(self) -> AlignmentRun:
        """Propose, select, certify."""
        mistakes = self._mistakes()
        self.partition = self.partition.freeze(self.store)
        best: Candidate | None = None
        for stage in range(1, self.rounds + 1):
            finalists = self._halve(self._propose(best or self.own, mistakes, stage))
            finalists += [] if best is None else [best]
            if finalists:
                best = max(finalists, key=lambda c: (self._accuracy(c, self.select), c.name))
        self.asking.ask(self.own, self.select)
        chosen = None
        if best is not None:
            d = self.asking.right(best, self.select) - self.asking.right(self.own, self.select)
            chosen = best if d.mean() > standard_error(d) else None
        return self._conclude(best, chosen)

    def _accuracy(self, candidate: Candidate, rows: Sequence[Labelled]) -> float:
        return float(self.asking.right(candidate, rows).mean())

    def _describe(self, candidate: Candidate) -> str:
        """The judge that a candidate is, with the beginning of its fingerprint."""
        fingerprint = self.asking.make_judge(candidate).fingerprint
        return f"{self.asking.judge.name}, {candidate.name} {fingerprint[:12]}"

    def _say(self, line: str) -> None:
        if self.announce is not None:
            self.announce(line)

    def _mistakes(self) -> list[Mistake]:
        """The own prompt's wrong verdicts on propose, the surest first.

        Rows without a verdict teach nothing. Refuses labels that cannot show what is left to gain.
        """
        answers = self.asking.ask(self.own, self.propose)
        accuracy = self._accuracy(self.own, self.propose)
        if self.common["smallest_gain"] > 1 - accuracy:
            needed = questions_needed(max(1 - accuracy, 0.01), self.looks)
            labels = math.ceil(100 * needed / self.partition.shares[2])
            remedy = (
                f"the own prompt is right on {accuracy:.0%} of propose, so at most "
                f"{1 - accuracy:.0%} can be gained, and {len(self.certify)} certify labels cannot "
                f"show that: about {labels:,} labels are needed, each of another question"
            )
            raise ArgumentError("rows", f"{len(self.labelled)} labels", remedy)
        surest = sorted(self.propose, key=lambda row: (answers.doubts[row.id], row.question))
        verdicts = ((row, answers.verdicts[row.id]) for row in surest)
        return [
            Mistake(row, verdict) for row, verdict in verdicts if verdict not in (None, row.label)
        ]

    def _without_proposer(self, start: Candidate, mistakes: Sequence[Mistake]) -> list[Candidate]:
        """Demonstrations, and reasons first; not those that the judge or prompt does not allow."""
        listed = show_mistakes(start, mistakes)
        if self.builtin:  # only the built-in prompts have both forms
            prompt = builtin_prompt(f"{self.asking.protocol}_reason")
            listed.append(Candidate("reasons first", prompt, reason=True))
        return [candidate for candidate in listed if self.asking.refusal_of(candidate) is None]

    def _propose(
        self, start: Candidate, mistakes: Sequence[Mistake], stage: int
    ) -> list[Candidate]:
        left = self.candidates - len(self.tried) - len(self.rejected)
        proposals = self._without_proposer(start, mistakes)
        fresh = [candidate for candidate in proposals if candidate not in self.tried]
        wanted = math.ceil(left / (self.rounds - stage + 1)) - len(fresh)
        if self.proposer is not None and mistakes and wanted > 0:
            fresh += self._rewrites(self.proposer, start, mistakes, wanted, stage)
        return fresh[: max(0, left)]

    def _rewrites(
        self,
        proposer: Backend,
        start: Candidate,
        mistakes: Sequence[Mistake],
        wanted: int,
        stage: int,
    ) -> list[Candidate]:
        self._say(f"round {stage}: asking {proposer.name} for {count_of(wanted, 'prompt')}")
        items, cases = rewrite_requests(mistakes, wanted, stage=stage)
        run = self.asking.run(items, proposer, Rewriting(start.prompt, cases))
        if run.summary.statuses.get("error") == len(items):
            reason = f"{proposer.name} failed on all requests ({run.judgments['detail'][0]})"
            raise JudgeError(f"{reason}: repair it and {AGAIN}")
        rewrites: dict[Candidate, None] = {}
        for name, text in run.judgments.select("id", "text").iter_rows():
            read = read_rewrite(name, text, start, cases[name])
            if isinstance(read, Candidate):
                read = self.asking.refusal_of(read) or read
            if isinstance(read, str):
                self.rejected.append(TriedPrompt(name=name, rows=0, accuracy=None, dropped=read))
            elif read != self.own and read not in self.tried:
                rewrites.setdefault(read)
        return list(rewrites)

    def _halve(self, alive: list[Candidate]) -> list[Candidate]:
        """Ask all about the first rows, the better half about twice as many, until all rows."""
        total = len(self.select)
        n = min(total, max(_FIRST, math.ceil(total / 4)))
        while alive:
            rows = self.select[:n]
            self._say(f"asking {count_of(len(alive), 'prompt')} about {n} rows")
            asked, alive = alive, [candidate for candidate in alive if self._ask(candidate, rows)]
            if len(asked) > 1 and self.broken.issuperset(asked):
                reason = self.tried[asked[0]].dropped
                raise JudgeError(f"all prompts failed ({reason}): repair the judge and {AGAIN}")
            if n == total:
                break
            alive.sort(key=lambda c: (-self._accuracy(c, rows), c.name))
            del alive[math.ceil(len(alive) / 2) :]
            n = min(total, 2 * n)
        return alive

    def _ask(self, candidate: Candidate, rows: Sequence[Labelled]) -> bool:
        """Ask a candidate; False if its failures drop it."""
        accuracy = None
        try:
            answers = self.asking.ask(candidate, rows, needed=False)
        except UnusableRepliesError as error:
            dropped: str | None = str(error)
        else:
            accuracy, dropped = self._accuracy(candidate, rows), answers.too_many_errors
            failed = sum(verdict is None for verdict in answers.verdicts.values())
            if dropped:
                self.broken.add(candidate)
            elif failed > _MOST_FAILED * len(rows):
                dropped = f"{failed} of {len(rows)} rows have no verdict"
        self.tried[candidate] = TriedPrompt(
            name=candidate.name, rows=len(rows), accuracy=accuracy, dropped=dropped
        )
        return dropped is None

    def _conclude(self, best: Candidate | None, chosen: Candidate | None) -> AlignmentRun:
        """The result, with the comparison on certify if a prompt was chosen."""
        suspects = self._suspects()
        outcome = {} if chosen is None else self._certify(chosen)
        policy = outcome.pop("policy", None)
        broken = f"{count_of(len(self.broken), 'prompt')} dropped because of errors: run again to"
        result = Alignment(
            **self.common,
            **outcome,
            proposer=None if self.proposer is None else self.proposer.name,
            protocol=self.asking.protocol,
            chosen=None if chosen is None else chosen.name,
            looks=self.looks,
            ledger=self.partition.ledger,
            own_on_select=self._accuracy(self.own, self.select),
            best_on_select=None if best is None else self._accuracy(best, self.select),
            tried=(*self.tried.values(), *self.rejected),
            own_prompt=self.own.prompt.text,
            suspects=tuple(row.id for row in suspects),
            calls=self.asking.calls,
            cost=self.asking.cost,
            alpha=self.alpha,
            guarantee=self.guarantee,
            seed=self.seed,
            store=store_name(self.store) or "memory",
            warnings=(f"{broken} ask again",) if self.broken else (),
            assumptions=_ASSUMED,
        )
        final = chosen or self.own
        texts = {row.id: row.texts for row in self.labelled}
        others = [row for row in self.select if row not in suspects][: len(suspects)]
        # The suspects among as many other rows, without their labels, in random order.
        mixed = [{"id": row.id, **row.texts} for row in (*suspects, *others)]
        mixed.sort(key=lambda row: content_hash([str(self.seed), row["id"]]))
        return AlignmentRun(
            result=result,
            prompt=final.prompt,
            demonstrations=final.demonstrations,
            policy=policy,
            suspects=mixed,
            changed=[{**vars(row), **texts[row.id]} for row in result.changed],
        )

    def _certify(self, chosen: Candidate) -> dict[str, Any]:
        """Take the look, ask both about certify, and compare them."""
        rows, both = self.certify, (self.own, chosen)
        compared = {**self.compared, "chosen": self._describe(chosen)}
        self.partition, look = self.partition.take_look(self.store, self.looks, compared)
        self._say(f"look {look.look} of {self.looks}: asking both prompts about certify")
        before, after = (self.asking.ask(candidate, rows) for candidate in both)
        was, now = (self.asking.correct[candidate] for candidate in both)
        own, aligned = (self.asking.right(candidate, rows) for candidate in both)
        gap = measure_gain(aligned - own)
        repeated = len(own) < len(rows)
        questions = pl.Series("prompt_id", [row.question for row in rows])
        policy = calibrate(
            after.frame.with_columns(questions) if repeated else after.frame,
            alpha=self.alpha,
            guarantee=self.guarantee,
            cluster="prompt_id" if repeated else None,
            seed=self.seed,
        )
        return {
            "policy": policy,
            "accepted_share": policy.coverage if policy.feasible else 0.0,
            "gain": gap.estimate,
            "interval": gap.interval(1 - ERROR / self.looks, 1.0),
            "own_accuracy": float(own.mean()),
            "own_interval": accuracy_interval(own, self.looks),
            "aligned_accuracy": float(aligned.mean()),
            "aligned_interval": accuracy_interval(aligned, self.looks),
            "look": look.look,
            "aligned_prompt": chosen.prompt.text,
            "demonstrations": len(chosen.demonstrations),
            "reason": chosen.reason,
            "own_cost_per_row": before.cost,
            "aligned_cost_per_row": after.cost,
            "changed": tuple(
                ChangedRow(
                    id=row.id,
                    change="fixed" if now[row.id] else "broken",
                    label=row.label,
                    before=before.verdicts[row.id],
                    after=after.verdicts[row.id],
                )
                for row in rows
                if was[row.id] != now[row.id]
            ),
        }

    def _suspects(self) -> list[Labelled]:
        """Rows of select on which every good prompt, of two or more, stands against the label."""
        ids = {row.id for row in self.select}
        complete = [
            (self.asking.right(candidate, self.select), correct)
            for candidate, correct in self.asking.correct.items()
            if ids <= correct.keys()
        ]
        best = max(right.mean() for right, _ in complete)
        good = [
            correct
            for right, correct in complete
            if right.mean() >= max(_GOOD, best - 2 * standard_error(right))
        ]
        wrong = [row for row in self.select if not any(correct[row.id] for correct in good)]
        return wrong if len(good) > 1 else []


def _questions(rows: Sequence[Labelled]) -> int:
    return len({row.question for row in rows})


def _set_up(given: Mapping[str, Any]) -> _Search:
    """Check everything that can be checked before the first call."""
    protocol = one_of(given["protocol"], PROTOCOLS, "protocol")
    for name, least in (("candidates", 1), ("rounds", 1), ("looks", 1), ("seed", 0)):
        count(given[name], name, least=least)
    exact_level(given["alpha"])
    find_guarantee(given["guarantee"])
    shares = parts.check_shares(given["shares"])
    if given.get("labels_columns") is not None:
        raise ArgumentError("labels_columns", given["labels_columns"], "labels are in the rows")
    names = ("store", "max_cost", "prices", "concurrency", "rpm")
    running = JudgingOptions(**{name: given[name] for name in names})
    asked = {name: given[name] for name in ("samples", "max_tokens", "criteria")}
    names = ("judge", "protocol", "prompt", "base_url", "api_key_env", "timeout", "format", "seed")
    reading = {name: given.get(name) for name in ("columns", "labels_as")}
    options = replace(running, **{name: given[name] for name in names}, **asked, **reading)
    judge = options.make_judge()
    options.price_of(judge, for_run=True)
    proposer = None
    if given["proposer"] is not None:
        rewriting = replace(
            running,
            judge=given["proposer"],
            protocol=Rewriting(builtin_prompt(protocol), {}),
            base_url=given["proposer_base_url"],
            timeout=given["timeout"],
        )
        proposer = rewriting.make_judge()
        rewriting.price_of(proposer, for_run=True)
    with closing(options.subjects(given["rows"], judge)) as subjects:
        subjects.survey()
        labelled, dropped = parts.read_labelled(subjects)
    parts.check_labels(labelled)
    if asked["criteria"] is not None:
        asked["criteria"] = read_criteria(asked["criteria"])
    builtin = given["prompt"] is None
    prompt = builtin_prompt(protocol) if builtin else read_prompt(given["prompt"])
    copied = ("candidates", "rounds", "looks", "alpha", "guarantee", "store", "seed", "announce")
    return _Search(
        asking=Asking(judge.backend, protocol, asked, running),
        own=Candidate("own", prompt),
        builtin=builtin,
        proposer=None if proposer is None else proposer.backend,
        labelled=labelled,
        dropped={**subjects.dropped, **dropped},
        partition=parts.open_partition(given["store"], labelled, shares=shares, seed=given["seed"]),
        **{name: given[name] for name in copied},
    )
