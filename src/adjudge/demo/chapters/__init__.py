"""The chapters of the demo, in order.

Each is a module here with `TITLE` and `run(context)`. A chapter asks nothing of a judge that an
earlier one has asked: it works on `context.rows`.
"""

#: Add a chapter by its module's name.
CHAPTERS: tuple[str, ...] = (
    "judging",
    "selection",
    "estimation",
    "diagnosis",
    "ranking",
    "monitoring",
    "report",
)
