"""The subcommands of `pai-lsp`, one module each: `add_arguments(parser)` and `run(arguments) -> int`."""
