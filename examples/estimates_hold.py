"""Where an estimate could mislead: what its intervals cover, next to the rule that is not used.

The tables of docs/measurements.md, each from its own seed, the worst cell included.
Run it: python examples/estimates_hold.py [part ...], parts: verdict one_sided scores
clusters compared groups giants plan.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np
from scipy.special import ndtr

from adjudge import compare, estimate, plan_rate
from adjudge.estimation.estimators import find_estimator
from adjudge.estimation.sample import Sample, make_sample
from adjudge.statistics.by_verdict import MEASURES, VerdictCounts, measure_by_verdict
from adjudge.statistics.differences import labelled_gap, labelled_mean

LEVEL = 0.95
#: Each cell that was printed: what it is, and the coverage of each rule.
CELLS: list[tuple[str, dict[str, float]]] = []
#: Rows, share of fails, share of passes labelled (all fails are), h(1 | pass), h(1 | fail).
DRAWS = (
    (500, 0.17, 0.2, 0.94, 0.24),
    (500, 0.05, 0.2, 0.97, 0.37),
    (200, 0.20, 0.2, 0.90, 0.30),
    (200, 0.10, 0.1, 0.94, 0.34),
    (2000, 0.10, 0.05, 0.93, 0.33),
)


def by_verdict(repeats: int = 1500) -> None:
    """Labels drawn by verdict: bias of other methods, coverage and width of every number."""
    print(f"Labels drawn by verdict, {repeats:,} draws: bias of other methods; coverage (width)")
    for rows, fail, share, if_pass, if_fail in DRAWS:
        rng = np.random.default_rng(17)
        table = np.array([[fail * (1 - if_fail), fail * if_fail]])
        table = np.vstack([table, [(1 - fail) * (1 - if_pass), (1 - fail) * if_pass]])
        truth = {name: float(measure(table)) for name, measure in MEASURES.items()}
        hits = dict.fromkeys(MEASURES, 0)
        width = 0.0
        bias: dict[str, list[float]] = {"human-only": [], "ppi++": [], "misclassification": []}
        for _ in range(repeats):
            fails = int(rng.binomial(rows, fail))
            passes = rows - fails
            labelled = round(share * passes)
            of_fails = int(rng.binomial(fails, if_fail))
            of_passes = int(rng.binomial(labelled, if_pass))
            negative = VerdictCounts(fails, fails, of_fails)
            measured = measure_by_verdict(negative, VerdictCounts(passes, labelled, of_passes))
            for name, value in measured.items():
                hits[name] += truth[name] in value.interval
            width += measured["rate"].interval.high - measured["rate"].interval.low
            sample = make_sample(
                np.repeat([0, 1], [fails, passes]),
                [1] * of_fails
                + [0] * (fails - of_fails)
                + [1] * of_passes
                + [0] * (labelled - of_passes)
                + [None] * (passes - labelled),
            )
            for method in bias:
                got = find_estimator(method).compute(sample, confidence_level=LEVEL)
                if got.rate is not None:
                    bias[method].append(got.rate - truth["rate"])
        print(f" {rows} rows, {fail:.0%} fails, {share:.0%} of passes, rate {truth['rate']:.2f}:")
        print("  bias", {name: round(float(np.mean(each)), 3) for name, each in bias.items()})
        covers = {name: round(hit / repeats, 3) for name, hit in hits.items()}
        worst = max(abs(float(np.mean(each))) for each in bias.values())
        cell = f"{rows} rows, {fail:.0%} fails, {share:.0%} of passes"
        CELLS.append((cell, {"bias": worst, "by verdict": min(covers.values())}))
        print(f"  covers {covers}, width of the rate {width / repeats:.3f}")


def one_sided(repeats: int = 1500) -> None:
    """A judge that nearly always says 1, random labels: what is left where no 0 has a label."""
    print(f"A judge that nearly always says 1: draws without a label of a 0, of {repeats:,}")
    conditional = find_estimator("conditional")
    ppi = find_estimator("ppi++")
    people = find_estimator("human-only")
    for rows, labels in ((60, 20), (300, 20), (300, 50), (1000, 50), (1000, 100)):
        for zeros, rate in ((0.03, 0.95), (0.03, 0.8), (0.01, 0.98), (0.01, 0.6)):
            tallies = {name: [0, 0.0] for name in ("bounds", "people alone", "ppi++")}
            cases = 0
            for sample in _one_sided_samples(rows, labels, zeros, rate, repeats):
                got = conditional.estimate(sample, confidence_level=LEVEL)
                if got.estimate is not None or got.low is None:
                    continue
                cases += 1
                others = (people, "people alone"), (ppi, "ppi++")
                outcomes = {n: e.estimate(sample, confidence_level=LEVEL) for e, n in others}
                for name, outcome in {"bounds": got, **outcomes}.items():
                    if outcome.low is not None and outcome.high is not None:
                        tallies[name][0] += outcome.low <= rate <= outcome.high
                        tallies[name][1] += outcome.high - outcome.low
            if cases < 100:
                continue
            shown = f" {rows} rows, {labels} labels, {zeros:.0%} zeros, rate {rate}"
            print(_line(f"{shown}: no estimate in {cases / repeats:.0%}", tallies, cases))


def _one_sided_samples(
    rows: int, labels: int, zeros: float, rate: float, repeats: int
) -> Iterator[Sample]:
    """The judge's zeros are right half of the time; its ones have the rest of the rate."""
    rng = np.random.default_rng(23)
    if_one = (rate - zeros / 2) / (1 - zeros)
    for _ in range(repeats):
        judge = (rng.random(rows) >= zeros).astype(np.float64)
        people = rng.random(rows) < np.where(judge == 1, if_one, 0.5)
        labelled = np.arange(rows) < labels
        human = np.where(labelled, people, -1).astype(np.float64)
        yield Sample(judge, human, ~labelled, labelled, random=True)


