"""Logs of the tools people run, one file per tool, turned into adjudge's own rows.

In each of them: the judge's first word, never a person's correction of it; a grader that failed is
a status, never a fail; several metrics are groups (the column `metric`); epochs and repeats share a
`prompt_id`, by which rows are clustered.
"""
