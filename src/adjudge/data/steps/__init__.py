"""The steps that rows of every kind go through before an analysis sees them, a file each.

A table is opened and its columns get our names (`adjudge.data.tables`, `adjudge.data.columns`).
Then, in this order:

- status: a row that the judge failed has no answer;
- words: what verdicts and labels mean (the columns of each kind, `adjudge.data.columns`);
- repeats: a row that is in the file again counts once, and is never another row;
- labels: which labels can be used, and the join of a labels file by id;
- judges: rows of several judges, metrics or scales are refused or named.

A step returns the rows with what was left out, by reason. No kind of rows and no analysis has such
a rule of its own.
"""
