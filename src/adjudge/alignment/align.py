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
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import polars as pl
from scipy.special import ndtri

from adjudge.alignment import parts
from adjudge.alignment.asking import AGAIN, Asking, errors_in, useless_replies
from adjudge.alignment.candidates import OWN, Candidate, Mistake, Rewriting, show_mistakes
from adjudge.alignment.parts import SHARES, Labelled
from adjudge.alignment.result import Alignment, AlignmentPlan, AlignmentRun, ChangedRow, TriedPrompt
from adjudge.errors import (
    ArgumentError,
    JudgeError,
    JudgeRefusedError,
)
from adjudge.hashing import content_hash
from adjudge.judges.interface import Backend, Judge
from adjudge.judges.judging import JudgingRun, plan_options, takes
from adjudge.judges.options import JudgingOptions
from adjudge.judges.prompting import builtin_prompt
from adjudge.judges.subjects import SubjectSource
from adjudge.present.text import count as count_of
from adjudge.records import ALIGNMENT_PART
from adjudge.selection import calibrate, find_guarantee
from adjudge.statistics.clusters import share_interval
from adjudge.statistics.differences import POWER, Gap, paired_gap
from adjudge.statistics.numbers import normal_quantile
from adjudge.store import store_name, use_store
from adjudge.validation import FloatArray, count, exact_level, one_of

