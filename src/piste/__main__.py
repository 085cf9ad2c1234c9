"""`python -m piste`."""

from piste.cli import main

main()
