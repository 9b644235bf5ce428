"""Write skills/adjudge/SKILL.md and llms.txt; what the verbs and the menu say comes from them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from adjudge.cli.app import EXIT_CODES
from adjudge.cli.verbs import entries

ROOT = Path(__file__).parents[1]
SKILL = ROOT / "skills" / "adjudge" / "SKILL.md"
LLMS = ROOT / "llms.txt"

#: A question, its command, and the fields of `--json` that answer it.
QUESTIONS = (
    (
        "How good is the judge, and where is it wrong?",
        "adjudge evaluate answers.csv",
        "`judges[].agreement`, `interval`, `gain` (over always saying the same), `gain_interval`",
    ),
    (
        "What rate can I report?",
        "adjudge estimate answers.csv --labels-are-random",
        "`estimate`, `interval`; never `naive`",
    ),
    (
        "What mean would people give?",
        "adjudge estimate scores.jsonl --by criterion",
        "`means[].estimate`, `interval`; never `naive`",
    ),
    (
        "Is one system better than another?",
        "adjudge compare answers.csv --a small --b large",
        "`differences[].people`, or `judge` if `labels_given` is false",
    ),
    (
        "Which verdicts can I trust?",
        "adjudge calibrate judgments.jsonl --alpha 0.1 -o policy.json",
        "`coverage`, `promise`, `not_promised`",
    ),
    (
        "How far are the scores from people's?",
        "adjudge diagnose scores scores.jsonl",
        "`groups[].coverage`, `mean_size`, `means[].difference`",
    ),
    (
        "Is it biased?",
        "adjudge diagnose bias judgments.jsonl",
        "`position`, `length`, `family`, `agreement`; `not_measured` says why one is null",
    ),
    (
        "Is the judge consistent?",
        "adjudge diagnose transitivity tournaments.csv",
        "`groups[].mean_rate` next to `expected_rate` of a noisy judge without cycles",
    ),
    (
        "How do the models rank?",
        "adjudge rank battles.csv",
        "`models[].elo`, `interval`, `rank_low` to `rank_high`; never `elo` alone",
    ),
    (
        "How many more labels do I need?",
        "adjudge plan rate answers.csv --width 0.1",
        "`recommendation`, `next_labels`",
    ),
    (
        "How often do k runs of a question pass?",
        "adjudge runs runs.csv --k 3",
        "`groups[].rates`, `flips`",
    ),
)

TEXT = """---
name: adjudge
description: >-
  Measure and correct an LLM judge with human labels. Use it when somebody has verdicts, grades,
  scores or preferences of an LLM judge (or a log of Inspect, promptfoo, DeepEval, LangSmith,
  Langfuse and others) and asks how good the judge is, which pass rate, win rate or mean to report,
  whether one system is better, which verdicts to trust, how models rank, or which rows to label.
license: Apache-2.0
compatibility: Python 3.11 or newer; the command adjudge (pip install adjudge)
---

# adjudge

Made by `make docs`: questions, verbs and exit codes are those of the program.

## Do this

1. `adjudge start FILE --json` looks at the file. `answers` lists a `question` and a `command` for
   each thing that the file can answer. If human labels are in another file, add `--labels LABELS`.
2. Choose the question that was asked, and run its command with `--json` added. If the question is
   open ("is my judge any good?"), it is "How good is the judge, and where is it wrong?".
3. Read the exit code (below) before any number.
4. Report the fields of the table below, each with its interval, its number of labels, and every
   line of `warnings`.

Never edit the user's file: `--column OURS=THEIRS` names columns, `--labels-as 'good=1,bad=0'`
names words. `adjudge VERB --help` has an example of every verb.

## Questions

| question | command, as an example | report from `--json` |
|---|---|---|
{questions}

## Exit codes

| code | meaning | then |
|---|---|---|
{exit_codes}

A line that begins with `next:` is a command that can be run as it stands. A remark about labels
("drawn by verdict", "chosen") changes what may be reported: repeat it.

## Never report

- **The naive rate where labels exist.** `naive` is what the judge said. `estimate` is corrected.
- **A number without its interval**, or a rank without `rank_low` and `rank_high`.
- **A threshold picked by eye**, from a plot or from `view`. Only `calibrate` makes a promise.
- **Accuracy on the labels that chose the prompt or the judge.** `align` keeps labels apart;
  `evaluate` corrects the best of several judges for the pick.
- **Labels that a model made, as people's.** adjudge leaves them out where it knows; if a user says
  that "labels" came from an LLM, they are a second judge.
- **`--labels-are-random` for labels that were not.** Ask how rows were chosen for labelling. All
  fails and some passes: `--labels-by-verdict`. Rows that looked doubtful or interesting: the result
  is about these rows alone.
- **"No difference"** when the interval contains 0. Say that it is not known, and give
  `adjudge plan compare FILE`.

## Missing labels

`adjudge plan labels FILE --write-ids to_label.csv` draws the rows that people should label;
`adjudge label FILE` opens a page for it; `--labels labels.csv` gives them to any verb. Do not label
rows yourself in a person's place.

## Statuses

Rows whose judge failed (`error`, `refused`, `unparsed`, `no_logprobs`, `off_answer`) have no
verdict. They are in `dropped`, by reason. They are neither passes nor fails: report how many.

## Verbs

{verbs}

JSON schemas: `adjudge schema KIND`, with the `kind` of a result.
"""
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
#: What to do after each exit code.
THEN = {
    "0": "report it",
    "1": "the line names the place and the remedy: apply it and run the command again",
    "2": "if the reason names an option, run it again with that; else report the finding and its "
    "reason, no number that is null",
    "3": "say that it is not known yet, and how many rows or labels decide",
}


def render_skill() -> str:
    """The skill: its text, with what the program says of itself."""
    questions = [f"| {question} | `{run}` | {fields} |" for question, run, fields in QUESTIONS]
    codes = [f"| {code} | {meaning} | {THEN[code]} |" for code, meaning in EXIT_CODES]
    verbs = [f"- `{entry.name}`: {entry.summary}" for entry in entries()]
    return TEXT.format(
        questions="\n".join(questions), exit_codes="\n".join(codes), verbs="\n".join(verbs)
    )


def render_llms() -> str:
    """A line for each page of the menu: its title, its file and its sections."""
    project = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]
    lines = [f"# {project['site_name']}", "", f"> {project['site_description']}.", ""]
    lines += [f"- [{SKILL.parent.name} skill](skills/adjudge/SKILL.md): for coding agents.", ""]
    for section in project["nav"]:
        ((title, inside),) = section.items()
        lines += [f"## {title}", ""]
        for name, page in pages(title, inside):
            about = headings(page)
            lines.append(f"- [{name}](docs/{page})" + f": {about}" * bool(about))
        lines.append("")
    return "\n".join(lines)


def pages(title: str, inside: Any) -> Iterator[tuple[str, str]]:
    """The pages below an entry of the menu, with their titles."""
    if isinstance(inside, str):
        yield title, inside
        return
    for entry in inside:
        for name, below in entry.items():
            yield from pages(name, below)


def headings(page: str) -> str:
    """The sections of a page; empty if it has none."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return "; ".join(re.findall(r"^## (.+?)\s*$", FENCED.sub("", text), flags=re.MULTILINE))


if __name__ == "__main__":
    SKILL.parent.mkdir(parents=True, exist_ok=True)
    SKILL.write_text(render_skill(), encoding="utf-8")
    LLMS.write_text(render_llms(), encoding="utf-8")
