"""Logs of other tools, by what they hold, converted into adjudge's rows.

For all of them: the judge's first verdict is used, never a person's correction of it. A failed
grader is a status, never a fail. Several metrics are groups (the column `metric`). Epochs and
repeats share a `prompt_id`, by which rows are clustered.
"""
