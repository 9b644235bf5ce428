"""Published numbers of the SCOPE paper's text and of a summary of it."""

from __future__ import annotations

from adjudge_papers.scope_result import PublishedQuality, PublishedRisk

DATASETS = ("mt-bench", "rewardbench", "chatbot-arena")
_MT, _RB, _CA = DATASETS
JUDGES = ("Qwen2.5-7B", "Qwen2.5-14B", "Qwen2.5-32B", "Llama-3.1-70B")
_7B, _14B, _32B, _70B = JUDGES
ALPHAS = (0.05, 0.10, 0.15, 0.20, 0.25)

#: Table 3 and Figure 2 (1,000 splits, N = 2,000), if text or summary give them.
RISKS = tuple(
    PublishedRisk(
        dataset=dataset, judge=judge, method=method, alpha=alpha, coverage=share, risk=risk
    )
    for dataset, judge, method, alpha, share, risk in (
        (_MT, _7B, "vanilla", 0.10, 1.000, 0.269),
        (_MT, _7B, "heuristic", 0.10, 0.907, 0.251),
        (_MT, _7B, "naive", 0.10, 0.102, 0.116),
        (_MT, _7B, "scope", 0.05, 0.018, None),
        (_MT, _7B, "scope", 0.10, 0.246, 0.097),
        (_MT, _7B, "scope", 0.15, 0.556, None),
        (_MT, _7B, "scope", 0.20, 0.802, None),
        (_MT, _7B, "scope", 0.25, 0.991, None),
        (_MT, _14B, "naive", 0.10, None, 0.124),
        (_MT, _70B, "scope", 0.05, 0.072, None),
        (_MT, _70B, "scope", 0.10, 0.543, None),
        (_MT, _70B, "scope", 0.15, 0.790, None),
        (_MT, _70B, "scope", 0.20, 0.950, None),
        (_MT, _70B, "scope", 0.25, 1.000, None),
        (_RB, _14B, "scope", 0.10, 0.89, None),
        (_RB, _32B, "vanilla", 0.10, 1.000, 0.120),
        (_RB, _32B, "scope", 0.10, 0.983, 0.098),
        (_CA, _7B, "scope", 0.05, 0.052, None),
        (_CA, _7B, "scope", 0.25, 0.998, None),
        (_CA, _14B, "naive", 0.10, None, 0.114),
        (_CA, _70B, "vanilla", 0.10, 1.000, 0.198),
        (_CA, _70B, "scope", 0.10, 0.583, 0.099),
    )
)

#: Excerpts of Table 1 (in the summary) and of Table 2 (in the text); neither names its data set.
COIN_VOTE = "swap_vote_by_coin"
QUALITIES = tuple(
    PublishedQuality(dataset=None, judge=judge, signal=signal, ece=ece, auroc=auroc, auprc=auprc)
    for judge, signal, ece, auroc, auprc in (
        (_7B, "single_order", 0.239, 0.658, 0.824),
        (_7B, COIN_VOTE, 0.193, 0.656, 0.826),
        (_7B, "preference_entropy", 0.143, 0.685, 0.855),
        (_7B, "annotators", None, 0.59, None),
        (_14B, "annotators", None, 0.60, None),
        (_14B, "preference_entropy", None, 0.78, None),
        (_32B, "preference_entropy", 0.172, 0.729, 0.908),
        (_70B, "preference_entropy", 0.145, 0.744, 0.894),
    )
)

#: AUROC of Table 2 as section 4.1 rounds it.
TABLE_2 = (
    (_7B, "annotators", 0.59),
    (_7B, "preference_entropy", 0.69),
    (_14B, "annotators", 0.60),
    (_14B, "preference_entropy", 0.78),
)

#: Table 3's ranges over judges at alpha 0.10: section 4.2 and the abstract.
VANILLA_RISK = (0.217, 0.269)
HEURISTIC_RISK, HEURISTIC_COVERAGE = (0.184, 0.251), (0.809, 0.958)
SCOPE_RISK = (0.097, 0.099)
#: Verdicts accepted by scope over those by naive, for Qwen2.5-7B on MT-Bench.
MORE_THAN_NAIVE = 2.4

NOTES = (
    "single_order is the paper's predictive probability, preference_entropy its BPE",
    "as in the paper, vanilla, heuristic and naive use one random order, scope both",
    "published risk is the mean error share over splits; the paper's theorem is about the ratio, "
    "which has its own column here and can be above alpha",
    "the bodies of the paper's tables are not in its text: published figures are those of the text "
    "and of a summary of it; only the summary has ECE and AUPRC, the vanilla and heuristic rows, "
    "Qwen2.5-32B's risks and Llama-3.1-70B on Chatbot Arena; for Qwen2.5-7B at alpha 0.05 the text "
    "has coverage 0.018 on MT-Bench, the summary 2.4 % without naming the data",
    "neither document names the data of its ECE, AUROC and AUPRC: they are printed next to the "
    "same judge on any data set",
    f"{COIN_VOTE}: if the two votes disagree, the random order's vote counts, at confidence one "
    "half; only so does swap and vote have a verdict on every pair, as in the paper",
)
