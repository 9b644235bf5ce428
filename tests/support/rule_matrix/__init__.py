"""The rule matrix: every verb that reads rows, crossed with every rule about rows.

A cell is one verb, one rule and one spelling of a fault. The verb runs twice, on files with the
fault and on reference files, and the cell names the one outcome it expects:

- *equal*: all numbers and categories of --json and the rows of -o are those of the reference files,
  except for sources, times, digests and remarks;
- *counted*: equal, and a new text (a reason in `dropped`, a warning, a line on standard error)
  names the fault;
- *named*: not silent: the files are refused by name, or anything is printed that names the fault;
- *refused*: exit code 1 and a line that names the fault, and the reference files are accepted.

`rows` has the clean rows of each kind and `files` what a command reads. `verbs` is the table of
verbs; `faults_of_*` have the rules, by step of the door for rows. `running` runs a command and
compares, and `cells` crosses verbs with rules: `python tests/support/run_rule_matrix.py` runs them.
"""
