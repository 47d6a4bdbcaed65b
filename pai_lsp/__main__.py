"""`python -m pai_lsp` is the command `pai-lsp`."""

from pai_lsp.cli.main import run

if __name__ == "__main__":
    run()