def scores(repeats: int = 1000) -> None:
    """Nearly constant scores: ends from the labels alone, or from labels and judge together."""
    print(f"Means of scores 1 to 5, 400 rows, {repeats:,} draws; coverage (width)")
    for share, others in ((0.99, (3, 4)), (0.97, (1, 4)), (0.9, (3, 4)), (0.7, (1, 2, 3, 4))):
        for at in (5, 4):
            for labels in (30, 60, 100, 200):
                rng = np.random.default_rng(29)
                rest = [score + (score >= at) for score in others]
                truth = share * at + (1 - share) * float(np.mean(rest))
                tallies = {name: [0, 0.0] for name in ("labels alone", "labels and judge")}
                for _ in range(repeats):
                    people = np.where(rng.random(400) < share, at, rng.choice(rest, 400))
                    judge = np.clip(people - rng.integers(0, 3, 400), 1, 5).astype(np.float64)
                    human = np.where(np.arange(400) < labels, people, np.nan)
                    seen = people[:labels]
                    both = np.concatenate([seen, judge])
                    for name, used in (("labels alone", seen), ("labels and judge", both)):
                        ends = float(used.min()), float(used.max())
                        low, high = labelled_mean(human, judge, ends=ends).interval(LEVEL)
                        tallies[name][0] += low <= truth <= high
                        tallies[name][1] += high - low
                case = f" {share:.0%} are {at}, others {rest}, {labels} labels"
                print(_line(case, tallies, repeats))


def clusters(repeats: int = 1000) -> None:
    """Rows of prompts, of which longer ones score lower: means of rows, or of cluster means."""
    print(f"Prompts of 1 to 10 rows, longer ones lower, {repeats:,} draws; coverage (width)")
    for groups, many in ((40, 1.0), (40, 0.8), (100, 0.5), (250, 0.2), (250, 0.5)):
        for whole in (True, False):
            rng = np.random.default_rng(31)
            _, everyone, _ = _prompts(rng, 100_000)
            truth = float(everyone.mean())
            tallies = {name: [0, 0.0] for name in ("mean of cluster means", "rows")}
            for _ in range(repeats):
                codes, people, judge = _prompts(rng, groups)
                labelled = rng.random(len(codes)) < many
                if whole:
                    labelled = (rng.permutation(groups) < many * groups)[codes]
                human = np.where(labelled, people, np.nan)
                gap = labelled_mean(human, judge, ends=(1, 5), clusters=codes)
                means = labelled_mean(*_means_of_clusters(codes, human, judge), ends=(1, 5))
                for name, each in (("mean of cluster means", means), ("rows", gap)):
                    low, high = each.interval(LEVEL)
                    tallies[name][0] += low <= truth <= high
                    tallies[name][1] += high - low
            how = "prompts" if whole else "rows"
            case = f" {groups} prompts, {many:.0%} of {how} labelled"
            print(_line(case, tallies, repeats))


