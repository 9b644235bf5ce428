"""`--engine ray`: many processes or GPUs, on one machine or several, ask for one run.

Ray places the workers; the store gives the guarantee. Every worker is the ordinary runner. It
claims calls in the shared store before it makes them. So whatever dies, only calls in flight are
asked twice. The process that started the run distributes blocks of subjects, adds up the counts of
the workers, and writes the rows from the store in the end, as a run without workers does.
"""
