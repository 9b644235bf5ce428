"""`--engine ray`: many processes or GPUs, on one machine or several, ask for one run.

Ray places the workers; the store gives the guarantee. Every worker is the ordinary runner, which
claims calls in the shared store before it makes them. The process that started the run distributes
subjects, adds up counts, and writes the rows from the store in the end.
"""
