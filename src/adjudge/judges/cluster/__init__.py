"""`--engine ray`: many processes or GPUs, on one machine or several, ask for one run.

Ray places the workers; the store guarantees. Every worker is the ordinary runner: it claims calls
in the shared store before it makes them, so that whatever dies, nothing is asked twice beyond what
was in flight. The process that started the run hands out blocks of subjects, adds up what the
workers count, and writes the rows from the store in the end, as a run without workers does.
"""