#: Options of judging that align sets itself, or that have no meaning here.
_UNFIT = (
    *("output", "reason", "demonstrations", "repeats", "first_repeat", "retry", "stop_rule"),
    *("engine", "batch"),
)
#: Options that the rows and the backend have used when the search begins.
_USED = (
    *("format", "columns", "labels_as", "limit", "announce"),
    *("base_url", "api_key_env", "extra_body", "timeout", "max_reply"),
)
#: The first rows of select that every candidate is asked about, at least.
_FIRST = 12
#: Rows that a new candidate is asked about first: if none has a usable reply, it is dropped. The
#: same rows in every run, also in one that goes on after a kill.
_TRIAL = 5
#: A candidate with more failed rows than this is dropped.
_MOST_FAILED = 0.5
#: A good prompt, for suspect labels.
_GOOD = 0.80
#: Error of all looks together.
_ERROR = 0.05
#: Share of rows on which two prompts differ, for planning: .07 to .17 in real comparisons.
_DISCORDANT = 0.10
_ASSUMED = (
    "labels were drawn at random from the rows that will be judged",
    "rows of one question can be alike; questions are independent",
    "the interval of the gain is checked by simulation, not proven",
    "these labels were not used to write the own prompt",
    "no look was taken elsewhere: another store does not know the parts and looks of this one",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AlignmentOptions(JudgingOptions):
    """What `align` and `plan_alignment` take: most options of judging, and these.

    Args:
        proposer: Model that rewrites the prompt, such as openai:MODEL. Without it the candidates
            are demonstrations, and reasons first.
        proposer_base_url: Any OpenAI-compatible server, for the proposer.
        proposer_api_key_env: Environment variable with the proposer's key, if it has another
            address than the judge: the judge's key is not sent there.
        candidates: Most prompts to try.
        rounds: Rounds of proposals; each starts from the best prompt so far.
        shares: Percent of the labels to propose, to select and to certify. They are fixed by the
            first run.
        looks: How often certify can be asked for the final number, declared before the first look.
        alpha: Error level of the policy for the chosen prompt.
        guarantee: Guarantee of the policy: scope, fdr or pac.
    """

    proposer: str | Backend | None = None
    proposer_base_url: str | None = None
    proposer_api_key_env: str | None = None
    candidates: int = 12
    rounds: int = 2
    shares: Sequence[int] = SHARES
    looks: int = 1
    alpha: float = 0.1
    guarantee: str = "scope"

    def __post_init__(self) -> None:
        JudgingOptions.__post_init__(self)
        one_of(str(self.protocol), ("preference", "grade"), "protocol")
        for name in ("candidates", "rounds", "looks"):
            count(getattr(self, name), name, least=1)
        exact_level(self.alpha)
        find_guarantee(self.guarantee)
        if len(self.shares) != 3 or sum(self.shares) != 100 or min(self.shares) < 10:
            remedy = "give percent to propose, select and certify, each 10 or more: 20,30,50"
            raise ArgumentError("shares", ",".join(map(str, self.shares)), remedy)
        usual = {each.name: each.default for each in fields(JudgingOptions)}
        for name in _UNFIT:
            if getattr(self, name) != usual[name]:
                raise ArgumentError(name, getattr(self, name), "align does not take it")


def _address(judge: Judge) -> object:
    """The server that is asked."""
    return judge.fingerprint_parts.get("base_url")


def _check_keys(judge: Judge, proposer: Judge) -> None:
    """Refuse to send the judge's key to another address, unless it is that of the key's maker."""
    shared = {*proposer.backend.secrets()} & {*judge.backend.secrets()} - {""}
    at_maker = getattr(proposer.backend, "at_maker", False)
    if shared and not at_maker and _address(proposer) != _address(judge):
        remedy = "export the proposer's own and name it with --proposer-api-key-env NAME"
        problem = f"the judge's key would be sent to {_address(proposer)}: {remedy}"
        raise ArgumentError("proposer", proposer.backend.name, problem)


@takes(AlignmentOptions)
def align(rows: SubjectSource, options: AlignmentOptions) -> AlignmentRun:
    """Search a better prompt on one part of the labels; certify its gain on a part it never saw.

    The gain is measured on rows that neither the proposals nor the choice used. "No gain shown" is
    the usual result: most other prompts are not better. The store keeps replies, parts and looks.

    Args:
        rows: Labelled pairs, or labelled items for grade. A file, a frame or records.
        options: The fields of `AlignmentOptions`, by name. `announce` gets a line about each step.
    """
    # Without a store, one temporary store serves the whole run, so that nothing is asked twice.
    with use_store(None) if options.store is None else nullcontext(options.store) as store:
        return _Search(rows, replace(options, store=store)).run()


@takes(AlignmentOptions)
def plan_alignment(rows: SubjectSource, options: AlignmentOptions) -> AlignmentPlan:
    """What `align` would do with the same arguments: parts, smallest gain, most calls and cost.

    Args:
        rows: Labelled pairs, or labelled items for grade.
        options: The fields of `AlignmentOptions`, by name.
    """
    return _Search(rows, options).plan()


class _Search:
    """One alignment. Everything that can be is checked before the first call."""

    def __init__(self, rows: SubjectSource, options: AlignmentOptions) -> None:
        self.options = options
        self.seed = options.seed or 0
        self.protocol = str(options.protocol)
        self.say = options.announce or (lambda _: None)
        judge = options.make_judge()
        options.price_of(judge, for_run=True)
        self.judge = judge.backend.name
        running = {each.name: getattr(options, each.name) for each in fields(JudgingOptions)}
        running |= {**dict.fromkeys(_USED), "judge": judge.backend}
        if "concurrency" in judge.backend.options:
            running["concurrency"] = None
        self.asking = Asking(JudgingOptions(**running))
        self.backends = [judge.backend]
        self.proposer: str | None = None
        with closing(options.subjects(rows, judge)) as subjects:
            subjects.survey()
            labelled, dropped = parts.read_labelled(subjects, subjects.name)
        parts.check_labels(labelled)
        self.own = Candidate(OWN, judge.protocol.prompt or builtin_prompt(self.protocol))
        self.rewriting = self._rewriting(judge)
        # By hash, so that every candidate is asked about the same first rows.
        self.labelled = sorted(labelled, key=lambda row: (row.question, str(row.texts)))
        self.partition = parts.open_partition(
            options.store, labelled, shares=tuple(options.shares), seed=self.seed
        )
        divided = {
            part: [row for row in self.labelled if self.partition.parts[row.question] == part]
            for part in parts.PARTS
        }
        self.propose, self.select, self.certify = divided.values()
        sizes = [len({row.question for row in rows}) for rows in divided.values()]
        if min(sizes) < 2:
            remedy = "each part needs two or more: label answers to other questions too"
            raise ArgumentError("rows", f"{sum(sizes)} different questions", remedy)
        hashes = sorted(content_hash([*row.texts.values(), row.label]) for row in self.certify)
        self.compared = {"own": self._describe(self.own), "rows": content_hash(hashes)}
        self.partition.find_look(options.looks, self.compared)
        self.common: dict[str, Any] = {
            "judge": self.judge,
            **{f"n_{part}": len(rows) for part, rows in divided.items()},
            "certify_questions": sizes[2],
            "smallest_gain": smallest_gain(sizes[2], options.looks),
            "dropped": {**subjects.dropped, **dropped},
        }
        self.mistakes: list[Mistake] = []
        self.tried: dict[Candidate, TriedPrompt] = {}
        self.rejected: list[TriedPrompt] = []
        self.warnings: list[str] = []
        #: Candidates that were dropped because of errors of the server.
        self.broken: set[Candidate] = set()

    def _rewriting(self, judge: Judge) -> JudgingOptions | None:
        """The options of a run that asks the proposer."""
        options = self.options
        if options.proposer is None:
            return None
        protocol = Rewriting(self.own, [], number=0, stage=1)
        running = self.asking.options.for_worker(options.proposer, protocol, workers=1)
        address = options.proposer_base_url
        if address is None and _maker(options.proposer) == _maker(options.judge):
            address = options.base_url  # one server for both
        asked = replace(
            running,
            base_url=address,
            timeout=options.timeout,
            concurrency=options.concurrency,
            api_key_env=options.proposer_api_key_env,
        )
        proposer = asked.make_judge()
        if _address(proposer) == _address(judge) and options.proposer_api_key_env is None:
            proposer = replace(asked, api_key_env=options.api_key_env).make_judge()
        _check_keys(judge, proposer)
        self.proposer = proposer.backend.name
        self.backends.append(proposer.backend)
        options.price_of(proposer, for_run=True)
        pooled = "concurrency" in proposer.backend.options
        in_flight = None if pooled else options.concurrency
        return replace(
            running, judge=proposer.backend, prices=options.prices, concurrency=in_flight
        )

    def plan(self) -> AlignmentPlan:
        options = self.options
        tried = options.candidates + 1
        most = len(self.propose) + tried * len(self.select) + 2 * len(self.certify)
        longest = sorted(self.labelled, key=lambda row: -len(str(row.texts)))
        self.mistakes = [Mistake(row, row.label) for row in longest]
        plans = []
        for way in (self.own, *self._without_proposer(self.own)):
            subjects = [row.subject for row in longest if row.subject not in way.demonstrations]
            plans.append(plan_options(subjects, replace(self.asking.options_for(way), store=None)))
        calls = most * max(plan.calls / plan.subjects for plan in plans)
        cost = most * max((plan.cost_estimate or 0.0) / plan.subjects for plan in plans)
        if self.rewriting is not None:
            protocol = Rewriting(self.own, self.mistakes, number=options.candidates, stage=1)
            asked = replace(self.rewriting, protocol=protocol, store=None)
            plans.append(plan_options(protocol.items, asked))
            calls = calls + plans[-1].calls
            cost = cost + (plans[-1].cost_estimate or 0.0)
        return AlignmentPlan(
            **self.common,
            candidates=options.candidates,
            looks_left=options.looks - len(self.partition.ledger),
            most_calls=round(calls),
            most_cost=None if any(plan.cost_estimate is None for plan in plans) else cost,
        )

    def run(self) -> AlignmentRun:
        if self.partition.stored is None:  # nothing was asked yet
            for backend in self.backends:
                backend.check()
            for backend in self.backends:
                backend.reach()
        self.mistakes = self._mistakes()
        self.partition = self.partition.freeze(self.options.store)
        best: Candidate | None = None
        for stage in range(1, self.options.rounds + 1):
            finalists = self._halve(self._propose(best or self.own, stage))
            finalists += [] if best is None else [best]
            if finalists:
                best = max(finalists, key=lambda c: (self._accuracy(c, self.select), c.name))
        self.asking.must_ask(self.own, self.select)
        return self._conclude(best, None if best is None else self._choose(best))

    def _choose(self, best: Candidate) -> Candidate | None:
        """The best prompt if its gain on select exceeds one standard error; None: own stays."""
        d = self.asking.right(best, self.select) - self.asking.right(self.own, self.select)
        return best if d.mean() > standard_error(d) else None

    def _accuracy(self, candidate: Candidate, rows: Sequence[Labelled]) -> float:
        return float(self.asking.right(candidate, rows).mean())

    def _describe(self, candidate: Candidate) -> str:
        """The judge that a candidate is, with the beginning of its fingerprint."""
        fingerprint = self.asking.options_for(candidate).make_judge().fingerprint
        return f"{self.judge}, {candidate.name} {fingerprint[:12]}"

    def _mistakes(self) -> list[Mistake]:
        """The own prompt's wrong verdicts on propose, the surest first.

        Rows without a verdict teach nothing. Refuses labels that cannot show what is left to gain.
        """
        frame = self.asking.must_ask(self.own, self.propose).judgments
        accuracy = self._accuracy(self.own, self.propose)
        if self.common["smallest_gain"] > 1 - accuracy:
            needed = questions_needed(max(1 - accuracy, 0.01), self.options.looks)
            labels = math.ceil(100 * needed / self.partition.shares[2])
            questions = self.common["certify_questions"]
            certify = f"the {count_of(len(self.certify), 'label')} of certify"
            if questions < len(self.certify):
                certify += f" are of only {count_of(questions, 'question')}, which"
            remedy = (
                f"the own prompt is right on {accuracy:.0%} of propose, so at most "
                f"{1 - accuracy:.0%} can be gained; {certify} cannot show that: labels of about "
                f"{labels:,} different questions are needed, and there are "
                f"{len(self.partition.parts):,}"
            )
            raise ArgumentError("rows", f"{len(self.labelled)} labels", remedy)
        rows = {row.id: row for row in self.propose}
        verdicts = self.asking.verdicts[self.own]
        surest = frame.sort("uncertainty", nulls_last=True, maintain_order=True)["id"]
        answers = ((rows[name], verdicts[name]) for name in surest)
        return [
            Mistake(row, verdict) for row, verdict in answers if verdict not in (None, row.label)
        ]

    def _without_proposer(self, start: Candidate) -> list[Candidate]:
        """Demonstrations, and reasons first; not those that the judge or prompt does not allow."""
        listed = show_mistakes(start, self.mistakes)
        if self.options.prompt is None:  # only the built-in prompts have both forms
            prompt = builtin_prompt(f"{self.protocol}_reason")
            listed.append(Candidate("reasons first", prompt, reason=True))
        return [candidate for candidate in listed if self.asking.refusal_of(candidate) is None]

    def _propose(self, start: Candidate, stage: int) -> list[Candidate]:
        left = self.options.candidates - len(self.tried) - len(self.rejected)
        ways = {each.way for each in (self.own, *self.tried)}
        fresh = [each for each in self._without_proposer(start) if each.way not in ways]
        wanted = math.ceil(left / (self.options.rounds - stage + 1)) - len(fresh)
        return [*fresh, *self._rewrite(start, wanted, stage)][: max(0, left)]

    def _rewrite(self, start: Candidate, wanted: int, stage: int) -> list[Candidate]:
        if self.rewriting is None or not self.mistakes or wanted < 1:
            return []
        self.say(f"round {stage}: asking {self.proposer} for {count_of(wanted, 'prompt')}")
        protocol = Rewriting(start, self.mistakes, number=wanted, stage=stage)
        run = self.asking.run(protocol.items, replace(self.rewriting, protocol=protocol))
        if run.summary.statuses.get("error") == wanted:
            reason = f"{self.proposer} failed on all requests ({run.judgments['detail'][0]})"
            raise JudgeError(f"{reason}: repair it and {AGAIN}")
        ways = {candidate.way: candidate.name for candidate in (self.own, *self.tried)}
        rewrites = []
        refused: Counter[str] = Counter()
        columns = ("id", "text", "status", "detail")
        for name, text, status, detail in run.judgments.select(columns).iter_rows():
            read = protocol.read(name, text) if status == "ok" else f"{status}: {detail}"
            if isinstance(read, Candidate):
                read = self.asking.refusal_of(read) or read
            if isinstance(read, Candidate) and read.way in ways:
                read = f"the same prompt as {ways[read.way]}"
            if isinstance(read, str):
                self.rejected.append(TriedPrompt(name=name, rows=0, accuracy=None, dropped=read))
                refused[read] += 1
            else:
                ways[read.way] = read.name
                rewrites.append(read)
        if not rewrites:
            why = ", ".join(f"{n} times: {reason}" for reason, n in refused.most_common())
            self.warnings.append(f"{self.proposer} wrote no usable prompt in round {stage} ({why})")
        return rewrites

    def _halve(self, alive: list[Candidate]) -> list[Candidate]:
        """Ask all about the first rows, the better half about twice as many, until all rows."""
        total = len(self.select)
        n = min(total, max(_FIRST, math.ceil(total / 4)))
        while alive:
            rows = self.select[:n]
            self.say(f"asking {count_of(len(alive), 'prompt')} about {n} rows")
            asked = alive
            alive = [candidate for candidate in alive if self._ask(candidate, rows)]
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
        accuracy: float | None = None
        dropped: str | None = None
        asked = rows[:_TRIAL]
        try:
            if candidate not in self.tried:
                dropped = useless_replies(self.asking.ask(candidate, asked))
            if dropped is None:
                run = self.asking.ask(candidate, rows)
                asked = rows
                accuracy = self._accuracy(candidate, rows)
                dropped = self._failures_in(run, candidate, rows)
        except JudgeRefusedError as error:
            dropped = str(error)
            self.broken.add(candidate)
        self.tried[candidate] = TriedPrompt(
            name=candidate.name, rows=len(asked), accuracy=accuracy, dropped=dropped
        )
        return dropped is None

    def _failures_in(
        self, run: JudgingRun, candidate: Candidate, rows: Sequence[Labelled]
    ) -> str | None:
        """Why a candidate is dropped that was asked about these rows; None if it stays."""
        if errors := errors_in(run):
            self.broken.add(candidate)
            return errors
        failed = sum(self.asking.verdicts[candidate][row.id] is None for row in rows)
        if failed <= _MOST_FAILED * len(rows):
            return None
        statuses = ", ".join(f"{n} {name}" for name, n in run.summary.statuses.items())
        return f"{failed} of {len(rows)} rows have no verdict ({statuses})"

    def _conclude(self, best: Candidate | None, chosen: Candidate | None) -> AlignmentRun:
        """The result, with the comparison on certify if a prompt was chosen."""
        options = self.options
        suspects = self._suspects()
        outcome = {} if chosen is None else self._certify(chosen)
        policy = outcome.pop("policy", None)
        calls, cost = self.asking.totals()
        broken = f"{count_of(len(self.broken), 'prompt')} dropped because of errors: run again to"
        result = Alignment(
            **self.common,
            **outcome,
            proposer=self.proposer,
            protocol=self.protocol,
            chosen=None if chosen is None else chosen.name,
            looks=options.looks,
            ledger=self.partition.ledger,
            own_on_select=self._accuracy(self.own, self.select),
            best_on_select=None if best is None else self._accuracy(best, self.select),
            tried=(*self.tried.values(), *self.rejected),
            own_prompt=self.own.prompt.text,
            suspects=tuple(row.id for row in suspects),
            calls=calls,
            cost=cost,
            alpha=options.alpha,
            guarantee=options.guarantee,
            seed=self.seed,
            store=store_name(options.store) or "memory",
            warnings=(*self.warnings, *([f"{broken} ask again"] if self.broken else [])),
            assumptions=_ASSUMED,
        )
        others = [row for row in self.select if row not in suspects][: len(suspects)]
        # The suspects among as many other rows, without their labels, in random order.
        mixed = [{"id": row.id, **row.texts} for row in (*suspects, *others)]
        mixed.sort(key=lambda row: content_hash([str(self.seed), row["id"]]))
        return AlignmentRun(
            result=result,
            prompt=(chosen or self.own).prompt,
            demonstrations=(chosen or self.own).demonstrations,
            policy=policy,
            suspects=mixed,
        )

    def _certify(self, chosen: Candidate) -> dict[str, Any]:
        """Take the look, ask both about certify, and compare them."""
        options = self.options
        asking = self.asking
        rows = self.certify
        compared = {**self.compared, "chosen": self._describe(chosen)}
        look = self.partition.find_look(options.looks, compared)
        if look > len(self.partition.ledger):
            ledger = (*self.partition.ledger, parts.Look(look=look, **compared))
            partition = replace(self.partition, looks=options.looks, ledger=ledger)
            self.partition = partition.freeze(options.store)
        self.say(f"look {look} of {options.looks}: asking both prompts about certify")
        outcome: dict[str, Any] = {}
        rights = []
        for which, candidate in (("own", self.own), ("aligned", chosen)):
            run = asking.must_ask(candidate, rows)
            right = asking.right(candidate, rows)
            rights.append(right)
            cost = run.summary.cost
            # Both intervals hold together.
            interval = share_interval(right, np.arange(len(right)), 1 - _ERROR / 2 / options.looks)
            outcome |= {
                f"{which}_accuracy": float(right.mean()),
                f"{which}_interval": interval,
                f"{which}_cost_per_row": None if cost is None else cost / len(rows),
            }
        gap = measure_gain(rights[1] - rights[0])
        repeated = len(right) < len(rows)
        questions = pl.Series("prompt_id", [row.question for row in rows])
        certified = run.judgments.drop(ALIGNMENT_PART, strict=False)  # this look is declared
        policy = calibrate(
            certified.with_columns(questions) if repeated else certified,
            alpha=options.alpha,
            guarantee=options.guarantee,
            cluster="prompt_id" if repeated else None,
            seed=self.seed,
        )
        ends = gap.interval(1 - _ERROR / options.looks, 1.0)
        return outcome | {
            "policy": policy,
            "accepted_share": policy.coverage if policy.feasible else 0.0,
            "gain": gap.estimate,
            "interval": ends,
            "look": look,
            "aligned_prompt": chosen.prompt.text,
            "demonstrations": len(chosen.demonstrations),
            "reason": chosen.reason,
            "changed": tuple(self._changed_rows(chosen)),
        }

    def _changed_rows(self, chosen: Candidate) -> Iterator[ChangedRow]:
        """The rows of certify on which one of the two prompts is right."""
        asking = self.asking
        for row in self.certify:
            fixed = asking.is_right(chosen, row)
            if fixed != asking.is_right(self.own, row):
                yield ChangedRow(
                    id=row.id,
                    change="fixed" if fixed else "broken",
                    label=row.label,
                    before=asking.verdicts[self.own][row.id],
                    after=asking.verdicts[chosen][row.id],
                    texts=row.texts,
                )

    def _suspects(self) -> list[Labelled]:
        """Rows of select on which every good prompt, of two or more, stands against the label."""
        ids = {row.id for row in self.select}
        asked = self.asking.verdicts.items()
        complete = [candidate for candidate, verdicts in asked if ids <= verdicts.keys()]
        right = {candidate: self.asking.right(candidate, self.select) for candidate in complete}
        best = max(shares.mean() for shares in right.values())
        good = [
            candidate
            for candidate, shares in right.items()
            if shares.mean() >= max(_GOOD, best - 2 * standard_error(shares))
        ]
        if len(good) < 2:
            return []
        return [row for row in self.select if not any(self.asking.is_right(c, row) for c in good)]


def _maker(judge: object) -> str:
    """The part of openai:MODEL that says how the server is asked."""
    return judge.partition(":")[0] if isinstance(judge, str) else ""


def measure_gain(d: FloatArray) -> Gap:
    """The mean of d, the gain on each of two or more questions.

    One +1 and one -1 are added (Bonett and Price 2012), with Student's t on n - 1 degrees of
    freedom. The estimate is the plain mean. Checked by simulation, not proven.

    >>> measure_gain(np.repeat([1.0, 0.0], [40, 60])).interval(0.95, 1)
    Interval(low=0.292..., high=0.491..., level=0.95)
    """
    return replace(paired_gap(d, zero_one=True), freedom=len(d) - 1)


def standard_error(d: FloatArray) -> float:
    return float(d.std(ddof=1)) / math.sqrt(len(d))


def smallest_gain(questions: int, looks: int) -> float:
    """The smallest gain that this many certify questions show in four of five cases, at most 1.

    g = r sqrt(s/n), r = z + z_.8 at the level of one look. Prompts differ on a share s of the
    questions, s = max(0.10, g): on at least as many as they gain.

    >>> [round(smallest_gain(n, 1), 3) for n in (50, 100, 200, 500)]
    [0.157, 0.089, 0.063, 0.04]
    >>> round(smallest_gain(100, 3), 3)
    0.105
    """
    gain = _reach(looks) * math.sqrt(_DISCORDANT / questions)
    return gain if gain <= _DISCORDANT else min(1.0, _reach(looks) ** 2 / questions)


def questions_needed(gain: float, looks: int) -> int:
    """Certify questions for which `smallest_gain` is at most this gain.

    >>> questions_needed(0.05, 1)
    314
    """
    return math.ceil(_reach(looks) ** 2 * max(_DISCORDANT, gain) / gain**2)


def _reach(looks: int) -> float:
    return normal_quantile(1 - _ERROR / looks) + float(ndtri(POWER))
