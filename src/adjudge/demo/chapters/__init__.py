"""The chapters of the demo, in order.

Each is a module here with `TITLE` and `run(context)`. A chapter does not repeat questions of an
earlier one: it uses `context.rows`.
"""

#: To add a chapter, add its module's name.
CHAPTERS: tuple[str, ...] = (
    "judging",
    "selection",
    "estimation",
    "diagnosis",
    "ranking",
    "monitoring",
    "report",
)
