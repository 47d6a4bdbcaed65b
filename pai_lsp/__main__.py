"""`python -m pai_lsp` is the command `pai-lsp`."""

import sys

from pai_lsp.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
