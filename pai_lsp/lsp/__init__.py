"""The language server: client units and messages at the rim, one question to the analysis inside."""
