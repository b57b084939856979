"""`python -m isomorph`."""

from isomorph.cli import main

main()