def _prompts(rng: np.random.Generator, groups: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The prompt of each row, people's score and the judge's; a prompt of ten rows is 1.4 lower."""
    sizes = rng.integers(1, 11, groups)
    codes = np.repeat(np.arange(groups), sizes)
    level = 3.6 - 0.15 * (sizes - 5) + rng.normal(0, 0.6, groups)
    people = np.clip(np.rint(level[codes] + rng.normal(0, 0.7, len(codes))), 1, 5)
    judge = np.clip(np.rint(people + 0.3 + rng.normal(0, 0.8, len(codes))), 1, 5)
    return codes, people, judge


def _means_of_clusters(
    codes: np.ndarray, human: np.ndarray, judge: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The rule that is not used: a labelled prompt counts once, with its labelled rows."""
    labelled = ~np.isnan(human)
    seen = labelled | ~np.isin(codes, codes[labelled])
    at = np.unique(codes[seen], return_inverse=True)[1]
    sizes = np.bincount(at)
    return np.bincount(at, human[seen]) / sizes, np.bincount(at, judge[seen]) / sizes


def compared(repeats: int = 300) -> None:
    """Two systems on 100 topics of 1 to 10 questions; the second gains more on longer ones."""
    print(f"Differences of clustered questions, 100 topics, {repeats:,} draws; coverage (width)")
    for whole in (True, False):
        rng = np.random.default_rng(2)
        _, people, judge = _two_systems(rng, 100_000)
        truth = float(np.diff(people).mean())
        of_judge = float(np.diff(judge).mean())
        tallies = {name: [0, 0.0] for name in ("mean of topic means", "people", "judge")}
        for _ in range(repeats):
            codes, people, judge = _two_systems(rng, 100)
            labelled = rng.random(len(codes)) < 0.5
            if whole:
                labelled = (rng.permutation(100) < 50)[codes]
            human = np.where(labelled[:, None], people, np.nan)
            rows = {
                "id": [*range(len(codes))] * 2,
                "topic": [*codes] * 2,
                "model": ["a"] * len(codes) + ["b"] * len(codes),
                "judge": judge.T.ravel(),
                "human": human.T.ravel(),
            }
            [pair] = compare(rows, a="a", b="b", cluster="topic").differences
            d = np.diff(human).ravel(), np.diff(judge).ravel()
            old = labelled_gap(*_means_of_clusters(codes, *d), zero_one=False).interval(LEVEL)
            for name, interval, true in (
                ("mean of topic means", old, truth),
                ("people", pair.people.interval, truth),
                ("judge", pair.judge.interval, of_judge),
            ):
                tallies[name][0] += interval.low <= true <= interval.high
                tallies[name][1] += interval.high - interval.low
        of = "topics" if whole else "questions"
        print(_line(f" half of the {of} labelled", tallies, repeats))


def _two_systems(
    rng: np.random.Generator, groups: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The topic of each question, and for both systems people's score and the judge's."""
    sizes = rng.integers(1, 11, groups)
    codes = np.repeat(np.arange(groups), sizes)
    first = 3.4 + rng.normal(0, 0.6, groups)
    level = np.stack([first, first + 0.1 + 0.08 * (sizes - 5)], axis=1)[codes]
    people = np.clip(np.rint(level + rng.normal(0, 0.7, level.shape)), 1, 5)
    judge = np.clip(np.rint(people + 0.3 + rng.normal(0, 0.8, level.shape)), 1, 5)
    return codes, people, judge


def giants(repeats: int = 250) -> None:
    """40 of 200 prompts labelled, of which a few have most rows: rates and means."""
    print(f"40 labelled prompts of 200, {repeats:,} draws; coverage (width)")
    for kind in ("geometric sizes", "one in twenty has 60 rows"):
        rng = np.random.default_rng(3)
        truth = float(_uneven(rng, 200_000, kind)[1].mean())
        tallies = {name: [0, 0.0] for name in ("rate", "mean")}
        for _ in range(repeats):
            codes, people, judge = _uneven(rng, 200, kind)
            labelled = (rng.permutation(200) < 40)[codes]
            for name, scale in (("rate", 1), ("mean", 2)):
                shift = scale - 1
                human = np.where(labelled, scale * people + shift, np.nan)
                got = estimate(
                    judge=scale * judge + shift, human=human, cluster=codes, labels_are_random=True
                )
                if got.low is None:
                    # An interval that is all of [0, 1] is refused.
                    tallies[name] = [tallies[name][0] + 1, tallies[name][1] + 1]
                    continue
                tallies[name][0] += got.low <= scale * truth + shift <= got.high
                tallies[name][1] += got.high - got.low
        print(_line(f" {kind}", tallies, repeats))


def _uneven(
    rng: np.random.Generator, groups: int, kind: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The prompt of each row, what people say and what the judge says; both depend on it."""
    sizes = np.minimum(rng.geometric(0.2, groups), 30)
    if kind != "geometric sizes":
        sizes = np.where(rng.random(groups) < 0.05, 60, rng.integers(1, 4, groups))
    codes = np.repeat(np.arange(groups), sizes)
    people = (rng.random(len(codes)) < rng.beta(1.4, 0.6, groups)[codes]).astype(np.int64)
    wrong = rng.random(len(codes)) < rng.beta(0.3, 1.7, groups)[codes]
    return codes, people, np.where(wrong, 1 - people, people)


def plan(repeats: int = 100) -> None:
    """Labels for a width of the mean of scores: planned from 60 labels, then labelled."""
    print(
        f"plan rate on 2,000 scores, {repeats:,} pilots of 60 labels: labels, width, without judge"
    )
    for noise in (0.4, 1.5):
        for width in (0.6, 0.3, 0.15):
            rng = np.random.default_rng(41)
            numbers = []
            for _ in range(repeats):
                people = rng.integers(1, 6, 2000)
                judge = np.clip(np.rint(people + rng.normal(0, noise, 2000)), 1, 5)
                pilot = np.where(np.arange(2000) < 60, people, np.nan)
                planned = plan_rate({"judge": judge, "human": pilot}, width=width)
                human = np.where(np.arange(2000) < planned.labels, people, np.nan)
                got = estimate(judge=judge, human=human, labels_are_random=True)
                numbers.append((planned.labels, got.high - got.low, planned.labels_without_judge))
            labels, reached, alone = np.mean(numbers, axis=0)
            print(f" noise {noise}, width {width}: {labels:.0f}, {reached:.3f}, {alone:.0f}")


def groups(repeats: int = 600) -> None:
    """Rates and means of eight models: one interval, and all eight together."""
    print(f"Eight models, {repeats:,} draws: one covers, all pointwise ones, all simultaneous ones")
    by = np.repeat(np.arange(8), 200)
    for kind in ("rates", "scores"):
        for shared in (0.0, 0.7):
            for labels in (40, 100):
                rng = np.random.default_rng(37)
                hits = np.zeros(3)
                widths = np.zeros(2)
                for _ in range(repeats):
                    truth, people, judge = _eight_models(rng, shared, kind)
                    question = np.tile(rng.permutation(200), 8)
                    human = [
                        p if q < labels else None for p, q in zip(people, question, strict=True)
                    ]
                    got = estimate(judge=judge, human=human, by=by, labels_are_random=True)
                    parts = got.groups if kind == "rates" else got.means
                    one = [t in part.interval for t, part in zip(truth, parts, strict=True)]
                    together = [
                        t in part.simultaneous_interval
                        for t, part in zip(truth, parts, strict=True)
                    ]
                    hits += np.mean(one), all(one), all(together)
                    widths += [
                        np.mean([p.interval.high - p.interval.low for p in parts]),
                        np.mean(
                            [
                                p.simultaneous_interval.high - p.simultaneous_interval.low
                                for p in parts
                            ]
                        ),
                    ]
                one, pointwise, together = hits / repeats
                wider = widths[1] / widths[0]
                case = f" {kind}, {labels} labels each, correlation {shared}"
                CELLS.append((case.strip(), {"pointwise": pointwise, "simultaneous": together}))
                print(f"{case}: {one:.3f}, {pointwise:.3f}, {together:.3f}, {wider:.2f} as wide")


def _eight_models(
    rng: np.random.Generator, shared: float, kind: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """True rates or means, people's labels and the judge's on 200 questions per model.

    The models answer the same questions, whose difficulty is this share of the variance.
    """
    level = np.linspace(-0.4, 1.2, 8)
    hard = rng.normal(0, np.sqrt(shared), 200)
    noise = rng.normal(0, np.sqrt(1 - shared), (8, 200))
    latent = level[:, None] + hard + noise
    slip = rng.random((8, 200)) < 0.15
    if kind == "rates":
        people = (latent > 0).astype(np.int64).ravel()
        return ndtr(level), people, np.where(slip.ravel(), 1 - people, people)
    cuts = np.array([-1.0, -0.3, 0.4, 1.1])
    people = (1 + np.searchsorted(cuts, latent)).ravel()
    truth = 1 + (1 - ndtr(cuts[None] - level[:, None])).sum(axis=1)
    judge = np.where(slip.ravel(), np.clip(people + rng.choice([-1, 1], 1600), 1, 5), people)
    return truth, people, judge


def _line(case: str, tallies: dict[str, list[float]], draws: int) -> str:
    """Coverage and width of each rule in a cell, which CELLS keeps."""
    CELLS.append((case.strip(), {name: hit / draws for name, (hit, _) in tallies.items()}))
    shown = (f"{name} {hit / draws:.3f} ({w / draws:.3f})" for name, (hit, w) in tallies.items())
    return f"{case}: {', '.join(shown)}"


PARTS = {
    "verdict": by_verdict,
    "one_sided": one_sided,
    "scores": scores,
    "clusters": clusters,
    "compared": compared,
    "groups": groups,
    "giants": giants,
    "plan": plan,
}

if __name__ == "__main__":
    for name in sys.argv[1:] or PARTS:
        PARTS[name]()
