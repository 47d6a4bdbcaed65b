"""The code that runs the subcommands; subcommands.py imports each only when it is used."""
