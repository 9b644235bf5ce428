"""`python -m adjudge.cli`."""

from adjudge.cli import main

main()
